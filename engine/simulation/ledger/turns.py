"""Round-robin turns, slots that are promised to urgent tasks, and when each agent last began or ended something."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from engine.core import events
from engine.core.events import Event
from engine.simulation.ledger import ENDS
from engine.simulation.ledger.team import TeamLedger
from engine.simulation.ledger.work import Job, WorkBook

_GIVES_BACK = (events.AttemptLost, events.AttemptPreempted, events.AttemptSetAside, events.ItemReturned)
"""A task goes back to its place."""
Place: TypeAlias = tuple[str | None, int, str]
"""A queue, a priority and a run: ready tasks of the same place take turns with those of other runs."""


@dataclass(slots=True)
class Turn:
    """The ready tasks of one place."""

    served_ms: int | None
    """When it was the turn of this place last, 0 before the first; None where it is not known whether that counts."""
    tasks: dict[str, int | None] = field(default_factory=dict)
    """With since when each waits; None where that is not known."""

    @property
    def since_ms(self) -> int | None:
        """Since when they wait: since the first became ready, or since the last turn; None where that is not known."""
        known = [one for one in self.tasks.values() if one is not None]
        is_known = self.served_ms is not None and len(known) == len(self.tasks)
        return max(self.served_ms or 0, min(known)) if is_known else None


class TurnLedger:
    """Ready tasks by queue, priority and run, with since when they wait."""

    def __init__(self) -> None:
        self.makes_way: dict[str, str] = {}
        """For which urgent task each attempt at work was asked to make way, by its task."""
        self.taking: set[str] = set()
        """Urgent tasks that have not begun since an attempt was asked to make way for them, which is still at work."""
        self.given: set[str] = set()
        """Urgent tasks whose slot is free in this very step: it is theirs, before what was ready earlier."""
        self.turns: dict[Place, Turn] = {}
        """Of each run in each queue at each priority."""
        self._places: dict[str, Place] = {}
        """Where each ready task waits."""
        self._since_ms: dict[str, int] = {}
        """Since when each task waits for nothing but a slot, from the first time on; a pause does not count."""
        self._first: dict[str, Place] = {}
        """Where each task was when it waited for nothing but a slot for the first time, paused or not."""
        self._served: dict[Place, tuple[int | None, str]] = {}
        """When it was the turn of each place last, and of which task."""
        self._entered: dict[str, tuple[Place, int | None]] = {}
        """Where each task was ready last, and since when it waited there."""
        self._seen: set[str] = set()
        """Tasks that were ready once, or are elsewhere since: what comes back has a place that is not followed here."""
        self.began_seq: dict[str, int] = {}
        """Where each agent began something last."""
        self.touched_seq: dict[str, int] = {}
        """Where each agent was mentioned last: its place among the free ones may be another since."""
        self.idle_ms: dict[str, int] = {}
        """When an attempt of each agent ended last, or when the agent was added."""

    def take(self, event: Event, seq: int, team: TeamLedger) -> None:
        """Note what an event means for the order; the other parts have not taken it yet."""
        for agent_id in _mentioned(event, team):
            self.touched_seq[agent_id] = seq
        if isinstance(event, (*ENDS, events.AgentAdded)) and event.agent_id is not None:
            self.idle_ms[event.agent_id] = event.at_ms
        match event:
            case events.AttemptStarted(agent_id=str()):
                self.began_seq[event.agent_id or ""] = seq
                self.given.discard(event.task_id)
                self.taking.discard(event.task_id)
            case events.PreemptionAsked():
                self.makes_way[event.task_id] = event.for_task_id
                self.taking.add(event.for_task_id)
            case _ if isinstance(event, ENDS) and event.task_id in self.makes_way:
                urgent = self.makes_way.pop(event.task_id)
                self.given.add(urgent)
                self.taking.discard(urgent)

    def follow(self, event: Any, work: WorkBook) -> None:
        """Note which tasks have become ready or are no longer; the ledger of work has taken the event."""
        run_id = getattr(event, "run_id", None)
        if isinstance(event, _GIVES_BACK) and event.task_id in work.jobs:
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
                    if self._first.setdefault(job.id, place) != place:
                        self._seen.add(job.id)
                now = place if work.is_ready(job) else None
                was = self._places.get(job.id)
                if was is not None and was != now:
                    self._leave(job.id, was, event)
                if now is not None and was != now:
                    entering[job.id] = now
        for task_id, place in entering.items():
            self._enter(task_id, place, event)

    def _give_back(self, job: Job) -> None:
        """Undo the turn of a task that goes back to its place."""
        place = job.queue, job.priority, job.run_id
        if self._served.get(place, (0, ""))[1] == job.id:
            self._served[place] = (0, "")
            if place in self.turns:
                self.turns[place].served_ms = 0

    def _enter(self, task_id: str, place: Place, event: Any) -> None:
        self._places[task_id] = place
        was_there, since_ms = self._entered.get(task_id, (place, None))
        comes_back = isinstance(event, _GIVES_BACK) and was_there == place
        if task_id not in self._seen:
            since_ms = self._since_ms[task_id]
        elif not comes_back:
            since_ms = None
        served_ms, served = self._served.get(place, (0, ""))
        if served == task_id:  # whether its turn counts is not followed here
            served_ms = None
            self._served[place] = (None, task_id)
        turn = self.turns.setdefault(place, Turn(served_ms))
        turn.served_ms = served_ms
        turn.tasks[task_id] = since_ms
        self._entered[task_id] = (place, since_ms)
        self._seen.add(task_id)

    def _leave(self, task_id: str, place: Place, event: Any) -> None:
        del self._places[task_id]
        turn = self.turns[place]
        del turn.tasks[task_id]
        if isinstance(event, events.AttemptStarted | events.ItemTaken):
            turn.served_ms = event.at_ms
            self._served[place] = (event.at_ms, task_id)
        if not turn.tasks:
            del self.turns[place]


def _mentioned(event: Any, team: TeamLedger) -> list[str]:
    if isinstance(event, events.EngineStarted | events.QueueMade):
        return [*team.agents]
    names = ("agent_id", "subject", "member_id", "to_id", "from_id")
    found = [getattr(event, name, None) for name in names]
    return [one for one in (*found, *getattr(event, "agent_ids", ())) if one is not None]
