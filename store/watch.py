"""Whether an engine still is one: no newer token in its file, and its file still at its path.

Asked once a second beside the loop, so that an engine with nothing to write, or one that wakes from a standstill,
learns of it by itself.
"""

import sqlite3
from pathlib import Path

from store.connection import connect, is_busy
from store.errors import Deposed, FileLost, StoreError
from store.lock import identity


class Watch:
    """What an engine compares its file with; for one thread."""

    def __init__(self, path: Path, token: int) -> None:
        """Remember the file at `path` as it is now, held with `token`."""
        self._path = path
        self._token = token
        self._identity = identity(path)
        self._connection: sqlite3.Connection | None = None

    @property
    def file_is_lost(self) -> bool:
        """True when another file, or none, stands at the path."""
        return identity(self._path) != self._identity

    def loss(self) -> StoreError | None:
        """Why the store is another's by now; None while it is held."""
        now = identity(self._path)
        if now != self._identity:
            return FileLost(self._path, "was deleted or moved away" if now is None else "was replaced by another file")
        found = self._found_token()
        return Deposed(self._token, found) if found is not None and found > self._token else None

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _found_token(self) -> int | None:
        """The token in the file; None when it cannot be read just now: then the next append says what is wrong."""
        try:
            if self._connection is None:
                self._connection = connect(self._path, mode="ro", busy_s=0)
            (token,) = self._connection.execute("SELECT token FROM lease").fetchone()
        except sqlite3.Error as error:
            if not is_busy(error):
                self.close()
            return None
        return int(token)
