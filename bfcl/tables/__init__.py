"""The tables between stages: columns, rows, Parquet. Rule: generation.md §3."""
