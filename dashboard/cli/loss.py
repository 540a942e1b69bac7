"""An engine whose database is another's by now: it says so in one line and ends."""

import os
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

from dashboard.cli.output import WORK_FAILED, WRONG_USAGE, Failure, show_failure
from store import Deposed, FileLost, Reader, StoreError
from store.opening import Store

UNSTICK_S = 3.0
"""How long a loop may take to notice that the store is lost before its process is ended all the same."""


def end_lost(loss: Deposed | FileLost, db: Path, *, as_json: bool) -> NoReturn:
    """Say why this process is no engine any more, and end it at once.

    Nothing is left to be written, code of agents in threads must not go on beside the next engine, and closing a lost
    file would take away the write-ahead log that stands at its path now, which is another database's.
    """
    _end(_described(loss, db), as_json=as_json)


def end_when_stuck(store: Store, *, as_json: bool) -> None:
    """Watch for the loss of a store beside the loop, and end the process where the loop does not notice in time.

    Code of an agent that blocks the loop is what made the engine look hung; it may do so for ever.
    """
    db = store.path
    assert db is not None

    def watch() -> None:
        store.lease.wait_until_lost()
        time.sleep(UNSTICK_S)
        if store.lease.loss is not None:
            _end(_described(store.lease.loss, db), as_json=as_json)

    threading.Thread(target=watch, name="engine-loss", daemon=True).start()


def _described(loss: StoreError, db: Path) -> Failure:
    if not isinstance(loss, Deposed):
        return Failure("file_lost", str(loss), "", WRONG_USAGE)
    try:
        with Reader(db) as reader:
            now = reader.engine()
    except StoreError:
        now = None
    who = "another engine" if now is None else f"engine {now.pid}"
    said = f"this engine, {os.getpid()}, was deposed: {who} took over with token {loss.found}"
    return Failure("deposed", f"{said}; it writes no more, and nothing that was acknowledged is lost", "", WORK_FAILED)


def _end(failure: Failure, *, as_json: bool) -> NoReturn:
    show_failure(failure, as_json=as_json)
    sys.stderr.flush()
    os._exit(failure.exit_status)
