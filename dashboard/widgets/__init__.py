"""Widgets show rows and decide nothing."""
