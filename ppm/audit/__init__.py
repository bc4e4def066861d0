"""Attacks a policy from outside: lower bounds on the epsilon that a consumer really sees."""
