"""What an evaluation is asked to do: its envelope and its scoring configuration."""
