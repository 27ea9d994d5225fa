"""How models are asked and what they answered is kept: one client and one recorded cache for every role."""
