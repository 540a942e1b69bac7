"""Independent bookkeeping of round-robin turns, slots reserved for urgent tasks, and activity of agents."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.core import events
from engine.core.events import Event
from engine.simulation.ledger import ENDS
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.work import Job, JobLedger

_RETURN_EVENTS = (events.AttemptLost, events.AttemptPreempted, events.AttemptSetAside, events.ItemReturned)
"""Events after which a task returns to its earlier place in the queue."""
Place: TypeAlias = tuple[str | None, int, str]
"""A queue, a priority and a run: the ready tasks of one place take turns with those of other runs."""


@dataclass(slots=True)
class Turn:
    """The ready tasks of one place."""

    served_ms: int | None
    """Time of the last turn of this place, 0 before the first one; None if it is unknown whether that turn counts."""
    tasks: dict[str, int | None] = field(default_factory=dict)
    """The tasks with the time since when each waits; None if that is unknown."""

    @property
    def since_ms(self) -> int | None:
        """When their wait began: when the first became ready, or at the last turn; None if that is unknown."""
        known_starts_ms = [start_ms for start_ms in self.tasks.values() if start_ms is not None]
        is_known = self.served_ms is not None and len(known_starts_ms) == len(self.tasks)
        return max(self.served_ms or 0, min(known_starts_ms)) if is_known else None


class TurnLedger:
    """Ready tasks by queue, priority and run, with their waiting times."""

    def __init__(self) -> None:
        self.preempted_for: dict[str, str] = {}
        """The urgent task for which each attempt is being preempted, by the task of the attempt."""
        self.preempting_ids: set[str] = set()
        """Urgent tasks that have not begun, and for which an attempt is being preempted."""
        self.reserved_ids: set[str] = set()
        """Urgent tasks for which a slot became free in this step; it is reserved for them, whoever was ready before."""
        self.turns: dict[Place, Turn] = {}
        """Turns by queue, priority and run."""
        self._places: dict[str, Place] = {}
        """The place of each ready task."""
        self._since_ms: dict[str, int] = {}
        """When each task began to wait only for a slot, for the first time; pauses do not interrupt the wait."""
        self._first_places: dict[str, Place] = {}
        """The place of each task when it first waited only for a slot, paused or not."""
        self._last_turns: dict[Place, tuple[int | None, str]] = {}
        """Time and task of the last turn of each place."""
        self._last_entries: dict[str, tuple[Place, int | None]] = {}
        """The place where each task was last ready, and since when it waited there."""
        self._earlier_ready_ids: set[str] = set()
        """Tasks that were ready or moved before; if they return, their place in the queue is not tracked here."""
        self.began_seq: dict[str, int] = {}
        """Seq of the last attempt that each agent started."""
        self.touched_seq: dict[str, int] = {}
        """Seq of the last event about each agent, which may have changed its place among the free agents."""
        self.idle_ms: dict[str, int] = {}
        """Time when the last attempt of each agent ended, or when it was added."""

    def take(self, event: Event, seq: int, team: TeamLedger) -> None:
        """Apply an event to the order; the other ledgers have not applied it yet."""
        for agent_id in _mentioned_ids(event, team):
            self.touched_seq[agent_id] = seq
        if isinstance(event, (*ENDS, events.AgentAdded)) and event.agent_id is not None:
            self.idle_ms[event.agent_id] = event.at_ms
        match event:
            case events.AttemptStarted(agent_id=str()):
                self.began_seq[event.agent_id or ""] = seq
                self.reserved_ids.discard(event.task_id)
                self.preempting_ids.discard(event.task_id)
            case events.PreemptionAsked():
                self.preempted_for[event.task_id] = event.for_task_id
                self.preempting_ids.add(event.for_task_id)
            case _ if isinstance(event, ENDS) and event.task_id in self.preempted_for:
                urgent = self.preempted_for.pop(event.task_id)
                self.reserved_ids.add(urgent)
                self.preempting_ids.discard(urgent)

    def follow(self, event: Any, work: JobLedger) -> None:
        """Update which tasks are ready, after the work ledger has applied the event."""
        run_id = getattr(event, "run_id", None)
        if isinstance(event, _RETURN_EVENTS) and event.task_id in work.jobs:
            self._give_back(work.jobs[event.task_id])
        entering: dict[str, Place] = {}
        for task_id in event.dropped if isinstance(event, events.ItemReturned) else ():
            if task_id in self._places:
                self._leave(task_id, self._places[task_id], event)
        for run in [work.runs[run_id]] if run_id in work.runs else work.runs.values():
            for job in (work.jobs[task_id] for task_id in run.tasks):
                place = (job.queue, job.priority, job.run_id)
                if work.waits_for_nothing(job):
                    self._since_ms.setdefault(job.id, event.at_ms)
                    if self._first_places.setdefault(job.id, place) != place:
                        self._earlier_ready_ids.add(job.id)
                elif job.id in self._since_ms and not work.are_ended(job.after):
                    # While it was paused, another strategy put it behind other tasks again.
                    del self._since_ms[job.id], self._first_places[job.id]
                now = place if work.is_ready(job) else None
                was = self._places.get(job.id)
                if was is not None and was != now:
                    self._leave(job.id, was, event)
                if now is not None and was != now:
                    entering[job.id] = now
        for task_id, place in entering.items():
            self._enter(task_id, place, event)

    def _give_back(self, job: Job) -> None:
        """Undo the turn of a task that returns to its place."""
        place = job.queue, job.priority, job.run_id
        if self._last_turns.get(place, (0, ""))[1] == job.id:
            self._last_turns[place] = (0, "")
            if place in self.turns:
                self.turns[place].served_ms = 0

    def _enter(self, task_id: str, place: Place, event: Any) -> None:
        self._places[task_id] = place
        previous_place, since_ms = self._last_entries.get(task_id, (place, None))
        is_return = isinstance(event, _RETURN_EVENTS) and previous_place == place
        if task_id not in self._earlier_ready_ids:
            since_ms = self._since_ms[task_id]
        elif not is_return:
            since_ms = None
        served_ms, served = self._last_turns.get(place, (0, ""))
        if served == task_id:  # whether its turn counts is not followed here
            served_ms = None
            self._last_turns[place] = (None, task_id)
        turn = self.turns.setdefault(place, Turn(served_ms))
        turn.served_ms = served_ms
        turn.tasks[task_id] = since_ms
        self._last_entries[task_id] = (place, since_ms)
        self._earlier_ready_ids.add(task_id)

    def _leave(self, task_id: str, place: Place, event: Any) -> None:
        del self._places[task_id]
        turn = self.turns[place]
        del turn.tasks[task_id]
        if isinstance(event, events.AttemptStarted | events.ItemTaken):
            turn.served_ms = event.at_ms
            self._last_turns[place] = (event.at_ms, task_id)
        if not turn.tasks:
            del self.turns[place]


def _mentioned_ids(event: Any, team: TeamLedger) -> list[str]:
    if isinstance(event, events.EngineStarted | events.QueueMade):
        return [*team.agents]
    names = ("agent_id", "subject", "member_id", "to_id", "from_id")
    ids = [getattr(event, name, None) for name in names]
    return [agent_id for agent_id in (*ids, *getattr(event, "agent_ids", ())) if agent_id is not None]
