"""Finds agents for a request by words, without a model."""
