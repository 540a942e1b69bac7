"""Agents that are external programs: started without a shell, connected by pipes, and ended with the engine."""
