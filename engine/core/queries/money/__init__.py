"""Queries of budgets: limits and spending."""
