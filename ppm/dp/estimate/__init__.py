"""What noisy releases say about the truth: counts without bias, and how far they may be off."""
