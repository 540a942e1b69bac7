"""Validation of values that people and programs give: the same checks for Python, team files and commands."""
