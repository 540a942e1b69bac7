"""Queries of work: inputs, prompts, plans, queues, placement."""
