"""Failure policies and their chains; records and rules of circuits and restarts. See docs/semantics/failures.md."""
