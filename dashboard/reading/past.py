"""Past moments of one file, built in a thread from the nearest stored state before them.

Rule: as in the feed, the state belongs to the thread that calls `advance`, which is the drawing thread; the worker
thread never touches a state that it has handed over. No transaction stays open: the file is read in pages, and a newer
request replaces the current one between two pages.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from dashboard.reading.checkpoints import Checkpoints
from dashboard.reading.feed import entries_before, entries_of
from dashboard.views.event_log import Entry
from dashboard.views.measures.activity import END_KINDS, RETAINED_MS, SPEND_KINDS, Activity
from dashboard.views.measures.queues import EVERY_MS, waiting_of
from dashboard.views.measures.usage import is_metered
from dashboard.views.words.glyphs import MARKS
from dashboard.views.words.names import Names
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.errors import CoreError
from engine.core.events import Event
from engine.core.fold import fold
from engine.core.state import State
from engine.platform import garbage
from engine.reading.folding import events_of
from store import Reader, StoreError

PAGE = 100
"""Events read and folded between two checks for a newer request: 1 ms."""
MAX_EVENTS_FORWARD = 500
"""Maximum events that the drawing thread folds forward to reach a later moment."""
SNAPSHOT_COST = 2_000
"""Cost of reading a stored state, in folded events."""
RECENT = 1_000
"""Decoded events up to the moment that are kept, for the log and the activity of agents."""
MINUTES = 2_000
"""Maximum events of ended attempts that are read before the recent ones, for rates: 20 ms."""
CHECKPOINT_DISTANCE = RECENT + 500
"""A state this many events before a distant moment is cached, for steps back from there."""
PATIENCE_S = 0.2
"""After this time without a result, a moment is finished even if a newer one was requested."""


_Request: TypeAlias = Callable[[Reader, int], int]
"""Returns the requested seq, given the previous one."""
_QueueSample: TypeAlias = tuple[int, int, Mapping[str, int]]
"""A time in UTC milliseconds, the number of waiting tasks, and the number by agent."""


@dataclass(frozen=True, slots=True)
class _Moment:
    state: State
    recent: list[Entry]
    activity: Activity


@dataclass(frozen=True, slots=True)
class _Extension:
    entries: list[Entry]


class Past:
    """One file at a moment of its past; `start` it, request a moment, call `advance` when `ready` was called."""

    def __init__(
        self,
        path: Path,
        *,
        ready: Callable[[], object] = lambda: None,
        check_same_file: Callable[[], None] = lambda: None,
    ) -> None:
        """Create the worker without a request.

        Args:
            ready: Called in another thread when `advance` has work.
            check_same_file: Called after opening `path`; raises a `StoreError` if it is not the same file any more.
        """
        self.path = path
        self.state = State()
        """The state after the event `state.seq`, at `state.at_ms`."""
        self.names = Names()
        self.recent: deque[Entry] = deque(maxlen=RECENT)
        """The last events up to that moment, without gaps."""
        self.activity = Activity()
        """Activity of each agent in the minutes before."""
        self.trouble: str | None = None
        """Why the last requested moment cannot be shown, in one line."""
        self._ready, self._check_same_file = ready, check_same_file
        self._requests: list[_Request] = []
        self._condition = threading.Condition()
        self._working = False
        self._stopped = False
        self._arrived: queue.SimpleQueue[_Moment | _Extension] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="past", daemon=True)
        # Used only by the worker thread.
        self._target = 0
        self._delivered_seq: int | None = None
        self._delivered_s = 0.0
        self._partial: State | None = None
        self._checkpoints = Checkpoints()

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, timeout_s: float = 2.0) -> None:
        with self._condition:
            self._stopped = True
            self._condition.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def to_seq(self, seq: int) -> None:
        """Request the moment after an event, clamped to the journal."""
        self._add_request(lambda reader, before: seq, from_anywhere=True)

    def to_time(self, at_ms: int) -> None:
        """Request the last event up to a time, in UTC milliseconds."""
        self._add_request(lambda reader, before: reader.seq_at(at_ms), from_anywhere=True)

    def by_events(self, by: int) -> None:
        """Request the moment `by` events after the last requested one, or before it if negative."""
        self._add_request(lambda reader, before: before + by)

    def to_mark(self, by: int, kinds: Collection[str] = frozenset(MARKS)) -> None:
        """Request the next event of some kinds, or the previous one if `by` is negative; without one, stay."""

        def neighbour(reader: Reader, before: int) -> int:
            read = reader.records_before if by < 0 else reader.records
            return next((record.seq for record in read(before, 1, kinds=kinds)), before)

        self._add_request(neighbour)

    @property
    def busy(self) -> bool:
        """True while a requested moment has not arrived."""
        with self._condition:
            return bool(self._requests) or self._working or not self._arrived.empty()

    def advance(self) -> bool:
        """Take over arrived moments.

        Returns:
            True if the state changed.
        """
        changed = False
        while not self._arrived.empty():
            arrived = self._arrived.get()
            if isinstance(arrived, _Moment):
                self.state, self.recent = arrived.state, deque(arrived.recent, RECENT)
                self.activity = arrived.activity
            else:
                events = [entry.event for entry in arrived.entries]
                fold(self.state, events)
                self.activity.count_events(events)
                self.recent.extend(arrived.entries)
            changed = True
        return changed

    def _add_request(self, request: _Request, *, from_anywhere: bool = False) -> None:
        with self._condition:
            if from_anywhere:
                self._requests.clear()  # earlier requests do not matter
            self._requests.append(request)
            self._condition.notify()

    # Methods of the worker thread.

    def _work(self) -> None:
        reader: Reader | None = None
        while requests := self._wait_for_requests():
            try:
                reader = reader or self._open_reader()
                self._target = self._resolve(reader, requests)
                if self._deliver(reader, self._target):
                    self._delivered_s = time.monotonic()
                self.trouble = None
            except (StoreError, CoreError) as error:
                self.trouble = str(error)
            self._finish_request()
        if reader is not None:
            reader.close()

    def _open_reader(self) -> Reader:
        reader = Reader(self.path)
        try:
            self._check_same_file()
        except StoreError:
            reader.close()
            raise
        return reader

    def _wait_for_requests(self) -> list[_Request]:
        """Wait for the next requests; an empty list means stop."""
        with self._condition:
            self._condition.wait_for(lambda: self._requests or self._stopped)
            requests, self._requests = self._requests, []
            self._working = not self._stopped
            return [] if self._stopped else requests

    def _finish_request(self) -> None:
        with self._condition:
            self._working = False
        self._ready()
        self._checkpoints.pack()

    def _resolve(self, reader: Reader, requests: list[_Request]) -> int:
        first, last = max(1, reader.first_seq()), reader.last_seq()
        target = self._target
        for request in requests:
            target = min(max(request(reader, target), first), last)
        return target

    def _deliver(self, reader: Reader, target: int) -> bool:
        """Hand over the requested moment; False if a newer request arrived meanwhile."""
        delivered = self._delivered_seq
        if delivered is not None and 0 <= target - delivered <= MAX_EVENTS_FORWARD:
            if records := reader.records(delivered, target - delivered) if target > delivered else []:
                self._arrived.put(_Extension(entries_of(reader, records, self.names)))
        else:
            waited: list[_QueueSample] = []
            with garbage.collection_paused():
                state = self._build_state(reader, target, waited)
            if state is None:
                return False
            self.names.learn_state(state)
            recent = entries_before(reader, target + 1, RECENT, self.names)
            activity = Activity.of(state, [entry.event for entry in recent])
            activity.count_earlier(
                self._earlier_events(reader, recent, SPEND_KINDS if is_metered(state) else END_KINDS)
            )
            for at_ms, waiting, waiting_of in waited:
                activity.sample_queues(at_ms, waiting, waiting_of)
            self._arrived.put(_Moment(state, recent, activity))
        self._delivered_seq = target
        return True

    def _build_state(self, reader: Reader, target: int, waited: "list[_QueueSample]") -> State | None:
        """Return the state at a moment, or None if superseded; add a queue sample per second of the last events."""
        since = max(0, target - RECENT)
        state = self._nearest_state(reader, since)
        keep_at = target - CHECKPOINT_DISTANCE if target - state.seq > 2 * CHECKPOINT_DISTANCE else -1
        while state.seq < target:
            if self._is_superseded():
                self._partial = state
                return None
            until = next(seq for seq in (keep_at, since, target) if state.seq < seq)
            records = reader.linked_records(state.seq, min(PAGE, until - state.seq))
            if not records:
                break
            events = events_of(records)
            if state.seq < since:
                fold(state, events)
            else:
                waited += _fold_with_samples(state, events)
            if state.seq == keep_at:
                self._checkpoints.add(keep_at, encode_state(state))
        return state

    def _earlier_events(self, reader: Reader, recent: Sequence[Entry], kinds: Collection[str]) -> list[Event]:
        """Return events of some kinds before the recent ones, of the period for rates and percentiles."""
        if not recent:
            return []
        after_seq = reader.seq_at(recent[-1].at_ms - RETAINED_MS)
        entries = entries_before(reader, recent[0].seq, MINUTES, self.names, after_seq=after_seq, kinds=kinds)
        return [entry.event for entry in entries]

    def _is_superseded(self) -> bool:
        with self._condition:
            newer = self._stopped or bool(self._requests)
        return newer and (self._stopped or time.monotonic() - self._delivered_s < PATIENCE_S)

    def _nearest_state(self, reader: Reader, target: int) -> State:
        """Return the cheapest state before a moment: the partial one, a cached one, or a snapshot of the file."""
        begun, self._partial = self._partial, None
        if begun is not None and begun.seq > target:
            begun = None
        checkpoint = self._checkpoints.nearest(target)
        if begun is not None and (checkpoint is None or begun.seq + SNAPSHOT_COST >= checkpoint[0]):
            better_than = begun.seq + SNAPSHOT_COST
        else:
            begun, better_than = None, -1 if checkpoint is None else checkpoint[0]
        bound = target
        while (snapshot := reader.snapshot(bound, after_seq=better_than)) is not None:
            try:
                return decode_state(snapshot[1])
            except ValueError:  # written by an earlier version
                bound = snapshot[0] - 1
        if begun is not None:
            return begun
        return State() if checkpoint is None else decode_state(checkpoint[1])


def _fold_with_samples(state: State, events: Sequence[Event]) -> Iterator[_QueueSample]:
    """Fold events, and sample the queues after each second of them."""
    for _, second in groupby(events, key=lambda event: event.at_ms // EVERY_MS):
        fold(state, list(second))
        yield state.at_ms, sum(queue.ready for queue in state.queues.values()), waiting_of(state)
