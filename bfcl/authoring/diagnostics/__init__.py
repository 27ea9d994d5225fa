"""Findings of a static check as records, and one module for each format they are told in."""
