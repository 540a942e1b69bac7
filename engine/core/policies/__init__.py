"""Rules of failure chains and restarts, and automatic tuning. See docs/semantics/failures.md."""
