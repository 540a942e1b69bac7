"""Somebody who may read a team and not change it: file modes are the roles."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65_534


@contextmanager
def as_viewer(database: Path) -> Iterator[None]:
    """Be somebody without the right to write the inbox of a database; no mode keeps root from writing."""
    if os.geteuid() == 0:
        os.seteuid(_NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        inbox = database.with_name(f"{database.name}-inbox")
        inbox.touch()
        inbox.chmod(0o400)
        yield
        inbox.chmod(0o600)
