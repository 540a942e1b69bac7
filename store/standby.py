"""Waits to become the engine: on the lock, which the system passes on the moment its holder is gone.

A thread blocks on the lock; once a second the heartbeat is read, to find a holder that hangs, and the lock file, to
find one that was replaced. Nothing else is read, and the database need not exist yet.

A holder that hangs keeps its lock. The standby that takes over brings a lock file of its own, and puts it in place in
the transaction that raises the token; so of several standbys exactly one succeeds, and the hung one can write no more.
See docs/semantics/leadership.md.
"""

import fcntl
import os
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import anyio.to_thread

from store.errors import NotItsTurn, StoreError
from store.files import Files, check_writable_folder, exists, file_size, new_beside
from store.filesystem import refuse_network
from store.lock import FileLock, held, identity, opened
from store.reader import Reader
from store.standbys import take_post

LOOK_S = 1.0
_AWAKE_S = 2.5
"""A check that comes later than this after the one before was delayed by a suspension of this process; it does not
declare the leader dead."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to take over, with a lock that is held; made by `Standby.turn`, used up by `open_store`."""

    lock: FileLock
    path: Path
    """Where the lock file stands, or is about to be put in place."""
    instead_of: int | None = None
    """Token of an engine that hangs and holds the lock file that is in place; None where the lock itself was free."""
    brought: Path | None = None
    """The lock file that takes the place of that one."""

    def check(self, database: Path, token: int) -> None:
        """Raise NotItsTurn unless it still holds; called inside the transaction that raises the token.

        Args:
            database: What it is about.
            token: The one that stands in the file so far.
        """
        if self.instead_of is None:
            if not self.lock.is_in_place(self.path):
                raise NotItsTurn(database)
            return
        assert self.brought is not None
        if token != self.instead_of:
            raise NotItsTurn(database)
        self.brought.replace(self.path)

    def give_up(self) -> None:
        """Let go of the lock."""
        if self.brought is not None:
            self.brought.unlink(missing_ok=True)
        self.lock.release()


class Standby:
    """One engine that waits; made by `stand_by`."""

    def __init__(self, files: Files, takeover_after_s: float | None) -> None:
        self._files = files
        self._patience_s = takeover_after_s
        self._post = take_post(files)
        self._silent_since: tuple[int, float] | None = None
        self._last_look_s = time.monotonic()

    async def turn(self, look: Callable[[], None] = lambda: None) -> Turn:
        """Return when it is this engine's turn; again after a turn that was not.

        Args:
            look: Called once a second while waiting, in a thread.

        Raises:
            StoreError: If there can be no lock file.
        """
        while True:
            while not await anyio.to_thread.run_sync(self._is_there):
                self._post.beat()
                await anyio.sleep(LOOK_S)
            turn = await self._queued(look)
            if turn is not None:
                return turn

    def leave(self) -> None:
        """Stand by no more."""
        self._post.leave()

    async def _queued(self, look: Callable[[], None]) -> Turn | None:
        """Wait in the system's queue for the lock; None when that was for a lock file that is not in place any more."""
        queue = _Queue(await anyio.to_thread.run_sync(opened, self._files.lock))
        try:
            while not await queue.granted(LOOK_S):
                deposed = await anyio.to_thread.run_sync(self._look)
                if deposed is not None:
                    return deposed
                await anyio.to_thread.run_sync(look)
                if not queue.is_for(self._files.lock):
                    return None
            lock = queue.take()
        finally:
            queue.leave()
        if lock.is_in_place(self._files.lock) and self._is_there():
            return Turn(lock, self._files.lock)
        lock.release()
        return None

    def _is_there(self) -> bool:
        return exists(self._files.database) and file_size(self._files.database) > 0

    def _look(self) -> Turn | None:
        """Beat, and return a turn where the engine at work hangs for too long."""
        self._post.beat()
        now = time.monotonic()
        awake, self._last_look_s = now - self._last_look_s < _AWAKE_S, now
        if self._patience_s is None:
            return None
        token, silent_s = self._silence(now)
        if not awake or silent_s <= self._patience_s:
            return None
        brought = new_beside(self._files.lock)
        descriptor = opened(brought)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return Turn(held(descriptor), self._files.lock, instead_of=token, brought=brought)

    def _silence(self, now: float) -> tuple[int, float]:
        """The current token, and the age of the lock holder's last heartbeat, in seconds."""
        try:
            with Reader(self._files.database) as reader:
                engine = reader.engine()
        except StoreError:
            return 0, 0.0
        token = 0 if engine is None else engine.token
        if engine is not None and engine.heartbeat_ms is not None:
            self._silent_since = None
            # A loop that stands still is told by a heart that beats: as of the last beat, not of now.
            loop_ms = 0 if engine.loop_ms is None else engine.loop_ms - engine.heartbeat_ms
            return token, max(engine.heartbeat_ms, loop_ms) / 1000
        # Nothing of it from this boot: counted from when that was first seen.
        if self._silent_since is None or self._silent_since[0] != token:
            self._silent_since = token, now
        return token, now - self._silent_since[1]


@asynccontextmanager
async def stand_by(path: str | os.PathLike[str], *, takeover_after_s: float | None = None) -> AsyncIterator[Standby]:
    """Wait to become the engine of the database at `path`; `standbys` shows it to other processes meanwhile.

    Args:
        path: The database; it may be made later, its folder must exist.
        takeover_after_s: Take over also from an engine that holds the lock and has not been heard of for so long;
            None waits until it is gone.

    Raises:
        MissingFolder, ReadOnlyFolder, NoPermission, NetworkFileSystem, DiskFull: If files cannot stand there.
        NotOurFile: If `path` cannot be the name of a file.
    """
    files = Files.of(path)
    check_writable_folder(files.database.parent)
    refuse_network(files.database.parent)
    standby = await anyio.to_thread.run_sync(Standby, files, takeover_after_s)
    try:
        yield standby
    finally:
        standby.leave()


class _Queue:
    """A thread that is blocked on a lock, and tells the loop through a pipe when it has it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()
        self._left = False
        self._taken = False
        self._granted = False
        self._told, self._tell = os.pipe()
        # A daemon: nothing wakes a thread that waits for a lock, and a process that ends must not wait for it.
        threading.Thread(target=self._wait, name="store-standby", daemon=True).start()

    async def granted(self, timeout_s: float) -> bool:
        """Return once the lock is held, or False after a while."""
        with anyio.move_on_after(timeout_s):
            await anyio.wait_readable(self._told)
            return True
        return False

    def is_for(self, path: Path) -> bool:
        """True while the lock file is the one at `path`."""
        return identity(path) == identity(self._descriptor)

    def take(self) -> FileLock:
        """The lock, which is held."""
        self._taken = True
        return held(self._descriptor)

    def leave(self) -> None:
        """Wait no more; what is granted later is given back at once."""
        with self._guard:
            self._left = True
            if self._granted and not self._taken:
                os.close(self._descriptor)
        os.close(self._told)

    def _wait(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._guard:
            self._granted = True
            if self._left:
                os.close(self._descriptor)
            else:
                os.write(self._tell, b"x")
        os.close(self._tell)
