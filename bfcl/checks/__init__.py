"""Whether a pack may be trusted: one module per validation check, the tier they add up to, and the report."""
