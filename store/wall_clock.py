"""The time of day of this computer, which anybody may have set to anything."""

import time
from collections.abc import Callable

from store.errors import ClockUnusable


def wall_ms(wall_ns: Callable[[], int] = time.time_ns) -> int:
    """Return the time of day, in UTC milliseconds since 1970.

    Args:
        wall_ns: Tells it in nanoseconds.

    Raises:
        ClockUnusable: If it is before 1970, or after 2261, which Python cannot tell.
    """
    try:
        now_ms = wall_ns() // 1_000_000
    except OverflowError:
        raise ClockUnusable from None
    if not 0 <= now_ms <= _LAST_MS:
        raise ClockUnusable
    return now_ms


_LAST_MS = (2**63 - 1) // 1_000_000
