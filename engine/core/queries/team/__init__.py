"""Questions about a team: its tree, who is able, who suits, who takes part, what was declared."""
