"""Rules of failure policies, circuits and restarts, and automatic tuning. See docs/semantics/failures.md."""
