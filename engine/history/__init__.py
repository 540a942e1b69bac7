"""Recorded runs again: replay, forks, comparisons, moments, steps."""
