"""Which wrong conversations do a pack's assertions let pass? Mutants of each expected one, and how they are judged."""
