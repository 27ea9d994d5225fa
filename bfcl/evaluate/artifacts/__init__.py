"""Which files does an evaluation leave, and how is a finished set told from any other? Rule: evaluation.md §11."""
