"""Questions about what people are asked, and about undoing what they did."""
