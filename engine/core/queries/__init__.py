"""Questions over a state, answered in one place each for commands, views, the command line and Python."""
