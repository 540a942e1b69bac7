"""Counters over the whole state, computed once per redraw."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar

from dashboard.views.measures.queues import waiting_of
from engine.core.queries.people.needs import needs_person
from engine.core.queries.team.figures import is_busy
from engine.core.queries.team.tree import lineage_of
from engine.core.state import Agent, State, Task, TaskStatus

T = TypeVar("T")


@dataclass(slots=True)
class Digest:
    """Counters that rows share, so that no row iterates over the state."""

    waiting_of: Counter[str] = field(default_factory=Counter)
    """Ready tasks by agent (its own queue) and by supervisor (all its queues)."""
    waiting: int = 0
    """Ready tasks in all queues."""
    retrying_of: dict[str, list[Task]] = field(default_factory=dict)
    """Tasks in back-off by the agent that tried last."""
    planned_for: dict[str, Task] = field(default_factory=dict)
    """By worker, a task of an open graph that is planned for it and waits for others."""
    busy_of: Counter[str] = field(default_factory=Counter)
    """Busy agents by supervisor, including everything below it."""
    open_of: Counter[str] = field(default_factory=Counter)
    """Agents with an open attempt, also one that waits, or without a free slot; as `busy_of`."""
    agents_of: Counter[str] = field(default_factory=Counter)
    errors_of: Counter[str] = field(default_factory=Counter)
    stuck_in: dict[str, Agent] = field(default_factory=dict)
    """By supervisor, an agent whose slots are all held by code of ended attempts."""
    needs_person: list[str] = field(default_factory=list)
    """As `needs_person` returns it."""
    working: bool = True
    """Whether an engine is at work; without one, open attempts make no progress."""
    seq: int = 0
    """Seq of the counted state."""
    _answers: dict[Callable[[State], Any], Any] = field(default_factory=dict)

    def compute_once(self, ask: Callable[[State], T], state: State) -> T:
        """Return a value computed from the counted state; cached by function."""
        if ask not in self._answers:
            self._answers[ask] = ask(state)
        answer: T = self._answers[ask]
        return answer


def make_digest(state: State, *, working: bool = True) -> Digest:
    """Count for one redraw; `working` says whether an engine works on the team."""
    out = Digest(working=working, seq=state.seq, needs_person=needs_person(state), waiting_of=waiting_of(state))
    out.waiting = sum(queue.ready for queue in state.queues.values())
    _sum_teams(state, out)
    for timer in state.timers.values():
        task = state.tasks.get(timer.subject)
        if task is not None and task.agent_id is not None and task.status is TaskStatus.RETRYING:
            out.retrying_of.setdefault(task.agent_id, []).append(task)
    for run in state.runs.values():
        for child_id in state.tasks[run.root_id].children if run.root_id in state.tasks else ():
            task = state.tasks[child_id]
            if task.worker_id is not None and task.blockers and task.status is TaskStatus.WAITING:
                out.planned_for.setdefault(task.worker_id, task)
    return out


def _sum_teams(state: State, out: Digest) -> None:
    """Count the agents of each supervisor, and add the counts to all supervisors above it."""
    own = {supervisor_id: [0, 0, 0, 0] for supervisor_id in state.supervisors}
    for agent in state.agents.values():
        sums = own.get(agent.supervisor_id)
        if sums is not None:
            sums[0] += 1
            if is_busy(agent):
                sums[1] += 1
            if agent.is_stuck:
                out.stuck_in.setdefault(agent.supervisor_id, agent)
            if agent.error is not None:
                sums[2] += 1
            if agent.running or agent.parked or agent.is_stuck:
                sums[3] += 1
    whole = {supervisor_id: [*sums] for supervisor_id, sums in own.items()}
    for supervisor_id, sums in own.items():
        for ancestor in islice(lineage_of(state, state.supervisors[supervisor_id]), 1, None):
            into = whole[ancestor.id]
            for index, count in enumerate(sums):
                into[index] += count
    counters = (out.agents_of, out.busy_of, out.errors_of, out.open_of)
    for index, counter in enumerate(counters):
        counter.update({supervisor_id: sums[index] for supervisor_id, sums in whole.items()})
