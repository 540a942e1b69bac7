"""What time it is, for a subcommand that shows what is journaled."""

import time

from dashboard.views.header import engine_time_ms
from store import Reader


def now_in(reader: Reader) -> int:
    """Return the time of the team in an open file, in UTC milliseconds."""
    return engine_time_ms(reader.newest_ms(), reader.engine(), time.time_ns() // 1_000_000)
