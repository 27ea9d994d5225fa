"""The executable oracle: episodes, the worlds they run in, and what came of them. Rule: pack.md §6, §7; rulings 6-7."""
