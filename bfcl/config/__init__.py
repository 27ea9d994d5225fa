"""The run configuration: shape, cross-field rules, typed model, identity. Rule: generation.md §2."""
