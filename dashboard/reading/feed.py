"""The dashboard's copy of the state: the newest snapshot, the records after it, then every new one.

Rule: the state belongs to the thread that calls `advance`, which is the drawing thread. The feed's own threads only
read and decode; decoded blocks wait in a bounded queue, and `advance` folds as many as its time budget allows. The
engine is never called.
"""

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Unpack

from dashboard.views.event_log import Entry
from dashboard.views.measures.activity import Activity
from dashboard.views.words.names import Names, readable
from engine.core.errors import CoreError
from engine.core.events import PartRecorded, StateImported, StepRecorded
from engine.core.fold import fold
from engine.core.state import State
from engine.reading.folding import end_events_of, events_of, nearest_state
from store import Reader, Record, Tail, mark_at
from store.errors import FileLost, ReadRowsLost, StoreError
from store.journals.records import EngineInfo, StandbyInfo
from store.journals.statements import Conditions
from store.leadership.lock import find_file_loss, identity

BLOCK = 500
"""Records that are read at once."""
PIECE = 50
"""Records that are decoded and folded at once, which takes a millisecond each."""
WAITING_PIECES = 60
"""Bound of the queue of decoded pieces; the reading thread waits while it is full."""
RECENT = 2_000
"""Decoded events that are kept for the newest lines of the log."""
MAX_EARLIER_EVENTS, MAX_EARLIER_BYTES = 1_000, 500_000
"""Limits of the events before the snapshot that are read when a file is opened: their number, and their bytes in the
journal. A call with 10,000 tasks has 1 MB there, and 4 MB as an event.
"""
FIRST_PAGE, MAX_PAGE, MAX_PAGE_BYTES = 10, 100, 16_000_000
"""Events of the first page, and limits of a page in events and bytes."""
STEP_S = 0.001
"""Poll interval while reading lets a key press be answered first, in seconds."""
POLL_S = 0.2
"""Poll interval of the live file, in seconds."""
RATE_S = 5.0
"""Period of the rate of events, in seconds."""
GIVE_WAY_S = 0.02
"""Maximum time that reading waits for the answer to a key press, in seconds."""
RETRY_S = 1.0
"""Time after which an unreadable file is tried again, in seconds."""


@dataclass(frozen=True, slots=True)
class _EarlierEvents:
    """Events before the snapshot: shown and counted, not folded."""

    entries: list[Entry]


