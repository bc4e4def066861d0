"""Compares the protected stream with the raw one: metrics, baselines, experiments and plots."""
