"""Recorded work: steps, replays, forks and comparisons."""
