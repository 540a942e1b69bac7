"""The control room: the command line, the Textual app and the web server."""
