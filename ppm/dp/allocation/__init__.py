"""How budgets are shared out over event types: evenly, or where consumers' queries need them."""
