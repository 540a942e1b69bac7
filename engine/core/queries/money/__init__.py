"""Questions about budgets: limits, and what is spent."""
