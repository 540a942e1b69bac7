"""A team as one document: its tables, its ids, and the state that is read from it."""
