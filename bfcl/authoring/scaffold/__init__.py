"""What does a starter pack hold, and how does it get to its place?"""
