"""Runs the dashboard in a terminal until it is left."""

import os
import select
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from dashboard.actions import OWN_KEYS
from dashboard.app import QuarterdeckApp
from dashboard.habits import Habits, habits_file
from dashboard.navigation import read_place
from dashboard.settings import read_settings, settings_file
from store import Reader


def run_dashboard(
    db: Path,
    *,
    readonly: bool = False,
    ask_engine: bool = False,
    tips: bool = False,
    debug: bool = False,
    place: str | None = None,
    switched: Callable[[Path], None] = lambda db: None,
) -> int:
    """Open the dashboard on a database until it is left.

    Args:
        db: The team's database; an engine may work on it or not.
        readonly: Look only; every action is refused, as it is without the right to write the inbox.
        ask_engine: When it is left, ask whether the engine goes on.
        tips: Suggest what to try.
        debug: Show where an error came from.
        place: Where it opens, as `--open` writes it.
        switched: Called with each other database that is chosen in the dashboard.

    Returns:
        The exit status.

    Raises:
        StoreError: If `db` is not a Quarterdeck database.
        NoPlace: If there is no such place.
    """
    with Reader(db):
        pass
    for name in ("COLUMNS", "LINES"):  # exported they would count in place of the terminal's own size, whatever that is
        os.environ.pop(name, None)
    if sys.stdin.isatty():
        Thread(target=_end_with_terminal, daemon=True, name="terminal").start()
    at = None if place is None else read_place(place)
    settings = read_settings(settings_file(), OWN_KEYS)
    app = QuarterdeckApp(
        db, readonly=readonly, ask_engine=ask_engine, tips=tips, debug=debug, place=at, settings=settings,
        habits=Habits(habits_file()),
    )  # fmt: skip
    status = app.run()
    while app.next_path is not None:
        switched(app.next_path)
        app = QuarterdeckApp(app.next_path, readonly=readonly, debug=debug, settings=settings, habits=app.habits)
        status = app.run()
    return status if status is not None else app.return_code or 0


def _end_with_terminal() -> None:
    """End as by SIGHUP where the terminal is gone: only the leader of the session gets that, and make waits then."""
    watched = select.poll()
    watched.register(sys.stdin.fileno(), 0)
    if any(what & select.POLLHUP for _, what in watched.poll()):
        os._exit(128 + signal.SIGHUP)
