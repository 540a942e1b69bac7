"""How often a file is asked for news: the one poll in the program."""

import time

BUSY_S = 0.020
IDLE_S = 0.050
_STAYS_BUSY_S = 1.0


class Pace:
    """20 ms between questions while news keeps coming, 50 ms otherwise."""

    def __init__(self) -> None:
        self._busy_until = 0.0

    def news(self) -> None:
        """Say that there was some."""
        self._busy_until = time.monotonic() + _STAYS_BUSY_S

    @property
    def wait_s(self) -> float:
        """Seconds until the next question."""
        return BUSY_S if time.monotonic() < self._busy_until else IDLE_S
