"""Reads the state and the texts of a file, for every reader but the engine itself."""
