"""Engines as the dashboard reaches them: a client of their inbox, and detached processes."""
