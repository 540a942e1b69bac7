"""Questions over a state, answered in one place each for commands, views, the command line and Python.

What a target names, who is able, who suits, where work goes, who can stand in. Nothing here decides what happens.
"""
