"""What does a person see of finished evaluations? One HTML page: intervals and every failed task."""
