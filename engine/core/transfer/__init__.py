"""Export of a team's state, admission of imported states, and rewinding for forks."""
