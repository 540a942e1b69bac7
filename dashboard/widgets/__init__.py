"""Widgets show rows and decide nothing; docs/decisions/measurements.md has the figure for each that draws its lines."""
