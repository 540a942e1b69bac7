"""One attempt: its steps, slot, model calls, limits, live output, questions and memory."""
