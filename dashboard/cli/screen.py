"""Bare `quarterdeck`: open the dashboard on the chosen database."""

import os
import sys
from pathlib import Path

import click

from dashboard.cli.database import DB_VARIABLE, database_of
from dashboard.cli.printing.output import WRONG_USAGE, CommandFailure, OutputSettings, fail, quote_path, say
from dashboard.engines.process import is_alive
from dashboard.views.words.place import NoPlace
from engine.platform.garbage import collect_rarely, keep_memory_small
from store import Reader

_WELCOME = """\
There is no team here yet.

  quarterdeck demo          watch a crew read a folder of source code and report on it
  quarterdeck init          write a small team file of your own in this folder
  quarterdeck up team.yaml  start the team of a file"""

SWITCH_S = 0.0005
"""How long one thread has the interpreter while another waits, in seconds: the one that reads keys, or writes frames.

The default is ten times as long, which is as long as the answer to a key takes.
"""
INVITATION = (
    "a team of your own:",
    "  quarterdeck init my-team                      a small team of functions",
    "  quarterdeck init my-team --template research  one that a model leads",
    "  quarterdeck up my-team/team.yaml              start it and look at it",
    "  documentation: README.md, docs/operating.md, quarterdeck --help",
)
"""Printed when the demo is left."""


def open_chosen_dashboard(ctx: click.Context, *, readonly: bool, place: str | None = None) -> int:
    """Open the dashboard and return its exit status once it is closed."""
    settings = ctx.ensure_object(OutputSettings)
    if settings.json:
        fail("usage", "the dashboard has no JSON", "ask with a command: quarterdeck ps --json")
    try:
        db = database_of(ctx, changes=False)
    except CommandFailure as failure:
        if failure.code != "no_database":
            raise
        say(*_WELCOME.splitlines())
        return WRONG_USAGE
    return open_dashboard(db, readonly=readonly, debug=settings.debug, place=place)


def open_dashboard(
    db: Path, *, readonly: bool = False, demo: bool = False, debug: bool = False, place: str | None = None
) -> int:
    """Open the dashboard on a database; nothing is drawn where there is no terminal.

    With `demo` it suggests what to try, and asks whether the engine goes on when it is left; with `debug` it shows
    where an error came from; `place` is where it opens.
    """
    with Reader(db):  # whatever is wrong with the file is said before the screen is taken
        pass
    if not has_terminal():
        dumb = os.environ.get("TERM", "") if is_at_terminal() else ""
        reason = f"nothing can be drawn on a terminal of TERM={dumb}" if dumb else "there is no terminal to draw on"
        fail("no_terminal", reason, f"look with: quarterdeck ps --db {quote_path(db)}")
    # Of two frames a sixtieth of a second apart the second is often the answer to a key, which would wait that long.
    os.environ.setdefault("TEXTUAL_FPS", "120")
    from dashboard.app.running import run_dashboard  # Textual, 0.3 s

    collect_rarely(is_manual=True)
    sys.setswitchinterval(SWITCH_S)
    keep_memory_small()
    shown_paths = [db]
    try:
        return run_dashboard(
            db, readonly=readonly, ask_engine=demo, tips=demo, debug=debug, place=place, switched=shown_paths.append
        )
    except NoPlace as error:
        shown_paths.clear()  # nothing was, so there is nothing to open again
        fail("no_place", str(error))
    finally:
        for path in dict.fromkeys(shown_paths):
            say_how_to_reopen(path, chosen_there=path != db)
        if demo:
            say(*INVITATION)


def say_how_to_reopen(db: Path, *, chosen_there: bool = False) -> None:
    """If an engine keeps running, print complete commands to open its dashboard again or stop it.

    Without one the command is printed for a database that was not named in this shell, but chosen in the dashboard.
    """
    if is_alive(db):
        say("the team keeps running", *reopen_commands(db))
    elif chosen_there:
        say("no engine runs on this file", reopen_commands(db)[0])


def reopen_commands(db: Path) -> list[str]:
    """Return the commands that reopen a team, stop it, and select it in this shell."""
    db_option = f"--db {quote_path(db)}"
    return [
        f"look:  quarterdeck {db_option}",
        f"stop:  quarterdeck stop {db_option}",
        f"leave --db out after:  export {DB_VARIABLE}={quote_path(db)}",
    ]


def has_terminal() -> bool:
    """Return whether a screen can be drawn; the web server draws through a driver of its own."""
    if os.environ.get("TEXTUAL_DRIVER"):
        return True
    # Of one without a cursor Rich says that it has 25 rows, however many it has: Textual then resizes without end.
    return is_at_terminal() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def is_at_terminal() -> bool:
    """Return whether a person sees what is written, and can answer."""
    return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
