"""What may be told: probabilities, budgets and costs, as pure numbers."""
