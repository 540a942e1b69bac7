"""Budgets and deadlines enforced: who spends, what is reached, what then ends."""
