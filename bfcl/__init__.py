"""Build verified function-calling benchmarks from executable oracle packs."""
