"""Pure: state and events in, rows and words out. Nothing here knows Textual, reads a clock or a file."""
