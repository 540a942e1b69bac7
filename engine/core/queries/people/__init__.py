"""Queries of questions to people, and inverses of their commands."""
