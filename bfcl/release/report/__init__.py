"""What does a person see of a published run? One HTML page: numbers, charts and every conversation."""
