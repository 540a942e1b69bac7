"""Queries of a state, each in one place for commands, views, the command line and Python.

They resolve targets, find able and suitable agents, and place work. Nothing here decides or changes anything.
"""
