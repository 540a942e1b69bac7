"""What screens, dialogs and actions get from the app: the view of the team, messages, time travel, commands."""
