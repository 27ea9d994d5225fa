"""Source packages: what an author writes before there is a pack. Rule: authoring.md §5, §7."""
