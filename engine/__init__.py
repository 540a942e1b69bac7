"""The engine: what supervises agents, headless. The public names live here."""
