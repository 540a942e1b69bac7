"""The files of a store: their names, checks, creation, opening and migrations."""
