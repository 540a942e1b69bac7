"""Services of machine and installation: clock, memory, folders, version, sender, patterns, secrets, plugins."""