class Feed:
    """Follows one database; `start` it, call `advance` from the drawing thread, `stop` it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = State()
        self.names = Names()
        self.names.learn_state(self.state)
        self.file_seq = 0
        """The newest record in the file."""
        self._opening_seq: int | None = None
        """The newest record in the file when it was opened; None until it was read."""
        self.engine: EngineInfo | None = None
        self.standbys: list[StandbyInfo] = []
        self.live: dict[str, str] = {}
        """Live texts that agents publish while they work, by key."""
        self.recent: deque[Entry] = deque(maxlen=RECENT)
        """The newest events, without gaps."""
        self.activity = Activity()
        """Activity of each agent in the last minutes."""
        self.has_polled = False
        """True once the engine's record has been read."""
        self.is_answering: Callable[[], bool] = lambda: False
        """Whether the drawing thread has a key to answer; decoding would compete for the interpreter lock."""
        self._arrived: queue.Queue[State | _EarlierEvents | list[Entry]] = queue.Queue(WAITING_PIECES)
        self._rate: deque[tuple[float, int]] = deque(maxlen=round(RATE_S / POLL_S))
        self._stop = threading.Event()
        self._broken = False
        self._troubles: dict[str, str] = {}
        self._identity = identity(path)
        self._rows_lost: ReadRowsLost | None = None
        self._threads = [
            threading.Thread(target=self._follow, name="feed-follow", daemon=True),
            threading.Thread(target=self._poll, name="feed-poll", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, *, timeout_s: float = 2.0) -> None:
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout_s)

    @property
    def trouble(self) -> str | None:
        """Why the file cannot be followed, in one line; None while it can."""
        troubles = self._troubles.copy()
        return troubles.get("file") or next(iter(troubles.values()), None)

    @property
    def behind(self) -> int:
        """Events that are in the file and not in the state."""
        return max(0, self.file_seq - self.state.seq)

    @property
    def opening(self) -> bool:
        """True until the state has caught up with the file as of its opening."""
        return self.trouble is None and (self._opening_seq is None or self.state.seq < self._opening_seq)

    @property
    def events_per_s(self) -> float:
        """Rate of new events in the file over the last `RATE_S`."""
        samples = list(self._rate)
        if len(samples) < 2 or samples[-1][0] <= samples[0][0]:
            return 0.0
        return (samples[-1][1] - samples[0][1]) / (samples[-1][0] - samples[0][0])

    def advance(self, budget_s: float = 0.008) -> bool:
        """Fold arrived events for at most about `budget_s` seconds.

        Returns:
            True if the state changed.
        """
        deadline = time.perf_counter() + budget_s
        changed = False
        while not self._broken and time.perf_counter() < deadline:
            try:
                arrived = self._arrived.get_nowait()
            except queue.Empty:
                break
            changed = True
            if isinstance(arrived, State):
                self.state = arrived
                self.names.learn_state(self.state)
                self.activity = Activity.of(self.state, ())
            elif isinstance(arrived, _EarlierEvents):
                self.recent.extendleft(reversed(arrived.entries))
                self.activity = Activity.of(self.state, [entry.event for entry in arrived.entries])
            else:
                self._fold(arrived)
        return changed

    def _fold(self, block: list[Entry]) -> None:
        events = [entry.event for entry in block]
        try:
            fold(self.state, events)
        except CoreError as error:
            self._troubles["fold"], self._broken = str(error), True
            self._stop.set()
        self.names.learn(events)
        if any(isinstance(event, StateImported) for event in events):
            self.names.learn_state(self.state)  # imported members have no events of their own
        self.activity.count_events(events)
        self.recent.extend(block)

    def _follow(self) -> None:
        """Read and decode as long as the file exists."""
        tail: Tail | None = None
        while not self._stop.is_set():
            try:
                tail = tail or self._read_snapshot()
                for block in self._blocks(tail):
                    self._enqueue(block)
            except CoreError as error:
                self._troubles["decode"] = str(error)
                return
            except ReadRowsLost as error:
                self._troubles["file"], self._rows_lost = f"{error}; the screen shows an earlier state", error
                self._stop.set()
            except StoreError as error:
                # A replaced file has other events with the same seqs.
                if self._detect_file_loss():
                    return
                self._troubles["follow"] = str(error)
                self._stop.wait(RETRY_S)
                self._troubles.pop("follow", None)

    def _read_snapshot(self) -> Tail:
        """Enqueue the newest snapshot with the events before it; return the tail after it."""
        with Reader(self.path) as reader:
            self.file_seq = self._opening_seq = reader.last_seq()
            state = nearest_state(reader)
            if state.seq == 0:
                return Tail(self.path, 0)
            mark = mark_at(reader, state.seq)
            self._enqueue(state)
            before: list[Record] = []
            left_bytes = MAX_EARLIER_BYTES
            while len(before) < MAX_EARLIER_EVENTS and left_bytes > 0:
                page = reader.records_before(before[-1].seq if before else state.seq + 1, MAX_PAGE)
                for record in reversed(page):
                    left_bytes -= len(record.body)
                    if left_bytes >= 0:
                        before.append(record)
                if len(page) < MAX_PAGE:
                    break
            self._enqueue(_EarlierEvents(entries_of(reader, before[::-1], self.names)))
        return Tail(self.path, state.seq, mark=mark)

    def _blocks(self, tail: Tail) -> Iterator[list[Entry]]:
        for batch in tail.batches(self._stop, BLOCK):
            for first in range(0, len(batch), PIECE):
                piece = batch[first : first + PIECE]
                self._give_way()
                yield list(map(Entry.of, piece, events_of(piece)))

    def _give_way(self) -> None:
        until_s = time.monotonic() + GIVE_WAY_S
        while self.is_answering() and time.monotonic() < until_s and not self._stop.is_set():
            self._stop.wait(STEP_S)

    def _enqueue(self, arrived: State | _EarlierEvents | list[Entry]) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(queue.Full):
                self._arrived.put(arrived, timeout=0.1)
                break

    def _poll(self) -> None:
        """Poll the facts that are not in the journal: the engine, live texts, and the identity of the file."""
        while not self._stop.is_set():
            try:
                with Reader(self.path) as reader:
                    self._troubles.pop("poll", None)
                    while not self._stop.is_set():
                        self._give_way()
                        self._poll_once(reader)
                        if self._detect_file_loss():
                            return
                        self._stop.wait(POLL_S)
            except StoreError as error:
                if self._detect_file_loss():
                    return
                self._troubles["poll"] = str(error)
                self._stop.wait(RETRY_S)

    def _poll_once(self, reader: Reader) -> None:
        if reader.has_changed() or not self.has_polled:
            self.file_seq = reader.last_seq()
        self._rate.append((time.monotonic(), self.file_seq))
        self.engine = reader.engine()
        self.standbys = reader.standbys()
        self.live = reader.live()
        self.has_polled = True

    def check_same_file(self) -> None:
        """Check that the path still has the file that is followed, not one of another team.

        Raises:
            FileLost: If the file was deleted or replaced; sets `trouble` and stops the feed.
            ReadRowsLost: If it was replaced by an older copy, without rows that were read; likewise.
        """
        if self._rows_lost is not None:
            raise self._rows_lost
        if self._identity is not None and (loss := find_file_loss(self.path, self._identity)) is not None:
            self._troubles["file"] = f"the file {loss.reason}: this is its last state; open it again: {self.path}"
            self._stop.set()
            raise loss

    def _detect_file_loss(self) -> bool:
        """Return whether the file was deleted or replaced; if so, report it and stop."""
        try:
            self.check_same_file()
        except (FileLost, ReadRowsLost):
            return True
        return False


