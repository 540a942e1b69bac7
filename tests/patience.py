"""How long a test waits for what it waits for."""

PATIENCE_S = 300.0
"""Seconds after which something hangs: more than anything takes on a machine that is busy with ten other things."""
