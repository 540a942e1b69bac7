"""The places of the control room, one file each: `SCREEN` in it is the class. `deck.places` finds them by name."""
