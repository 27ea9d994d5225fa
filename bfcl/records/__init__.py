"""Frozen types that cross rooms: tool, template, task, plan, surface, trace, verdict, pack."""
