"""How is an evaluation run: gates, caps, episodes in flight, and how it ends? Rule: evaluation.md §1."""
