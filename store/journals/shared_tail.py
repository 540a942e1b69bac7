"""Follows a journal from another process: one thread for each file, shared by all followers of this process.

Followers are called in that thread, in order: with records as they appear, with answers to `ask`, and once at the end.
"""

import os
import threading
import time
from pathlib import Path
from typing import Protocol, TypeAlias

from store.errors import ReadRowsLost, StoreError
from store.journals.reader import Reader
from store.journals.records import Record
from store.journals.tail import Continuity, HashedRow, PollInterval, mark_at
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

    def level(self, ticket: int) -> None:
        """Note that everything in the file at the time of `Following.ask` (which returned `ticket`) was delivered."""

    def end(self, error: Exception | None) -> None:
        """Note the end of following: no engine holds the file (None), or an error."""


class Following:
    """The position of one follower; made by `follow`."""

    def __init__(self, tail: "_Tail", after_seq: int, follower: Follower, mark: HashedRow | None) -> None:
        self._tail = tail
        self._follower = follower
        self.after_seq = after_seq
        """Seq of the last delivered record."""
        self.mark = mark
        """The last delivered record by its hash; a returning follower passes it, to detect lost rows."""
        self.is_new = True
        self.last_ticket = 0
        self._answered_ticket = 0
        self.has_left = False
        self.is_over = False

    def ask(self) -> int | None:
        """Request delivery of everything in the file now; return the ticket for `level`, None if following is over."""
        with _GUARD:
            if self.is_over:
                return None
            self.last_ticket += 1
            ticket = self.last_ticket
        self._tail.wake()
        return ticket

    def leave(self) -> None:
        """Stop following; a call that is in progress may still finish."""
        with _GUARD:
            self.has_left = self.is_over = True
        self._tail.wake()

    @property
    def is_ready(self) -> bool:
        """True while it accepts more records."""
        return not self.has_left and self._follower.has_room()

    @property
    def has_open_ticket(self) -> bool:
        """True while a ticket is not answered."""
        return self.last_ticket > self._answered_ticket

    def begin(self, reader: Reader) -> None:
        """End at once if the file has lost rows that were read before."""
        self.is_new = False
        if self.mark is not None and reader.hash_of(self.mark.seq) != self.mark.hash:
            with _GUARD:
                self.has_left = self.is_over = True
            self._follower.end(ReadRowsLost(reader.path, self.mark.seq))

    def deliver(self, batch: list[Record], mark: HashedRow | None) -> None:
        """Deliver the records of a batch that it does not have yet; `mark` is that of the last record."""
        records = [record for record in batch if record.seq > self.after_seq]
        if records:
            self.after_seq, self.mark = records[-1].seq, mark
            try:
                self._follower.take(records)
            except Exception as error:  # a fault of this follower must not end the others, which share the thread
                self.has_left = True
                self._follower.end(error)

    def answer(self, ticket: int) -> None:
        """Answer an `ask`."""
        if ticket > self._answered_ticket and not self.has_left:
            self._answered_ticket = ticket
            self._follower.level(ticket)

    def end(self, error: Exception | None) -> None:
        """End following."""
        if not self.has_left:
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
        self._interval = PollInterval()
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
                continuity = Continuity(reader)
                self._follow(reader, continuity)
                # Once more after closing: a follower may have asked just before, and must get its answer.
                self._deliver(reader, continuity, self._close())
        except StoreError as failure:
            error = failure
        for following in self._close():
            following.end(error)

    def _follow(self, reader: Reader, continuity: Continuity) -> None:
        misses, next_check_s, is_behind = 0, time.monotonic() + CHECK_INTERVAL_S, True
        while misses < 2 and (followings := self._active_followings()):
            self._wake_event.clear()
            if (
                reader.has_changed()
                or is_behind
                or any(following.is_new or following.has_open_ticket for following in followings)
            ):
                is_behind = self._deliver(reader, continuity, followings)
            if time.monotonic() >= next_check_s:
                misses = 0 if self._is_held(reader) else misses + 1
                next_check_s = time.monotonic() + CHECK_INTERVAL_S
            self._wake_event.wait(self._interval.wait_s)

    def _is_held(self, reader: Reader) -> bool:
        if (file_loss := find_file_loss(self._path, self._identity)) is not None:
            raise file_loss
        engine = reader.engine()
        return engine is not None and engine.alive

    def _deliver(self, reader: Reader, continuity: Continuity, followings: list[Following]) -> bool:
        """Deliver all new records; True if a follower had no room for them.

        Raises:
            ReadRowsLost: If the journal no longer contains delivered rows.
        """
        for following in followings:
            if following.is_new:
                following.begin(reader)
        # Before reading: tickets issued later are not covered.
        tickets = [(following, following.last_ticket) for following in followings]
        while ready := [following for following in followings if following.is_ready]:
            batch = reader.records(min(following.after_seq for following in ready), _PAGE)
            continuity.check(max([following.after_seq for following in ready] + [record.seq for record in batch[-1:]]))
            mark = continuity.mark
            if batch and (mark is None or mark.seq != batch[-1].seq):
                mark = mark_at(reader, batch[-1].seq)
            for following in ready:
                following.deliver(batch, mark)
            if batch:
                self._interval.note_records()
            if len(batch) < _PAGE:
                break
        for following, ticket in tickets:
            if following in ready:
                following.answer(ticket)
        return len(ready) < sum(not following.has_left for following in followings)

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
