"""Pages about one object, one file each: `PAGE` in it is the class, made with the id. See `dashboard.deck.places`."""
