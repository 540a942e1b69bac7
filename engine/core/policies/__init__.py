"""Failure policies: `records` that a person writes, `rules` of what each says and how they follow each other.

See docs/semantics/failures.md.
"""
