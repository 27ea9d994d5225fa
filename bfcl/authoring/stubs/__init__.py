"""Ready stubs for a pack: templates, cases, assertions and tools that fit what the pack already has."""
