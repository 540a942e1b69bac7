"""Follows a journal from another process: one thread for each file, shared by all followers of this process.

Followers are called in that thread, in order: with records as they appear, with answers to `ask`, and once at the end.
"""

import os
import threading
import time
from pathlib import Path
from typing import Protocol, TypeAlias

from store.errors import StoreError
from store.journals.reader import Reader
from store.journals.records import Record
from store.journals.tail import Cursor, HashedRow, PollInterval
from store.layout.files import Files
from store.leadership.lock import find_file_loss, identity

CHECK_INTERVAL_S = 0.5
"""Interval of the check that an engine holds the file, in seconds; following ends after two misses in a row."""
_PAGE = 500
_Key: TypeAlias = tuple[Path, tuple[int, int] | None]
_OPEN_TAILS: dict[_Key, "_Tail"] = {}
_GUARD = threading.Lock()
"""Guards `_OPEN_TAILS`, and the followers of each tail."""


class Follower(Protocol):
    """A follower; its methods are called in the thread of the tail and must return soon."""

    def has_room(self) -> bool:
        """Return whether it accepts more records now; otherwise it gets them later."""

    def take(self, records: list[Record]) -> None:
        """Accept the next records, oldest first; an exception ends its following."""

    def reach(self, ticket: int) -> None:
        """Note that everything was delivered that the file held when `Following.request_ticket` returned `ticket`."""

    def end(self, error: Exception | None) -> None:
        """Note the end of following: no engine holds the file (None), or an error."""


class Following(Cursor):
    """The position of one follower; made by `follow`. A returning follower passes its `mark`, to detect lost rows."""

    def __init__(self, tail: "_Tail", after_seq: int, follower: Follower, mark: HashedRow | None) -> None:
        super().__init__(after_seq, mark)
        self._tail = tail
        self._follower = follower
        self._last_ticket = 0
        self._answered_ticket = 0
        self._is_behind = True
        self.is_over = False
        """True once no more requests are accepted."""
        self.has_left = False

    def request_ticket(self) -> int | None:
        """Request delivery of everything in the file now; return the ticket for `reach`, None if following is over."""
        with _GUARD:
            if self.is_over:
                return None
            self._last_ticket += 1
            ticket = self._last_ticket
        self._tail.wake()
        return ticket

    def leave(self) -> None:
        """Stop following; a call that is in progress may still finish."""
        with _GUARD:
            self.has_left = self.is_over = True
        self._tail.wake()

    @property
    def is_waiting(self) -> bool:
        """True while a ticket is not answered, or records may be in the file that were not delivered."""
        return self._is_behind or self._last_ticket > self._answered_ticket

    def deliver(self, reader: Reader) -> None:
        """Deliver records while the follower has room, and answer its tickets."""
        ticket, self._is_behind = self._last_ticket, True  # tickets issued from now on are not covered
        try:
            while self._is_behind and not self.has_left and self._follower.has_room():
                records = self.read(reader, _PAGE)
                if records:
                    self._tail.interval.note_records()
                    self._follower.take(records)
                self._is_behind = len(records) == _PAGE
            if ticket > self._answered_ticket and not (self._is_behind or self.has_left):
                self._answered_ticket = ticket
                self._follower.reach(ticket)
        except Exception as error:  # of this follower; the others, which share the thread, go on
            self.end(error)

    def end(self, error: Exception | None) -> None:
        """End following."""
        with _GUARD:
            had_left, self.has_left, self.is_over = self.has_left, True, True
        if not had_left:
            self._follower.end(error)


def follow(
    path: str | os.PathLike[str], after_seq: int, follower: Follower, *, mark: HashedRow | None = None
) -> Following:
    """Follow the file at `path` after a seq, until the follower leaves or following ends.

    It ends with `ReadRowsLost` if the file no longer contains the rows up to `mark`.

    Raises:
        NotOurFile: If `path` cannot be the name of a file.
    """
    database = Files.of(path).database
    key = database, identity(database)
    with _GUARD:
        tail = _OPEN_TAILS.get(key)
        if tail is None:
            tail = _OPEN_TAILS[key] = _Tail(key)
            threading.Thread(target=tail.run, name=f"follow {database.name}", daemon=True).start()
        following = Following(tail, after_seq, follower, mark)
        tail.followings.append(following)
    tail.wake()
    return following


class _Tail:
    """Reads one file while it has followers and an engine holds it."""

    def __init__(self, key: _Key) -> None:
        self._path, self._identity = self._key = key
        self.interval = PollInterval()
        self._wake_event = threading.Event()
        self.followings: list[Following] = []

    def wake(self) -> None:
        """Check the file now."""
        self._wake_event.set()

    def run(self) -> None:
        """Deliver records until there are no followers, no engine holds the file, or reading fails."""
        error: StoreError | None = None
        try:
            with Reader(self._path) as reader:
                self._follow(reader)
                # Once more after closing: a follower may have asked just before, and must get its answer.
                for following in self._close():
                    following.deliver(reader)
        except StoreError as failure:
            error = failure
        for following in self._close():
            following.end(error)

    def _follow(self, reader: Reader) -> None:
        misses, next_check_s = 0, time.monotonic() + CHECK_INTERVAL_S
        while misses < 2 and (followings := self._active_followings()):
            self._wake_event.clear()
            if reader.has_changed() or any(following.is_waiting for following in followings):
                for following in followings:
                    following.deliver(reader)
            if time.monotonic() >= next_check_s:
                misses = 0 if self._is_held(reader) else misses + 1
                next_check_s = time.monotonic() + CHECK_INTERVAL_S
            self._wake_event.wait(self.interval.wait_s)

    def _is_held(self, reader: Reader) -> bool:
        if (file_loss := find_file_loss(self._path, self._identity)) is not None:
            raise file_loss
        engine = reader.engine()
        return engine is not None and engine.alive

    def _active_followings(self) -> list[Following]:
        """Return the followers; without any, close the tail under the same lock, so that none joins a dead tail."""
        with _GUARD:
            self.followings = [following for following in self.followings if not following.has_left]
            if not self.followings:
                self._unregister()
            return list(self.followings)

    def _close(self) -> list[Following]:
        """Close the tail to new followers and requests, and return the remaining followers."""
        with _GUARD:
            self._unregister()
            for following in self.followings:
                following.is_over = True
            return list(self.followings)

    def _unregister(self) -> None:
        if _OPEN_TAILS.get(self._key) is self:
            del _OPEN_TAILS[self._key]
