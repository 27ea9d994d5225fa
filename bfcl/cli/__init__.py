"""The console script: `main`, one module per subcommand, `show` for what people read."""
