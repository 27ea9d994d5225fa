"""How can a benchmark be tried without a model? A candidate that knows every answer, and how to get it wrong."""
