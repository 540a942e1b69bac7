"""How many examples a law draws: few at each run, and twenty times as many in `make chaos`."""

import os

DEEPER = 20
DEEP = os.environ.get("QUARTERDECK_CHAOS_LAWS") == "deep"


def examples(usual: int) -> int:
    """Return how many examples a law draws that draws so many at each run of the tests."""
    return usual * DEEPER if DEEP else usual
