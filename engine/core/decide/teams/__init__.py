"""Decides on teams: members, specs, settings, swaps, moves, loading."""
