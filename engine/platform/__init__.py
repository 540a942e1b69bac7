"""The machine and the installation: clock, memory, folders, version, sender, patterns, plugins."""
