"""Questions about work: inputs, prompts, plans, queues, placement."""
