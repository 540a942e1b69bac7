"""What people write about agents, models, limits and policies: the records, with their bounds."""
