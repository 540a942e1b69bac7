"""Subcommands and processes of engines: `up`, `engine`, `stop`, standby engines."""
