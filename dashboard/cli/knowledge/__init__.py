"""Subcommands about what is known: the catalogue, and what teams remember."""
