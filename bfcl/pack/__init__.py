"""The pack: layout, load, fingerprint, and the small languages its files speak. Rule: pack.md §1-§5, §12."""
