"""Stage 11: which survivors are near-duplicates, and which of the rest are published. Rule: generation.md §3.8."""
