"""The wall clock of this computer, which may be set to any time."""

import time
from collections.abc import Callable

from store.errors import ClockUnusable


def wall_ms(wall_ns: Callable[[], int] = time.time_ns) -> int:
    """Return the time of day, in UTC milliseconds since 1970.

    Args:
        wall_ns: The clock, in nanoseconds since 1970.

    Raises:
        ClockUnusable: If it is before 1970 or after 2261, beyond the range of a signed 64-bit integer.
    """
    try:
        now_ms = wall_ns() // 1_000_000
    except OverflowError:
        raise ClockUnusable from None
    if not 0 <= now_ms <= _MAX_MS:
        raise ClockUnusable
    return now_ms


_MAX_MS = (2**63 - 1) // 1_000_000
