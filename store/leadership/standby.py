"""Waits to become the engine of a store.

A thread blocks on the lock, which the system grants the moment its holder is gone. Once a second the heartbeat is
checked for a hung leader, and the lock file for replacement. The database need not exist yet.

A hung leader keeps its lock. A standby that takes over creates another lock file and renames it into place inside the
transaction that raises the token: of several standbys exactly one succeeds, and the hung leader is fenced.
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
from store.journals.reader import Reader
from store.layout.files import Files, check_writable_folder, exists, file_size, new_beside
from store.layout.filesystem import refuse_network
from store.leadership.lock import FileLock, held, identity, opened
from store.leadership.standbys import take_post

LOOK_S = 1.0
_AWAKE_S = 2.5
"""A check that comes later than this after the one before was delayed by a suspension of this process; it does not
declare the leader dead."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The right to take over, with a held lock; made by `Standby.turn`, consumed by `open_store`."""

    lock: FileLock
    path: Path
    """Path of the lock file."""
    instead_of: int | None = None
    """Token of the hung engine that holds the present lock file; None if the lock was free."""
    brought: Path | None = None
    """The lock file that replaces it."""

    def check(self, database: Path, token: int) -> None:
        """Check that this turn is still valid; called inside the transaction that raises the token.

        Args:
            database: The database, for the message.
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
        """Release the lock."""
        if self.brought is not None:
            self.brought.unlink(missing_ok=True)
        self.lock.release()


class Standby:
    """A waiting engine; made by `stand_by`."""

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
        """Stop standing by."""
        self._post.leave()

    async def _queued(self, look: Callable[[], None]) -> Turn | None:
        """Wait for the lock; None if the lock file was replaced meanwhile, so that the wait has to start again."""
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
        """Publish a heartbeat, and return a turn if the leader has hung for too long."""
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
            # A loop that hangs while the heartbeat goes on: its age at the last beat counts, not its age now.
            loop_ms = 0 if engine.loop_ms is None else engine.loop_ms - engine.heartbeat_ms
            return token, max(engine.heartbeat_ms, loop_ms) / 1000
        # No heartbeat in this boot: silence counts from when it was first noticed, since its true start is unknown.
        if self._silent_since is None or self._silent_since[0] != token:
            self._silent_since = token, now
        return token, now - self._silent_since[1]


@asynccontextmanager
async def stand_by(path: str | os.PathLike[str], *, takeover_after_s: float | None = None) -> AsyncIterator[Standby]:
    """Stand by for the database at `path`, visible to other processes through `standbys`.

    Args:
        path: The database; it may not exist yet, its folder must.
        takeover_after_s: Also take over from an engine without a heartbeat for this time; None waits until it is gone.

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
    """A thread that blocks on a lock and signals through a pipe when it has it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()
        self._left = False
        self._taken = False
        self._granted = False
        self._told, self._tell = os.pipe()
        # A daemon: nothing can wake a thread that waits for a lock, and the exit of the process must not wait for it.
        threading.Thread(target=self._wait, name="store-standby", daemon=True).start()

    async def granted(self, timeout_s: float) -> bool:
        """Return True once the lock is held, or False after the timeout."""
        with anyio.move_on_after(timeout_s):
            await anyio.wait_readable(self._told)
            return True
        return False

    def is_for(self, path: Path) -> bool:
        """True while the lock file is the one at `path`."""
        return identity(path) == identity(self._descriptor)

    def take(self) -> FileLock:
        """Return the granted lock."""
        self._taken = True
        return held(self._descriptor)

    def leave(self) -> None:
        """Stop waiting; a lock granted later is released at once."""
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
