"""The files of the incident that the scripted team of `quarterdeck demo --models` works on. All of it is made up."""

from collections.abc import Iterator
from random import Random

_WAIT_MS = {"Mon": 0, "Tue": 380, "Wed": 420}
"""What a request waits for a connection at the busiest hours."""
_BUSY_HOURS = range(17, 21)


def _latencies() -> Iterator[str]:
    draw = Random(1207)
    yield "day,hour,ms"
    for day, wait_ms in _WAIT_MS.items():
        for hour in range(8, 23):
            for _ in range(8):
                waits_ms = draw.uniform(0.4, 1.6) * wait_ms if hour in _BUSY_HOURS else 0
                yield f"{day},{hour},{round(draw.gauss(120, 18) + waits_ms)}"


def _log() -> Iterator[str]:
    draw = Random(41)
    for minute in range(240):
        hour, clock = 17 + minute // 60, f"Tue {17 + minute // 60}:{minute % 60:02}"
        yield f"{clock} INFO request POST /checkout 200"
        if hour in (18, 19) and draw.random() < 0.4:
            yield f"{clock} WARN pool exhausted, waited {draw.randint(300, 700)} ms for a connection"


POOL = """\
[pool]
size = 10            # connections of each server
servers = 6
wait_ms = 1500
database_limit = 120
"""
FILES = {
    "checkout.log": "\n".join(_log()) + "\n",
    "latency.csv": "\n".join(_latencies()) + "\n",
    "pool.toml": POOL,
    "pages/status.example.org.md": "Database: operational. No incident since 3 March.\n",
    "pages/docs.example.org_driver_5.0.md": (
        "Driver 5.0: connections are returned at the end of the response, no longer after the query. Pools that were"
        " sized for 4.x run out sooner; plan for about one and a half times as many connections.\n"
    ),
    "pages/docs.example.org_pooling.md": (
        "A pool that waits longer than its callers do only hides the queue. Keep wait_ms below the timeout of the"
        " caller, and size times servers below the limit of the database.\n"
    ),
}
"""By their names in the folder of the demo."""
