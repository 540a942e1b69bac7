"""Rows of what is known: entries of the catalogue, insights of the team. Pure."""
