"""Decides on what people and agents ask, answer, remember, trust and undo."""
