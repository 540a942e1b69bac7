"""Queries of a team: its tree, able and suitable agents, participants, declared settings."""
