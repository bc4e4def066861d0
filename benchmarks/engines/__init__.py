"""The ways to find a pattern that are compared, and the events that all of them read."""
