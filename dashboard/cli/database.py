"""Which database a subcommand is about, and where databases stand.

One rule holds inside: nothing is guessed. Without `--db` or QUARTERDECK_DB there must be exactly one engine at work;
else what there is gets listed, and the person says which.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from dashboard.cli.output import WRONG_USAGE, Settings, fail
from store import EngineInfo, Reader, StandbyInfo, StoreError

VARIABLE = "QUARTERDECK_DB"
TRUST_LIST = "trust.json"


@dataclass(frozen=True, slots=True)
class Found:
    """A file in the data folder that is named like a database."""

    path: Path
    engine: EngineInfo | None = None
    error: str | None = None
    """Why it cannot be used, in words."""
    standbys: tuple[StandbyInfo, ...] = ()
    """Engines that stand by."""

    @property
    def alive(self) -> bool:
        """True while an engine holds it."""
        return self.engine is not None and self.engine.alive

    @property
    def state(self) -> str:
        """What it is, in a few words."""
        if self.error is not None:
            return "cannot be used"
        if self.engine is None or not self.engine.alive:
            return "no engine"
        return f"engine {self.engine.pid}{' hangs' if self.engine.hung else ''}"


def data_folder() -> Path:
    """Return where this user's databases and list of trusted files stand; it may not exist yet."""
    given = os.environ.get("XDG_DATA_HOME", "")
    if Path(given).is_absolute():
        return Path(given) / "quarterdeck"
    try:
        home = Path.home()
    except RuntimeError:
        fail("no_home", "this user has no home folder", "set XDG_DATA_HOME or give --db")
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "quarterdeck"
    return home / ".local" / "share" / "quarterdeck"


def made_data_folder() -> Path:
    """Return the data folder, made where it was missing.

    Raises:
        Failure: If it cannot be made.
    """
    folder = data_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        fail("no_data_folder", f"{folder} cannot be made ({error.strerror})", "set XDG_DATA_HOME or give --db")
    return folder


def databases() -> list[Found]:
    """Return what stands in the data folder, by name; demo databases in their own folder included."""
    folder = data_folder()
    return [looked_at(path) for path in sorted([*folder.glob("*.db"), *folder.glob("demo/*.db")])]


def given_database(ctx: click.Context) -> Path | None:
    """Return what `--db` or QUARTERDECK_DB says, absolute; None where neither does."""
    given = ctx.ensure_object(Settings).db
    if given is None and os.environ.get(VARIABLE):
        given = Path(os.environ[VARIABLE])
    return None if given is None else given.expanduser().absolute()


def chosen_database(ctx: click.Context, *, or_only: bool = False) -> Path:
    """Return the database that a subcommand is about.

    Args:
        ctx: Of the subcommand.
        or_only: Take the only database there is also when no engine holds it.

    Raises:
        Failure: If nothing says which; it lists what there is.
    """
    given = given_database(ctx)
    if given is not None:
        return given
    found = databases()
    live = [each for each in found if each.alive]
    usable = [each for each in found if each.error is None]
    candidates = usable if or_only and not live else live
    if len(candidates) != 1:
        _fail_to_choose(live, usable)
    return candidates[0].path


def _fail_to_choose(live: list[Found], usable: list[Found]) -> NoReturn:
    if not usable:
        hint = "see one at work: quarterdeck demo; or begin your own: quarterdeck init"
        fail("no_database", "there is no team yet", hint)
    why = f"{len(live)} engines are at work" if live else "no engine is at work"
    listed = [f"  {each.path}  {each.state}" for each in (live or usable)]
    fail("which_database", f"{why}; say which with --db FILE:", "", WRONG_USAGE, details=listed)


def looked_at(path: Path) -> Found:
    """Return what stands at `path`, and who holds it."""
    try:
        with Reader(path) as reader:
            return Found(path, engine=reader.engine(), standbys=tuple(reader.standbys()))
    except StoreError as error:
        return Found(path, error=str(error))
