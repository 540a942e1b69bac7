"""Enforcement of budgets and deadlines."""
