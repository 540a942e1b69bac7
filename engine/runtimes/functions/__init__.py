"""Agents that are Python functions: their context, and where the user's code runs."""
