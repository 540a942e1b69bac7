"""What a value has to be that a person or a program gives: one check for Python, team files and commands."""
