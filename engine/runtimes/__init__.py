"""Runtimes: what executes an agent. One file each, all alike to the host."""
