"""The other process of `following`: says on its output when it has what, as `[seq, seconds]` a line."""

import sqlite3
import sys
import threading
import time

from engine.core.encoding.codec import decode_events
from engine.core.fold import fold
from engine.core.state import State
from store import Tail


def main() -> None:
    """Follow a file until terminated."""
    how, path = sys.argv[1:]
    if how == "bare":
        _ask(path)
    else:
        _fold(path)


def _say(seq: int) -> None:
    print(f"[{seq}, {time.monotonic()}]", flush=True)


def _fold(path: str) -> None:
    state = State()
    for batch in Tail(path, 0).batches(threading.Event()):
        fold(state, decode_events([(row.seq, row.kind, row.body) for row in batch]))
        _say(state.seq)


def _ask(path: str) -> None:
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True, isolation_level=None)
    last = 0
    while True:
        (seq,) = database.execute("SELECT max(seq) FROM journal").fetchone()
        if seq != last:
            last = seq
            _say(seq)
        time.sleep(0.001)


if __name__ == "__main__":
    main()
