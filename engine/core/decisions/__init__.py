"""Inputs and building blocks of decisions."""
