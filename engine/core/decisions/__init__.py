"""What a decision may know, and what it is made of."""
