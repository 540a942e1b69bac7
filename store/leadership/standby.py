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
from typing import NamedTuple

import anyio
import anyio.to_thread

from store.errors import NotItsTurn, StoreError
from store.journals.reader import Reader
from store.layout.files import Files, check_writable_folder, create_temporary, exists, file_size
from store.layout.filesystem import check_local
from store.leadership.lock import FileLock, adopt_lock, identity, open_lock_file
from store.leadership.standbys import register_standby

CHECK_INTERVAL_S = 1.0
_MAX_CHECK_GAP_S = 2.5
"""Longest interval between two checks, in seconds. A later check means that this process was suspended; it does not
declare the leader dead."""


@dataclass(frozen=True, slots=True)
class LeadershipClaim:
    """The right to take over, with a held lock; made by `Standby.wait_to_lead`, consumed by `open_store`."""

    lock: FileLock
    path: Path
    """Path of the lock file."""
    deposed_token: int | None = None
    """Token of the hung engine that holds the present lock file; None if the lock was free."""
    replacement: Path | None = None
    """The lock file that replaces it."""

    def check(self, database: Path, token: int) -> None:
        """Check that this claim is still valid; called inside the transaction that raises the token."""
        if self.deposed_token is None:
            if not self.lock.is_in_place(self.path):
                raise NotItsTurn(database)
            return
        assert self.replacement is not None
        if token != self.deposed_token:
            raise NotItsTurn(database)
        self.replacement.replace(self.path)

    def give_up(self) -> None:
        """Release the lock."""
        if self.replacement is not None:
            self.replacement.unlink(missing_ok=True)
        self.lock.release()


class _SilenceStart(NamedTuple):
    """When a leader without any heartbeat was first noticed."""

    token: int
    at_s: float


class Standby:
    """A waiting engine; made by `stand_by`."""

    def __init__(self, files: Files, takeover_after_s: float | None) -> None:
        self._files = files
        self._takeover_after_s = takeover_after_s
        self._registration = register_standby(files)
        self._silence_start: _SilenceStart | None = None
        self._last_check_s = time.monotonic()

    async def wait_to_lead(self, on_check: Callable[[], None] = lambda: None) -> LeadershipClaim:
        """Return a claim once this engine may lead; call it again if `open_store` raises `NotItsTurn`.

        Args:
            on_check: Called once a second while waiting, in a thread.

        Raises:
            StoreError: If the lock file cannot be created.
        """
        while True:
            while not await anyio.to_thread.run_sync(self._has_database):
                self._registration.beat()
                await anyio.sleep(CHECK_INTERVAL_S)
            claim = await self._wait_for_lock(on_check)
            if claim is not None:
                return claim

    def leave(self) -> None:
        """Stop standing by."""
        self._registration.leave()

    async def _wait_for_lock(self, on_check: Callable[[], None]) -> LeadershipClaim | None:
        """Wait for the lock; None if the lock file was replaced meanwhile, so that the wait has to start again."""
        waiter = _LockWaiter(await anyio.to_thread.run_sync(open_lock_file, self._files.lock))
        try:
            while not await waiter.wait_granted(CHECK_INTERVAL_S):
                claim = await anyio.to_thread.run_sync(self._check_leader)
                if claim is not None:
                    return claim
                await anyio.to_thread.run_sync(on_check)
                if not waiter.is_current(self._files.lock):
                    return None
            lock = waiter.take()
        finally:
            waiter.leave()
        if lock.is_in_place(self._files.lock) and self._has_database():
            return LeadershipClaim(lock, self._files.lock)
        lock.release()
        return None

    def _has_database(self) -> bool:
        return exists(self._files.database) and file_size(self._files.database) > 0

    def _check_leader(self) -> LeadershipClaim | None:
        """Publish a heartbeat, and return a claim if the leader has hung for too long."""
        self._registration.beat()
        now_s = time.monotonic()
        was_suspended = now_s - self._last_check_s >= _MAX_CHECK_GAP_S
        self._last_check_s = now_s
        if self._takeover_after_s is None:
            return None
        token, silent_s = self._read_silence(now_s)
        if was_suspended or silent_s <= self._takeover_after_s:
            return None
        replacement = create_temporary(self._files.lock)
        descriptor = open_lock_file(replacement)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return LeadershipClaim(adopt_lock(descriptor), self._files.lock, deposed_token=token, replacement=replacement)

    def _read_silence(self, now_s: float) -> tuple[int, float]:
        """Return the current token, and the age of the lock holder's last heartbeat, in seconds."""
        try:
            with Reader(self._files.database) as reader:
                engine = reader.engine()
        except StoreError:
            return 0, 0.0
        token = 0 if engine is None else engine.token
        if engine is not None and engine.heartbeat_age_ms is not None:
            self._silence_start = None
            # The loop may hang while a thread still beats: then what counts is how long it had hung at the last beat.
            hung_ms = 0 if engine.loop_age_ms is None else engine.loop_age_ms - engine.heartbeat_age_ms
            return token, max(engine.heartbeat_age_ms, hung_ms) / 1000
        # No heartbeat in this boot: silence counts from when it was first noticed, since its true start is unknown.
        if self._silence_start is None or self._silence_start.token != token:
            self._silence_start = _SilenceStart(token, now_s)
        return token, now_s - self._silence_start.at_s


@asynccontextmanager
async def stand_by(path: str | os.PathLike[str], *, takeover_after_s: float | None = None) -> AsyncIterator[Standby]:
    """Stand by for the database at `path`, visible to other processes through `standbys`.

    Args:
        path: The database; it may not exist yet, its folder must.
        takeover_after_s: Also take over from an engine without a heartbeat for this time; None waits until it is gone.

    Raises:
        MissingFolder, ReadOnlyFolder, NoPermission, NetworkFileSystem, DiskFull: If files cannot be created there.
        NotOurFile: If `path` cannot be the name of a file.
    """
    files = Files.of(path)
    check_writable_folder(files.database.parent)
    check_local(files.database.parent)
    standby = await anyio.to_thread.run_sync(Standby, files, takeover_after_s)
    try:
        yield standby
    finally:
        standby.leave()


class _LockWaiter:
    """A thread that blocks on a lock and signals through a pipe when it has it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()
        self._is_abandoned = False
        self._is_taken = False
        self._is_granted = False
        self._read_end, self._write_end = os.pipe()
        # A daemon: nothing can wake a thread that waits for a lock, and the exit of the process must not wait for it.
        threading.Thread(target=self._wait, name="store-standby", daemon=True).start()

    async def wait_granted(self, timeout_s: float) -> bool:
        """Return True once the lock is held, or False after the timeout."""
        with anyio.move_on_after(timeout_s):
            await anyio.wait_readable(self._read_end)
            return True
        return False

    def is_current(self, path: Path) -> bool:
        """True while the lock file is the one at `path`."""
        return identity(path) == identity(self._descriptor)

    def take(self) -> FileLock:
        """Return the granted lock."""
        self._is_taken = True
        return adopt_lock(self._descriptor)

    def leave(self) -> None:
        """Stop waiting; a lock granted later is released at once."""
        with self._guard:
            self._is_abandoned = True
            if self._is_granted and not self._is_taken:
                os.close(self._descriptor)
        os.close(self._read_end)

    def _wait(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._guard:
            self._is_granted = True
            if self._is_abandoned:
                os.close(self._descriptor)
            else:
                os.write(self._write_end, b"x")
        os.close(self._write_end)