def entries_of(reader: Reader, records: list[Record], names: Names) -> list[Entry]:
    """Decode records, and add the titles that they need to `names`; call in the thread of `reader`."""
    events = events_of(records)
    names.learn([*end_events_of(reader, names.unknown(records)), *events])
    return list(map(Entry.of, records, events))


def entries_before(
    reader: Reader, seq: int, count: int, names: Names, *, after_seq: int = 0, **conditions: Unpack[Conditions]
) -> list[Entry]:
    """Return the last `count` events before `seq`, the newest last; reads pages, to keep few bodies in memory."""
    pages: list[list[Entry]] = []
    limit = FIRST_PAGE
    while count > 0:
        limit = min(limit, count)
        records = reader.records_before(seq, limit, after_seq=after_seq, **conditions)
        pages.append(entries_of(reader, records, names))
        if len(records) < limit:
            break
        seq, count = records[0].seq, count - limit
        each_bytes = 1 + sum(len(record.body) for record in records) // limit
        limit = max(1, min(4 * limit, MAX_PAGE, MAX_PAGE_BYTES // each_bytes))
    return [*chain.from_iterable(reversed(pages))]


def prompt_parts_of(reader: Reader, entries: list[Entry], *, known_hashes: Container[str]) -> dict[str, str]:
    """Return the prompt parts of the last model step of `entries`, by hash.

    Args:
        known_hashes: Parts to leave out.
    """
    steps = [entry.event for entry in entries if isinstance(entry.event, StepRecorded) and entry.event.parts]
    hashes = steps[-1].parts if steps else []
    texts: dict[str, str] = {}
    for part in hashes:
        if part not in known_hashes:
            for record in reader.records(0, 1, kinds=[PartRecorded.type], contains=part):
                (event,) = events_of([record])
                if isinstance(event, PartRecorded):
                    texts[part] = readable(event.value)
    return texts
