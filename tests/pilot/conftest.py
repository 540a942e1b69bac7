"""Fixtures of the pilot tests."""

from tests.pilot.engines import engine

__all__ = ["engine"]
