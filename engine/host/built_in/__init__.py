"""Built-in checks and joins of graphs, which run in the host without a model."""
