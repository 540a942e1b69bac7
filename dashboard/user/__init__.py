"""What belongs to the user: settings, habits, colours, key labels, the external editor, files of specs."""
