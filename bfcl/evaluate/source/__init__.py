"""Is the published benchmark what it says, and may these candidates be measured on it? Rule: evaluation.md §3, §4."""
