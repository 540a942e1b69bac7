"""Failure policies: `records` that a person writes, `rules` of what each says, the `chain` that they form.

See docs/semantics/failures.md.
"""
