"""The index of insights: finds them by tags, segment and author, and by words; built from a state, never journaled."""

from engine.memory.index import Found, InsightIndex

__all__ = ["Found", "InsightIndex"]
