"""Sums of attempts in slots of time: time at work, waits, ends and failures of each agent.

`SLOTS` slots cover the whole history; when they do not suffice, several are merged into one. So a history of any length
takes the same memory, and loses only detail: a slot has sums, not their order. Idle time is left out: positions are
milliseconds since the first event without the gaps.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable
from operator import add
from typing import NamedTuple

import msgspec

from store.journals.records import Record

SLOTS = 1_024
FIRST_SLOT_MS = 2
SLOT_MS = 250
"""Up to this length, five slots are merged at a time: 2, 10, 50, 250 ms, which divide round columns; then two."""
GAP_MS = 12_000
"""Minimum idle time that is folded, without attempts at work or without an engine."""
VISIBLE_GAP_MS = 1_000
"""Part of a folded gap that stays, so that bars at both sides are separate."""
MAX_ATTEMPTS = 4_000
"""Newest attempts that are kept individually, for their titles."""
MAX_MARKS = 4_000
MAX_FAILED = 200
MAX_REMOVED = 200
"""Removed agents whose lanes are kept; a lane takes 16 kB."""
MAX_COUNT = 2**32 - 1
"""Bound of a counter, 50 days in one slot, which only a file with wrong times exceeds."""
ENDS = {
    "attempt_done",
    "attempt_failed",
    "attempt_cancelled",
    "attempt_lost",
    "attempt_preempted",
    "attempt_set_aside",
}
_FAILED = {"attempt_failed", "attempt_lost"}
_SIGNS = {
    "agent_swapped": "◆",
    "swap_rolled_back": "◆",
    "strategy_switched": "◇",
    "agent_paused": "‖",
    "supervisor_paused": "‖",
    "escalated": "⚑",
    "run_submitted": "▸",
    "run_finished": "✓",
}
_PARKING = {"attempt_parked", "delegated", "call_rejoined"}
KINDS = frozenset({"attempt_started", "attempt_resumed", "engine_started", "agent_removed", *_PARKING, *ENDS, *_SIGNS})
"""Kinds of events that lanes read."""
BODIED = frozenset(
    {
        "delegated",
        "call_rejoined",
        "strategy_switched",
        "supervisor_paused",
        "escalated",
        "run_submitted",
        "run_finished",
    }
)
"""Kinds of events whose body is needed."""


class _Body(msgspec.Struct):
    """The fields of bodies that are read."""

    parks: bool = True
    supervisor_id: str = ""
    subject: str = ""
    status: str = ""


_decode = msgspec.json.Decoder(_Body).decode


class RareEvent(NamedTuple):
    """A rare event."""

    at: int
    """Position."""
    sign: str
    subject: str
    """Agent, supervisor, task or run."""
    seq: int


class AttemptSpan(NamedTuple):
    """An attempt, from its first to its last position."""

    agent_id: str
    task_id: str
    begin: int
    end: int


class Lane:
    """The counters of one agent, or of all together."""

    __slots__ = ("busy", "done", "failed", "waited")

    def __init__(self, size: str = "I") -> None:
        self.busy, self.waited = array(size, [0] * SLOTS), array(size, [0] * SLOTS)
        """Milliseconds of running and of parked attempts, by slot."""
        self.done, self.failed = array("I", bytes(4 * SLOTS)), array("I", bytes(4 * SLOTS))

    def join(self, each: int) -> None:
        """Merge every `each` slots into one."""
        for counter in (self.busy, self.waited, self.done, self.failed):
            if not any(counter):
                continue
            counter.extend([0] * (-SLOTS % each))
            joined = [*counter[::each]]
            for place in range(1, each):
                # Adding slot by slot takes half a second for a thousand lanes.
                joined = [*map(add, joined, counter[place::each])]
            if counter.typecode != "Q" and max(joined) > MAX_COUNT:
                joined = [min(MAX_COUNT, count) for count in joined]
            counter[:] = array(counter.typecode, [*joined, *[0] * (SLOTS - len(joined))])


class Lanes:
    """The lanes of all agents from a moment on, as far as the journal was read."""

    def __init__(self) -> None:
        self.seq = 0
        """Seq of the last event that was added."""
        self.first_ms = 0
        self.last_ms = 0
        """Times of the first and the last event."""
        self.ends_ms: int | None = None
        """End of a part of the history; None follows the newest event."""
        self.slot_ms = FIRST_SLOT_MS
        self.lanes: dict[str, Lane] = {}
        self.team = Lane("Q")
        self.seqs = array("Q", bytes(8 * SLOTS))
        """Seq of the first event of each slot; 0 for none."""
        self.marks: deque[RareEvent] = deque(maxlen=MAX_MARKS)
        self.spans: deque[AttemptSpan] = deque(maxlen=MAX_ATTEMPTS)
        self._gap_ends: list[int] = []
        """End of each folded gap, in UTC milliseconds; the lists below have its length and its position."""
        self._gap_lengths: list[int] = []
        self._gap_at: list[int] = []
        self._folded: list[int] = [0]
        """Folded milliseconds before each gap; the last value is the total."""
        self._open: dict[str, tuple[str, int, bool, int]] = {}
        """By task: agent, position up to which it is counted, whether it waits, position of its start."""
        self._running = 0
        self._runs: dict[str, str] = {}
        """Supervisor by open run."""
        self._removed_agents: dict[str, None] = {}
        self._last_of: dict[str, str] = {}
        """Agents of the last failed attempts by task, for questions, which follow the end of an attempt."""

    @property
    def is_empty(self) -> bool:
        return not self.first_ms

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The position and the length of each gap."""
        return list(zip(self._gap_at, self._gap_lengths, strict=True))

    def part(self, begin: int, end: int | None) -> "Lanes":
        """Return empty lanes of a part, with the attempts that were open at its start; None as the end follows."""
        lanes = Lanes()
        lanes.first_ms = lanes.last_ms = self.moment(begin)
        lanes.ends_ms = None if end is None else self.moment(end)
        lanes.seqs[0] = self.seq_at(begin)
        slot = min(SLOTS - 1, begin // self.slot_ms)
        later_attempts = (attempt for attempt in self.spans if attempt.end > begin)
        for attempt in (*later_attempts, *self.open_attempts()):
            if attempt.begin < begin:
                lane = self.lanes.get(attempt.agent_id)
                waits = lane is not None and lane.waited[slot] > lane.busy[slot]
                lanes._open[attempt.task_id] = (attempt.agent_id, 0, waits, 0)
                lanes._running += not waits
        return lanes

    def remembers(self, at: int) -> bool:
        """Tell whether all attempts since a position are kept individually."""
        return len(self.spans) < MAX_ATTEMPTS or self.spans[0].end <= at

    def covers(self, at_ms: int) -> bool:
        """Tell whether a moment is in the period of these lanes."""
        return self.first_ms <= at_ms and (self.ends_ms is None or at_ms <= self.ends_ms)

    def at(self, at_ms: int) -> int:
        """Return the position of a moment."""
        place = bisect_right(self._gap_ends, at_ms)
        at = at_ms - self.first_ms - self._folded[place]
        if place < len(self._gap_at):  # all moments of a gap have the same position
            at = min(at, self._gap_at[place])
        return max(0, at)

    def moment(self, at: int) -> int:
        """Return the moment of a position."""
        return self.first_ms + at + self._folded[bisect_left(self._gap_at, at)]

    def add_records(self, records: Iterable[Record]) -> None:
        """Add records in their order."""
        for record in records:
            if record.seq <= self.seq:
                continue
            self.seq = record.seq
            if not self.first_ms and record.kind == "engine_started":
                continue  # an engine without work is not a history
            if not self.first_ms:
                self.first_ms = self.last_ms = record.at_ms
            self._pass_time(record)
            at = self.last_ms - self.first_ms - self._folded[-1]
            slot = self._slot(at)
            if not self.seqs[slot]:
                self.seqs[slot] = record.seq
            self._count(record, at, slot)

    def _pass_time(self, record: Record) -> None:
        idle_ms = record.at_ms - self.last_ms
        if idle_ms > GAP_MS and (not self._running or record.kind == "engine_started"):
            folded = idle_ms - VISIBLE_GAP_MS
            self._gap_at.append(self.last_ms - self.first_ms - self._folded[-1] + VISIBLE_GAP_MS)
            self._gap_ends.append(record.at_ms)
            self._gap_lengths.append(folded)
            self._folded.append(self._folded[-1] + folded)
        self.last_ms = max(self.last_ms, record.at_ms)

    def _slot(self, at: int) -> int:
        while at // self.slot_ms >= SLOTS:
            each = 5 if self.slot_ms < SLOT_MS else 2
            self.slot_ms *= each
            for lane in (self.team, *self.lanes.values()):
                lane.join(each)
            for slot in range(SLOTS):
                self.seqs[slot] = next(filter(None, self.seqs[each * slot : each * slot + each]), 0)
        return at // self.slot_ms

    def _count(self, record: Record, at: int, slot: int) -> None:
        kind, task_id, agent_id = record.kind, record.task_id or "", record.agent_id
        if kind == "attempt_started":
            if agent_id is not None:
                self._open[task_id] = (agent_id, at, False, at)
                self._running += 1
        elif kind in ENDS:
            self._end(task_id, agent_id, at)
            if agent_id is not None:
                for lane in (self._lane(agent_id), self.team):
                    if kind in _FAILED:
                        lane.failed[slot] += 1
                        self._note_failed(task_id, agent_id)
                    elif kind == "attempt_done":
                        lane.done[slot] += 1
        elif kind == "attempt_resumed":
            self._set_waiting(task_id, at, waits=False)
        elif kind in _PARKING:
            if kind == "attempt_parked" or _decode(record.body).parks:
                self._set_waiting(task_id, at, waits=True)
        elif kind == "agent_removed" and agent_id is not None:
            self._note_removed(agent_id)
        elif kind in _SIGNS:
            body = _decode(record.body) if record.body else _Body()
            self.marks.append(RareEvent(at, _sign(kind, body), self._subject(record, body), record.seq))

    def _note_failed(self, task_id: str, agent_id: str) -> None:
        self._last_of[task_id] = agent_id
        if len(self._last_of) > MAX_FAILED:
            del self._last_of[next(iter(self._last_of))]

    def _subject(self, record: Record, body: _Body) -> str:
        """Return the member in whose lane a mark belongs."""
        run_id, task_id = record.run_id or "", record.task_id or ""
        if record.kind == "run_submitted":
            self._runs[run_id] = body.supervisor_id
        if record.kind == "run_finished":
            return self._runs.pop(run_id, "")
        if record.kind == "escalated":
            of_open = self._open.get(task_id)
            return of_open[0] if of_open is not None else self._last_of.get(task_id, body.subject)
        return record.agent_id or body.supervisor_id or body.subject

    def _lane(self, agent_id: str) -> Lane:
        lane = self.lanes.get(agent_id)
        if lane is None:
            lane = self.lanes[agent_id] = Lane()
        return lane

    def _note_removed(self, agent_id: str) -> None:
        self._removed_agents[agent_id] = None
        if len(self._removed_agents) > MAX_REMOVED:
            oldest = next(iter(self._removed_agents))
            del self._removed_agents[oldest]
            self.lanes.pop(oldest, None)

    def _end(self, task_id: str, agent_id: str | None, at: int) -> None:
        open_attempt = self._open.pop(task_id, None)
        if open_attempt is not None:
            self._running -= not open_attempt[2]
            self._span(open_attempt[0], open_attempt[1], at, waits=open_attempt[2])
            self.spans.append(AttemptSpan(open_attempt[0], task_id, open_attempt[3], at))

    def _set_waiting(self, task_id: str, at: int, *, waits: bool) -> None:
        """Park or resume an attempt."""
        open_attempt = self._open.get(task_id)
        if open_attempt is not None and open_attempt[2] is not waits:
            self._running += -1 if waits else 1
            self._span(open_attempt[0], open_attempt[1], at, waits=open_attempt[2])
            self._open[task_id] = (open_attempt[0], at, waits, open_attempt[3])

    def _span(self, agent_id: str, begin: int, end: int, *, waits: bool) -> None:
        lane, slot_ms = self._lane(agent_id), self.slot_ms
        counter = lane.waited if waits else lane.busy
        team = self.team.waited if waits else self.team.busy
        while begin < end:
            slot = begin // slot_ms
            part = min(end, (slot + 1) * slot_ms) - begin
            counter[slot] = min(MAX_COUNT, counter[slot] + part)
            team[slot] += part
            begin += part

    def advance(self, now_ms: int) -> int:
        """Count open attempts up to a moment, and return its position; without work, that of the last event."""
        now_ms = now_ms if self.ends_ms is None else min(now_ms, self.ends_ms)
        if self._running and now_ms > self.last_ms:
            self.last_ms = now_ms
        at = self.last_ms - self.first_ms - self._folded[-1]
        self._slot(at)
        for task_id, (agent_id, since, waits, begin) in self._open.items():
            if at > since:
                self._span(agent_id, since, at, waits=waits)
                self._open[task_id] = (agent_id, at, waits, begin)
        return at

    def open_attempts(self) -> list[AttemptSpan]:
        """Return the open attempts, up to the position that they are counted to."""
        return [AttemptSpan(agent_id, task_id, begin, at) for task_id, (agent_id, at, _, begin) in self._open.items()]

    def seq_at(self, at: int) -> int:
        """Return the seq of the first event in the slot of a position, or of an earlier slot; 0 before all events."""
        slot = min(SLOTS - 1, max(0, at // self.slot_ms))
        while slot >= 0 and not self.seqs[slot]:
            slot -= 1
        return self.seqs[slot] if slot >= 0 else 0


def _sign(kind: str, body: _Body) -> str:
    return "✕" if kind == "run_finished" and body.status != "done" else _SIGNS[kind]
