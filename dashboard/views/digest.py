"""What is counted once over the whole state, for every row of a look."""

from collections import Counter
from dataclasses import dataclass, field

from engine.core.state import State, Task, TaskStatus
from engine.core.waiting import Waits


@dataclass(slots=True)
class Digest:
    """What is counted once, so that no row walks through the state."""

    waiting_of: Counter[str] = field(default_factory=Counter)
    """Ready tasks by agent (its own queue) and by supervisor (all its queues)."""
    waiting: int = 0
    """Ready tasks in all queues."""
    retrying_of: dict[str, list[Task]] = field(default_factory=dict)
    """Tasks in back-off by the agent that tried last."""
    planned_for: dict[str, Task] = field(default_factory=dict)
    """A task of an open graph that is for this worker and has to wait for others."""
    done_of: Counter[str] = field(default_factory=Counter)
    """Attempts that ended well, by supervisor, all below it included."""
    failed_of: Counter[str] = field(default_factory=Counter)
    busy_of: Counter[str] = field(default_factory=Counter)
    """Agents at work by supervisor, all below it included."""
    agents_of: Counter[str] = field(default_factory=Counter)
    errors_of: Counter[str] = field(default_factory=Counter)
    working: bool = True
    """Whether an engine is at work; without one nothing that is under way goes on."""
    _waits: Waits | None = None

    def waits(self, state: State) -> Waits:
        """Return what tells why tasks wait; made when first asked, for this look."""
        if self._waits is None:
            self._waits = Waits(state)
        return self._waits


def digest(state: State, *, working: bool = True) -> Digest:
    """Count what the rows of one look need; `working` tells whether an engine is at work on the team."""
    out = Digest(working=working)
    for queue in state.queues.values():
        length = len(queue.ready)
        if length:
            out.waiting += length
            out.waiting_of[queue.supervisor_id] += length
            if len(queue.agents) == 1:
                out.waiting_of[queue.agents[0]] += length
    _teams(state, out)
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


def _teams(state: State, out: Digest) -> None:
    above: dict[str, list[str]] = {}
    for agent in state.agents.values():
        chain = above.get(agent.supervisor_id)
        if chain is None:
            chain = above[agent.supervisor_id] = _chain(state, agent.supervisor_id)
        busy = bool(agent.running or agent.parked)
        broken = agent.error is not None
        for supervisor_id in chain:
            out.agents_of[supervisor_id] += 1
            out.done_of[supervisor_id] += agent.done
            out.failed_of[supervisor_id] += agent.failed
            out.busy_of[supervisor_id] += busy
            out.errors_of[supervisor_id] += broken


def _chain(state: State, supervisor_id: str) -> list[str]:
    chain: list[str] = []
    at: str | None = supervisor_id
    while at is not None and at in state.supervisors and at not in chain:
        chain.append(at)
        at = state.supervisors[at].parent_id
    return chain


def needs_person(state: State) -> list[str]:
    """Ids of what a person has to look at: questions, agents in error, teams and tasks that failed or are in doubt.

    Questions come first, the one that is answered by itself first at the head.
    """
    failed, in_doubt = TaskStatus.FAILED, TaskStatus.IN_DOUBT
    asked = sorted(state.escalations.values(), key=lambda one: (one.due_ms is None, one.due_ms or 0))
    broken = [agent.id for agent in state.agents.values() if agent.error is not None]
    broken += [supervisor.id for supervisor in state.supervisors.values() if supervisor.error is not None]
    return [
        *(one.id for one in asked),
        *broken,
        *(
            task.id
            for task in state.tasks.values()
            if (task.status is failed or (task.status is in_doubt and task.escalation_id is None))
            and task.kind == "agent"
        ),
    ]
