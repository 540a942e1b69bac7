"""Code that a file with specs names, allowed once for a database."""

from collections.abc import Sequence
from pathlib import Path

import click

from dashboard.cli.ordering import Sending, state_of
from dashboard.cli.output import REFUSED, fail, is_interactive, say
from dashboard.cli.trust import trust_list
from dashboard.specfile import SpecFile
from engine.core.state import State
from engine.granting import code_folder, grant, needs_trust


def ensure_granted(sending: Sending, file: SpecFile, *, trust: bool) -> None:
    """Return once all the code that a file names is allowed.

    Raises:
        Failure: If it is not, exit 3.
    """
    allow_code(file.references, state_of(sending), db=sending.path, path=file.path, sha256=file.sha256, trust=trust)


def allow_code(references: Sequence[str], state: State, *, db: Path, path: Path, sha256: str, trust: bool) -> None:
    """Put references on this user's list for a database, once `--trust` or an answer says so.

    Args:
        references: What is to be imported.
        state: What the database holds.
        db: The database.
        path: What names them, for the question.
        sha256: Of its content.
        trust: `--trust` was given.

    Raises:
        Failure: If they are not allowed, exit 3.
    """
    needed = needs_trust(trust_list(), references, state, db)
    if not needed:
        return
    if not trust:
        _ask(needed, path, code_folder(state, Path.cwd()))
    grant(trust_list(), references, state, db=db, path=path, sha256=sha256)


def _ask(needed: Sequence[str], source: Path, folder: Path) -> None:
    if not is_interactive():
        shown = ", ".join(needed[:3]) + (f" and {len(needed) - 3} more" if len(needed) > 3 else "")
        fail("not_trusted", f"{source} runs code that is not trusted: {shown}", "allow it with --trust", REFUSED)
    say(f"{source} runs code that is not trusted yet:", *(f"  {reference}" for reference in needed))
    say(f"from {folder}, and from the installed packages")
    if not click.confirm("Trust it?", err=True):
        fail("not_trusted", "not trusted, so nothing was changed", "", REFUSED)
