"""A benchmark in the shapes that other tools read, one module a format. Rule: generation.md §7."""
