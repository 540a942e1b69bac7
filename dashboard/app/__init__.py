"""The Textual app, and what leads through it: navigation, palette, tour, guide of the demo."""
