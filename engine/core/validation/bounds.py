"""Bounds."""

LONGEST_S = 315_360_000
"""The longest that anything may be told to take or to wait, in seconds: ten years."""
