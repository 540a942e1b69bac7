"""Services of the computer and the installation: clock, memory, folders, version, sender, patterns, plugins."""
