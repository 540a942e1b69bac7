"""Sums of attempts in slots of time: time at work, waits, ends and failures of each agent.

`SLOTS` slots cover the whole history; when they do not suffice, several are merged into one. So a history of any length
takes the same memory, and loses only detail: a slot has sums, not their order. Idle time is left out: positions are
milliseconds since the first event without the gaps.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Collection, Container, Iterable, Mapping
from itertools import chain
from typing import NamedTuple

import msgspec

from dashboard.views.measures.attempts import AttemptCounter, SlotCounts
from dashboard.views.measures.idle_gaps import GAP_MS
from dashboard.views.words.glyphs import MARKS
from engine.core.events import ATTEMPT_ENDS
from store.journals.records import Record

SLOTS = 1_024
FIRST_SLOT_MS = 2
SLOT_MS = 250
"""Up to this length, five slots are merged at a time: 2, 10, 50, 250 ms, which divide round columns; then two."""
VISIBLE_GAP_MS = 1_000
"""Part of a folded gap that stays, so that bars at both sides are separate."""
MAX_ATTEMPTS = 4_000
"""Newest attempts that are kept individually, for their titles."""
MAX_MARKS = 4_000
MAX_REMOVED = 200
"""Removed agents whose lanes are kept; a lane takes up to 16 kB."""
ENDS = {end.type for end in ATTEMPT_ENDS}
_FAILED = {"attempt_failed", "attempt_lost"}
"""Kinds of ends that a question may follow."""
_SIGNS = {kind: mark for kind, mark in MARKS.items() if kind not in ("task_failed", "run_paused")} | {
    "run_finished": "✓"
}
_WAITS = {"rate_limit": "rate_limit", "backoff": "backoff", "tool": "slot", "paused": "paused", "insight": "queue"}
"""Kinds of time by what an attempt is parked for; waits for persons are questions, which are counted apart."""
STEP_KINDS = {"": "model", "model": "model", "compact": "model", "tool": "tool"}
"""Kinds of time by what a step is; empty for a call of a model that failed."""
_STEPS = {"step_recorded", "step_stopped", "model_failed"}
_PARKING = {"attempt_parked", "delegated", "call_rejoined"}
_QUESTION_ENDS = {"escalation_answered", "question_withdrawn"}
KINDS = frozenset(
    {
        "attempt_started",
        "attempt_resumed",
        "engine_started",
        "engine_slept",
        "agent_removed",
        "slot_wanted",
        "retry_scheduled",
        "retry_due",
        *_QUESTION_ENDS,
        *_STEPS,
        *_PARKING,
        *ENDS,
        *_SIGNS,
    }
)
"""Kinds of events that lanes read."""
BODIED = frozenset(
    {
        "engine_started",
        "engine_slept",
        "attempt_parked",
        "delegated",
        "call_rejoined",
        "strategy_switched",
        "supervisor_paused",
        "escalated",
        *_QUESTION_ENDS,
        *_STEPS,
        "run_submitted",
        "run_finished",
    }
)
"""Kinds of events whose body is needed."""


class _Body(msgspec.Struct):
    """The fields of bodies that are read."""

    parks: bool = True
    slept_ms: int = 0
    supervisor_id: str = ""
    subject: str = ""
    status: str = ""
    escalation_id: str = ""
    kind: str = ""
    why: str = ""
    what: str = ""
    duration_ms: int | None = None
    last_ms: int | None = None


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
    run_id: str = ""
    """Empty if it is open, or ended with its engine."""


class Lanes:
    """The lanes of all agents from a moment on, as far as the journal was read."""

    def __init__(self) -> None:
        self.seq = 0
        """Seq of the last event that was added."""
        self.first_ms = 0
        self.last_ms = 0
        """Times of the first and the last event."""
        self._alive_ms = 0
        """Time of the last record, of any kind: nothing was at work between it and the start of an engine."""
        self.ends_ms: int | None = None
        """End of a part of the history; None follows the newest event."""
        self._counter = AttemptCounter(FIRST_SLOT_MS, SLOTS)
        self.lanes, self.team = self._counter.lanes, self._counter.team
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
        self._runs: dict[str, str] = {}
        """Supervisor by open run."""
        self._removed_agents: dict[str, None] = {}
        self._busy: dict[str, tuple[tuple[str, ...], list[int]]] = {}
        """The agents of each team and what `busy_of` returned for them, without the newest slot, which still grows."""
        self._budget_question: str | None = None
        """The last open question about a budget: attempts that are set aside meanwhile wait for its answer."""

    @property
    def is_empty(self) -> bool:
        return not self.first_ms

    @property
    def slot_ms(self) -> int:
        return self._counter.slot_ms

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """The position and the length of each gap."""
        return list(zip(self._gap_at, self._gap_lengths, strict=True))

    @property
    def asked(self) -> Mapping[str, SlotCounts]:
        """The milliseconds for which a person was asked, by the member that waited."""
        return self._counter.asked

    def busy_of(self, team_id: str, agent_ids: tuple[str, ...]) -> list[int]:
        """Return the milliseconds in each slot for which the agents of a team were at work."""
        members, known = self._busy.get(team_id, (agent_ids, []))
        if members != agent_ids:
            known = []
        end = self.newest // self.slot_ms + 1
        counts = [self.lanes[an_id].busy.until(self.newest) for an_id in agent_ids if an_id in self.lanes]
        busy = [*known, *map(sum, zip(*(count[len(known) : end] for count in counts if count), strict=True))]
        self._busy[team_id] = agent_ids, busy[: end - 1]
        return busy

    def keep_questions(self, open_ids: Container[str]) -> None:
        """Close the questions that are not open in the state of the newest event."""
        self._counter.keep_questions(open_ids, self.newest)

    def part(self, begin: int, end: int | None) -> "Lanes":
        """Return empty lanes of a part, with the attempts that were open at its start; None as the end follows."""
        lanes = Lanes()
        lanes.first_ms = lanes.last_ms = lanes._alive_ms = self.moment(begin)
        lanes.ends_ms = None if end is None else self.moment(end)
        lanes.seqs[0] = self.seq_at(begin)
        slot = min(SLOTS - 1, begin // self.slot_ms)

        def count_at_begin(counts: SlotCounts) -> int:
            return sum(counts.until(self.newest)[slot : slot + 1])

        later_attempts = (attempt for attempt in self.spans if attempt.end > begin)
        for attempt in (*later_attempts, *self.open_attempts()):
            if attempt.begin < begin:
                lane = self.lanes.get(attempt.agent_id)
                waits = lane is not None and count_at_begin(lane.waited) > count_at_begin(lane.busy)
                lanes._counter.start(attempt.task_id, attempt.agent_id, 0, parked=waits)
        open_questions = chain.from_iterable(self._counter.questions.values())
        for question in (*self._counter.closed_questions, *open_questions):
            if question.began < begin and (question.end is None or question.end > begin):
                lanes._counter.ask(question.id, question.member_id, 0, run_id=question.run_id, is_held=question.is_held)
        return lanes

    def remembers(self, at: int) -> bool:
        """Return whether all attempts since a position are kept individually."""
        return len(self.spans) < MAX_ATTEMPTS or self.spans[0].end <= at

    def covers(self, at_ms: int) -> bool:
        """Return whether a moment is in the period of these lanes."""
        return self.first_ms <= at_ms and (self.ends_ms is None or at_ms <= self.ends_ms)

    def position_at(self, at_ms: int) -> int:
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
        """Add records in their order; before the start of an engine, also the record before it, of any kind."""
        for record in records:
            if record.seq < self.seq:
                continue
            is_new, alive_ms = record.seq > self.seq, self._alive_ms
            self.seq, self._alive_ms = record.seq, record.at_ms
            if not is_new or record.kind not in KINDS:
                continue
            if record.kind == "engine_started":
                if not self.first_ms:
                    continue  # an engine without work is not a history
                alive_ms = min(max(alive_ms, _body_of(record).last_ms or 0), record.at_ms)
                self.advance(alive_ms)
                self._cut_off(self.position_at(alive_ms))
            if not self.first_ms:
                self.first_ms = self.last_ms = record.at_ms
            self._pass_time(record.at_ms, has_engine=record.kind != "engine_started")
            at = self.newest
            slot = self._slot(at)
            if not self.seqs[slot]:
                self.seqs[slot] = record.seq
            self._count(record, at)

    def _pass_time(self, at_ms: int, *, has_engine: bool) -> None:
        idle_ms = at_ms - self.last_ms
        if idle_ms > GAP_MS and (self._counter.is_idle or not has_engine):
            folded = idle_ms - VISIBLE_GAP_MS
            self._gap_at.append(self.last_ms - self.first_ms - self._folded[-1] + VISIBLE_GAP_MS)
            self._gap_ends.append(at_ms)
            self._gap_lengths.append(folded)
            self._folded.append(self._folded[-1] + folded)
        self.last_ms = max(self.last_ms, at_ms)

    @property
    def newest(self) -> int:
        """Position of the newest event."""
        return self.last_ms - self.first_ms - self._folded[-1]

    def _slot(self, at: int) -> int:
        while at // self.slot_ms >= SLOTS:
            each = 5 if self.slot_ms < SLOT_MS else 2
            self._counter.merge(each)
            self._busy.clear()
            for slot in range(SLOTS):
                self.seqs[slot] = next(filter(None, self.seqs[each * slot : each * slot + each]), 0)
        return at // self.slot_ms

    def _count(self, record: Record, at: int) -> None:
        kind, task_id, agent_id, counter = record.kind, record.task_id or "", record.agent_id, self._counter
        if kind == "attempt_started":
            if agent_id is not None:
                counter.start(task_id, agent_id, at)
        elif kind in ENDS:
            if (attempt := counter.end(task_id, at)) is not None:
                self.spans.append(AttemptSpan(attempt.agent_id, task_id, attempt.started, at, record.run_id or ""))
            if agent_id is not None:
                self._count_end(kind, task_id, agent_id, at)
                if kind == "attempt_set_aside" and self._budget_question is not None:
                    counter.ask(self._budget_question, agent_id, at, run_id=record.run_id or "", is_held=True)
        elif kind == "attempt_resumed":
            counter.park(task_id, at, parked=False)
        elif kind in _PARKING:
            body = _body_of(record)
            if kind == "attempt_parked" or body.parks:
                counter.park(task_id, at, why=_WAITS.get(body.why, ""))
        elif kind in _STEPS:
            body = _body_of(record)
            if (step_kind := STEP_KINDS.get(body.what)) is not None:
                counter.take_step(task_id, step_kind, at - (body.duration_ms or 0), at)
        elif kind == "slot_wanted":
            counter.park(task_id, at, why="slot")
        elif kind == "retry_scheduled":
            counter.back_off(task_id, record.run_id or "", at)
        elif kind == "retry_due":
            counter.end_back_off(task_id, at)
        elif kind == "engine_slept":
            counter.skip(self.position_at(record.at_ms - _decode(record.body).slept_ms), at)
            self._busy.clear()
        elif kind == "agent_removed" and agent_id is not None:
            self._note_removed(agent_id)
        elif kind in _QUESTION_ENDS:
            self._close_question(_body_of(record).escalation_id, at)
        elif kind in _SIGNS:
            body = _body_of(record)
            subject = self._subject(record, body)
            self.marks.append(RareEvent(at, _sign(kind, body), subject, record.seq))
            if kind == "run_finished":
                counter.end_run(record.run_id or "", at)
            if kind == "escalated":
                counter.ask(body.escalation_id, subject, at, run_id=record.run_id or "")
                self._budget_question = body.escalation_id if body.kind == "budget" else self._budget_question

    def _count_end(self, kind: str, task_id: str, agent_id: str, at: int) -> None:
        for lane in (self._counter.lane_of(agent_id), self.team):
            if kind == "attempt_failed":
                lane.failed.add(at)
            elif kind == "attempt_done":
                lane.done.add(at)
        if kind in _FAILED:
            self._counter.note_failed(task_id, agent_id)

    def _close_question(self, question_id: str, at: int) -> None:
        self._counter.close_question(question_id, at)
        if question_id == self._budget_question:
            self._budget_question = None

    def _cut_off(self, at: int) -> None:
        self._busy.clear()
        for task_id, attempt in self._counter.cut_off(at).items():
            self.spans.append(AttemptSpan(attempt.agent_id, task_id, attempt.started, at))

    def _subject(self, record: Record, body: _Body) -> str:
        """Return the member in whose lane a mark belongs."""
        run_id, task_id = record.run_id or "", record.task_id or ""
        if record.kind == "run_submitted":
            self._runs[run_id] = body.supervisor_id
        if record.kind == "run_finished":
            return self._runs.pop(run_id, "")
        if record.kind == "escalated":
            return self._counter.asker_of(task_id) if task_id else self._runs.get(body.subject, body.subject)
        return record.agent_id or body.supervisor_id or body.subject

    def _note_removed(self, agent_id: str) -> None:
        self._removed_agents[agent_id] = None
        if len(self._removed_agents) > MAX_REMOVED:
            oldest = next(iter(self._removed_agents))
            del self._removed_agents[oldest]
            self.lanes.pop(oldest, None)

    def advance(self, now_ms: int) -> int:
        """Go on to a moment while something is at work or waits; return the newest position."""
        now_ms = now_ms if self.ends_ms is None else min(now_ms, self.ends_ms)
        if now_ms > self.last_ms and not self._counter.is_idle:
            self.last_ms = now_ms
        at = self.newest
        self._slot(at)
        return at

    def open_attempts(self) -> list[AttemptSpan]:
        """Return the open attempts, up to the newest position."""
        return [
            AttemptSpan(attempt.agent_id, task_id, attempt.started, self.newest)
            for task_id, attempt in self._counter.open.items()
        ]

    @property
    def open_task_ids(self) -> Collection[str]:
        """The tasks with an open attempt."""
        return self._counter.open.keys()

    def seq_at(self, at: int) -> int:
        """Return the seq of the first event in the slot of a position, or of an earlier slot; 0 before all events."""
        slot = min(SLOTS - 1, max(0, at // self.slot_ms))
        while slot >= 0 and not self.seqs[slot]:
            slot -= 1
        return self.seqs[slot] if slot >= 0 else 0


def _body_of(record: Record) -> _Body:
    return _decode(record.body) if record.body else _Body()


def _sign(kind: str, body: _Body) -> str:
    return "✕" if kind == "run_finished" and body.status != "done" else _SIGNS[kind]
