"""All doit knowledge: layout, store, session, stage runner, tasks, publication. Rule: generation.md §9."""
