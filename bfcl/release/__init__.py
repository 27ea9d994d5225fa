"""Read and verify a published benchmark. Rule: generation.md §6."""
