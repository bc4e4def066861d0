"""The decision: which protection a pattern gets in which community, and what that promises."""
