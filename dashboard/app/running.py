"""Runs the dashboard in a terminal until the user quits."""

import os
import select
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from dashboard.actions import OWN_KEYS
from dashboard.app.app import QuarterdeckApp
from dashboard.app.navigation import read_place
from dashboard.user.habits import Habits, habits_file
from dashboard.user.settings import Settings, read_settings, settings_file
from dashboard.views.words.place import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOptions:
    """Options of a series of dashboards, each on the database that was chosen in the previous one."""

    db: Path
    """The first database; `:teams` may lead back to it."""
    settings: Settings
    habits: Habits
    readonly: bool = False
    ask_engine: bool = False
    """Whether to ask about the engine when quitting, on other databases too: a fork of a demo has an engine."""
    tips: bool = False
    debug: bool = False

    def app(self, db: Path, place: Place | None = None) -> QuarterdeckApp:
        """Return the dashboard on a database; only the first one has tips."""
        return QuarterdeckApp(
            db,
            readonly=self.readonly,
            ask_engine=self.ask_engine,
            tips=self.tips and db == self.db,
            debug=self.debug,
            place=place,
            settings=self.settings,
            habits=self.habits,
        )


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
    """Open the dashboard on a database until the user quits.

    Args:
        db: The team's database; an engine may work on it or not.
        readonly: Look only; every action is refused, as it is without the right to write the inbox.
        ask_engine: When it is left, ask whether the engine of the team that is shown goes on.
        tips: Suggest what to try.
        debug: Show where an error came from.
        place: Where it opens, as `--open` writes it.
        switched: Called with each other database that is chosen in the dashboard.

    Returns:
        The exit status.

    Raises:
        NoPlace: If there is no such place.
    """
    for name in ("COLUMNS", "LINES"):  # exported they would count in place of the terminal's own size, whatever that is
        os.environ.pop(name, None)
    if sys.stdin.isatty():
        Thread(target=_end_with_terminal, daemon=True, name="terminal").start()
    at = None if place is None else read_place(place)
    settings = read_settings(settings_file(), OWN_KEYS)
    opening = DashboardOptions(
        db=db,
        readonly=readonly,
        ask_engine=ask_engine,
        tips=tips,
        debug=debug,
        settings=settings,
        habits=Habits(habits_file()),
    )
    app = opening.app(db, at)
    status = app.run()
    while app.next_path is not None:
        switched(app.next_path)
        app = opening.app(app.next_path)
        status = app.run()
    return status if status is not None else app.return_code or 0


def _end_with_terminal() -> None:
    """End as by SIGHUP once the terminal is gone: only the session leader gets the signal, and `make` would wait."""
    watched = select.poll()
    watched.register(sys.stdin.fileno(), 0)
    if any(event & select.POLLHUP for _, event in watched.poll()):
        os._exit(128 + signal.SIGHUP)
