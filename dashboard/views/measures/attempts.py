"""The counter of attempts over time: how long agents were at work and waited in each slot, folded from their events.

`Activity` counts the newest minutes with it, `Lanes` a whole journal.
"""

from array import array
from collections import deque
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from operator import add

_MAX_COUNT = {"I": 2**32 - 1, "Q": 2**64 - 1}
"""Bound of a count by type of array, which only wrong times or absurd usage exceed."""

_MAX_FAILED = 200
"""Last failed attempts whose agents are kept, for questions, which follow the end of an attempt."""
_MAX_QUESTIONS = 1_000
"""Closed questions that are kept."""
_NEVER = -(2**62)
_NOTHING = array("I")


def parts_of(begin: int, end: int, slot_ms: int) -> Sequence[tuple[int, int]]:
    """Return each slot that a period covers, and the milliseconds of the period in it."""
    first, last = begin // slot_ms, end // slot_ms
    if begin >= end:
        return ()
    if first == last:
        return ((first, end - begin),)
    whole = [(slot, slot_ms) for slot in range(first + 1, last)] if last > first + 1 else ()
    return [(first, (first + 1) * slot_ms - begin), *whole, (last, end - last * slot_ms)]


class SlotCounts:
    """A counter by slot of time: of things that happen, or of the milliseconds of things that last.

    Time under way is counted in advance to the end of the newest slot, and in whole slots as new ones begin, so that
    the cost of a change does not depend on the time since the last one. The newest slots are kept; a history that keeps
    all merges its slots before they are more.
    """

    __slots__ = ("_end", "_head", "_slots", "_typecode", "level", "slot_ms", "values")

    def __init__(self, slot_ms: int, slots: int, typecode: str = "I") -> None:
        self.slot_ms = slot_ms
        self._slots, self._typecode = slots, typecode
        self._head = self._end = _NEVER
        """Number of the newest slot, and its end."""
        self.level = 0
        """Number of things that last."""
        self.values = _NOTHING
        """The count of each slot, at its number modulo the length; allocated on demand."""

    def add(self, at: int, count: int = 1) -> None:
        """Add a count at a moment; a time before the oldest slot is left out."""
        if at >= self._end:
            self._begin(at // self.slot_ms)
        if (slot := at // self.slot_ms) > self._head - self._slots:
            try:
                self.values[slot % self._slots] += count
            except OverflowError:
                self._add(slot, count)

    def change(self, at: int, by: int) -> None:
        """Change the number of things that last, from a moment on."""
        if at >= self._end:
            self._begin(at // self.slot_ms)
        elif at < (begun := self._end - self.slot_ms):
            self.spread(at, begun, by)
            at = begun
        self.level += by
        try:
            self.values[self._head % self._slots] += by * (self._end - at)
        except OverflowError:
            self._add(self._head, by * (self._end - at))

    def spread(self, begin: int, end: int, by: int = 1) -> None:
        """Add the time of a number of things between two moments; time before the oldest slot is left out."""
        if end >= self._end:
            self._begin(end // self.slot_ms)
        for slot, part_ms in parts_of(max(begin, self._end - self._slots * self.slot_ms), end, self.slot_ms):
            self._add(slot, by * part_ms)

    def _add(self, slot: int, count: int) -> None:
        """Add to the count of a slot, within bounds; wrong times also lead below 0."""
        place = slot % self._slots
        self.values[place] = min(max(0, self.values[place] + count), _MAX_COUNT[self._typecode])

    def _begin(self, slot: int) -> None:
        """Begin the slots up to `slot`, in place of the oldest ones."""
        values, slots, since = self.values, self._slots, self._head + 1
        if not values:
            values = self.values = array(self._typecode, [0]) * slots
        self._head, self._end = slot, (slot + 1) * self.slot_ms
        each = self.level * self.slot_ms
        if not each and slot < slots:
            return  # slots of a history, which are 0 before they begin
        if each > _MAX_COUNT["I"]:
            each = min(each, _MAX_COUNT[self._typecode])
        if slot - since < 2:  # the usual case, without an array
            for place in range(since, slot + 1):
                values[place % slots] = each
            return
        since = max(since, slot - slots + 1)
        first, last = since % slots, slot % slots + 1
        if first < last:
            values[first:last] = array(self._typecode, [each]) * (last - first)
        else:
            values[first:] = array(self._typecode, [each]) * (slots - first)
            values[:last] = array(self._typecode, [each]) * last

    def sums(self, now: int, samples: int, each: int, *, until: int | None = None) -> list[int]:
        """Return the sums of samples of `each` slots, the oldest first; the newest one is incomplete.

        Samples are aligned to the clock, so that a bar keeps its shape while it moves. What lasts is counted up to
        `until`, if that is before now.
        """
        slot_ms, slots, head = self.slot_ms, self._slots, self._head
        end = (now // slot_ms // each + 1) * each
        begin = end - samples * each
        oldest, newest = max(begin, head - slots + 1), min(end, head + 1)
        if oldest < newest:
            first, last = oldest % slots, (newest - 1) % slots + 1
            values = self.values[first:last] if first < last else self.values[first:] + self.values[:last]
            counts = [*[0] * (oldest - begin), *values, *[0] * (end - newest)]
            sums = [sum(counts[place : place + each]) for place in range(0, len(counts), each)]
        else:
            sums = [0] * samples
        if self.level:
            length, first = each * slot_ms, begin // each
            counted = now if until is None else min(now, until)
            for place in range(max(0, head // each - first), samples):
                start = (first + place) * length
                under_way = min(counted, start + length) - max(self._end, start)
                sums[place] = max(0, sums[place] + self.level * under_way)
        return sums

    def until(self, now: int) -> "array[int]":
        """Return the count of each slot, with what lasts counted up to now; only if no slot was dropped."""
        if not self.level:
            return self.values
        if now >= self._end:
            self._begin(now // self.slot_ms)
        values = self.values[:]
        values[self._head] -= min(values[self._head], self.level * (self._end - now))
        return values

    def merge(self, each: int) -> None:
        """Merge every `each` slots into one; only if no slot was dropped."""
        self.slot_ms *= each
        if not self.values:
            return
        padded = self.values + array(self._typecode, [0]) * (-self._slots % each)
        merged = [*padded[::each]]
        for place in range(1, each):
            # Adding slot by slot takes half a second for a thousand lanes.
            merged = [*map(add, merged, padded[place::each])]
        if max(merged) > (bound := _MAX_COUNT[self._typecode]):
            merged = [min(bound, count) for count in merged]
        self.values = array(self._typecode, [*merged, *[0] * (self._slots - len(merged))])
        counted = self._end
        self._head //= each
        self._end = (self._head + 1) * self.slot_ms
        self._add(self._head, self.level * (self._end - counted))


class Lane:
    """The counters of one agent, or of all together."""

    __slots__ = ("busy", "done", "failed", "steps", "waited", "waits")

    def __init__(self, slot_ms: int, slots: int, typecode: str = "I") -> None:
        self.busy, self.waited = SlotCounts(slot_ms, slots, typecode), SlotCounts(slot_ms, slots, typecode)
        """Milliseconds of attempts that hold a slot, and of parked ones, which wait for delegated tasks or a person."""
        self.done, self.failed = SlotCounts(slot_ms, slots), SlotCounts(slot_ms, slots)
        """Attempts that ended well, and that failed."""
        self.waits: dict[str, SlotCounts] = {}
        """Milliseconds of parked attempts, of back-offs, and of work that a budget holds, by what they waited for;
        without delegated work.
        """
        self.steps: dict[str, SlotCounts] = {}
        """The part of `busy` that models and tools took."""


@dataclass(slots=True)
class OpenAttempt:
    """An attempt of an agent that has not ended."""

    agent_id: str
    lane: Lane
    started: int
    parked: bool
    why: str = ""
    """While parked: what it waits for; empty for delegated work."""
    counted: int = 0
    """The end of its last step, or when it went on."""


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question to a person, for one of the members that wait for the answer."""

    id: str
    member_id: str
    began: int
    run_id: str = ""
    is_held: bool = False
    """Whether the member is an agent whose work a budget holds until the answer."""
    end: int | None = None


class AttemptCounter:
    """The lanes of all agents; each attempt counts for its agent, and for the team."""

    def __init__(self, slot_ms: int, slots: int) -> None:
        self.slot_ms = slot_ms
        self._slots = slots
        self.team = Lane(slot_ms, slots, "Q")
        self.lanes: dict[str, Lane] = {}
        """By agent."""
        self.open: dict[str, OpenAttempt] = {}
        """By task."""
        self.asked: dict[str, SlotCounts] = {}
        """By member: the milliseconds for which questions were open, whose answers it waited for."""
        self.questions: dict[str, list[OpenQuestion]] = {}
        """Open questions by id, with each member that waits."""
        self.closed_questions: deque[OpenQuestion] = deque(maxlen=_MAX_QUESTIONS)
        self._failed_on: dict[str, str] = {}
        """Agents of the last failed attempts, by task."""
        self._backing_off: dict[str, tuple[str, SlotCounts]] = {}
        """Back-offs by task: the run, and the counts of the agent that waits."""

    def lane_of(self, agent_id: str) -> Lane:
        """Return the lane of an agent, a new one before its first attempt."""
        lane = self.lanes.get(agent_id)
        if lane is None:
            lane = self.lanes[agent_id] = Lane(self.slot_ms, self._slots)
        return lane

    def start(self, task_id: str, agent_id: str, at: int, *, parked: bool = False) -> None:
        self.open[task_id] = attempt = OpenAttempt(agent_id, self.lane_of(agent_id), at, parked, counted=at)
        self._change(attempt, at, 1)

    def park(self, task_id: str, at: int, *, parked: bool = True, why: str = "") -> None:
        """Park an open attempt, or let it go on; or note that it waits for something else."""
        attempt = self.open.get(task_id)
        if attempt is not None and (attempt.parked is not parked or attempt.why != why):
            self._change(attempt, at, -1)
            attempt.parked, attempt.why, attempt.counted = parked, why, at
            self._change(attempt, at, 1)

    def take_step(self, task_id: str, kind: str, begin: int, at: int) -> None:
        """Give a step that ends the time since it began, less what earlier steps and waits took."""
        attempt = self.open.get(task_id)
        if attempt is not None and not attempt.parked and (begin := max(begin, attempt.counted)) < at:
            attempt.counted = at
            self._counts_in(attempt.lane.steps, kind).spread(begin, at)

    def back_off(self, task_id: str, run_id: str, at: int) -> None:
        """Count that the agent that failed at a task waits for the next try."""
        agent_id = self._failed_on.get(task_id)
        if agent_id is not None and task_id not in self._backing_off:
            counts = self._counts_in(self.lane_of(agent_id).waits, "backoff")
            self._backing_off[task_id] = (run_id, counts)
            counts.change(at, 1)

    def end_back_off(self, task_id: str, at: int) -> None:
        """Count that a back-off is over."""
        _, counts = self._backing_off.pop(task_id, (None, None))
        if counts is not None:
            counts.change(at, -1)

    def _counts_in(self, counts_by_key: dict[str, SlotCounts], key: str) -> SlotCounts:
        counts = counts_by_key.get(key)
        if counts is None:
            counts = counts_by_key[key] = SlotCounts(self.slot_ms, self._slots)
        return counts

    @property
    def is_idle(self) -> bool:
        """Whether nothing is at work, and nothing waits for anybody."""
        is_open = self.team.busy.level or self.team.waited.level or self.questions or self._backing_off
        return not is_open

    def end(self, task_id: str, at: int) -> OpenAttempt | None:
        """End an open attempt and return it; None if there is none."""
        attempt = self.open.pop(task_id, None)
        if attempt is not None:
            self._change(attempt, at, -1)
        return attempt

    def _change(self, attempt: OpenAttempt, at: int, by: int) -> None:
        for lane in (attempt.lane, self.team):
            (lane.waited if attempt.parked else lane.busy).change(at, by)
        if attempt.parked and attempt.why:
            self._counts_in(attempt.lane.waits, attempt.why).change(at, by)

    def note_failed(self, task_id: str, agent_id: str) -> None:
        """Note who failed at a task: a question may follow."""
        self._failed_on[task_id] = agent_id
        if len(self._failed_on) > _MAX_FAILED:
            del self._failed_on[next(iter(self._failed_on))]

    def asker_of(self, subject: str) -> str:
        """Return the agent that works on a task, or failed at it; for another subject of a question, the subject."""
        attempt = self.open.get(subject)
        return attempt.agent_id if attempt is not None else self._failed_on.get(subject, subject)

    def ask(self, question_id: str, member_id: str, at: int, *, run_id: str = "", is_held: bool = False) -> None:
        """Count that a member waits for the answer of a question."""
        waits = self.questions.setdefault(question_id, [])
        if all(wait.member_id != member_id for wait in waits):
            waits.append(question := OpenQuestion(question_id, member_id, at, run_id, is_held))
            self._change_question(question, at, 1)

    def _change_question(self, question: OpenQuestion, at: int, by: int) -> None:
        self._asked_of(question.member_id).change(at, by)
        if question.is_held and question.member_id in self.lanes:
            self._counts_in(self.lanes[question.member_id].waits, "budget").change(at, by)

    def _asked_of(self, member_id: str) -> SlotCounts:
        counts = self.asked.get(member_id)
        if counts is None:
            counts = self.asked[member_id] = SlotCounts(self.slot_ms, self._slots, "Q")
        return counts

    def close_question(self, question_id: str, at: int) -> None:
        """Count that nobody waits for the answer of a question any more."""
        for wait in self.questions.pop(question_id, ()):
            self._change_question(wait, at, -1)
            self.closed_questions.append(replace(wait, end=at))

    def keep_questions(self, open_ids: Container[str], at: int) -> None:
        """Close the questions that are not open in the state: many are withdrawn by what happened to their subject."""
        for question_id in [known_id for known_id in self.questions if known_id not in open_ids]:
            self.close_question(question_id, at)

    def end_run(self, run_id: str, at: int) -> None:
        """Count that nothing waits any more for a run: what is cancelled with it has no other end."""
        for task_id in [task_id for task_id, (owner_id, _) in self._backing_off.items() if owner_id == run_id]:
            self.end_back_off(task_id, at)
        for question_id in [an_id for an_id, waits in self.questions.items() if run_id and waits[0].run_id == run_id]:
            self.close_question(question_id, at)

    def cut_off(self, at: int) -> dict[str, OpenAttempt]:
        """End the running attempts with their engine, and return them by task: nothing is at work without one."""
        running = {task_id: attempt for task_id, attempt in self.open.items() if not attempt.parked}
        for task_id in running:
            self.end(task_id, at)
        return running

    def skip(self, begin: int, end: int) -> None:
        """Leave out a period in which the computer slept: nothing was at work."""
        for lane in (*self.lanes.values(), self.team):
            if level := lane.busy.level:
                lane.busy.change(begin, -level)
                lane.busy.change(end, level)

    def merge(self, each: int) -> None:
        """Merge every `each` slots into one."""
        self.slot_ms *= each
        for lane in (self.team, *self.lanes.values()):
            for counts in (lane.busy, lane.waited, lane.done, lane.failed, *lane.waits.values(), *lane.steps.values()):
                counts.merge(each)
        for counts in self.asked.values():
            counts.merge(each)
