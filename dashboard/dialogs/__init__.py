"""What an operator is asked before something is changed: one dialog a command or two."""
