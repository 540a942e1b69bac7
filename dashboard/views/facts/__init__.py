"""What is known about one object: an agent, a supervisor, a task, a run. Pure."""
