"""Programs of others: started without a shell, spoken to over pipes, and ended with the engine."""
