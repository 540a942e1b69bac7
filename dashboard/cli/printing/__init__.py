"""What subcommands print: results, progress, followed events, times."""
