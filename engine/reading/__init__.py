"""Reads the state and the texts of a file without an engine."""
