"""The target of an action: the object under the cursor, or one that was named."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dashboard.views.words.amounts import pluralize
from engine.core.errors import AmbiguousName, Refused, UnknownTarget, UnknownWork
from engine.core.queries.targets import find_any, id_target
from engine.core.queries.team.tree import lineage_of
from engine.core.queries.work.reach import work_of
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task

Kind = Literal["agent", "supervisor", "task", "run"]


@dataclass(frozen=True, slots=True)
class Target:
    """An object with its id and its name."""

    kind: Kind
    id: str
    name: str

    @property
    def label(self) -> str:
        """Kind and name."""
        return f"{self.kind} {self.name}"

    @property
    def title(self) -> str:
        """Kind and name for the title of a dialog; free text is quoted."""
        return self.label if self.kind in ("agent", "supervisor") else f"{self.kind} “{self.name}”"

    @property
    def reference(self) -> str:
        """Its id as commands and `:` lines take it."""
        return id_target(self.id)


def target_of(state: State, key: str | None) -> Target | None:
    """Return the object of a row's key; None if the state does not have it."""
    if key is None:
        return None
    if (agent := state.agents.get(key)) is not None:
        return Target("agent", key, agent.name)
    if (supervisor := state.supervisors.get(key)) is not None:
        return Target("supervisor", key, supervisor.name)
    if (task := state.tasks.get(key)) is not None:
        return Target("task", key, task.title)
    run = state.runs.get(key) or state.summary(key)
    return Target("run", key, run.title) if run is not None else None


Find = Callable[[State, str], Agent | Supervisor | Run | Task | RunSummary]
"""One of the finders of `engine.core.queries.targets`."""


def find_target(state: State, word: str, find: Find = find_any) -> Target:
    """Return the object that a word names, as a command that uses `find` resolves it.

    Falls back to objects of another kind, so that the user can be told what the word names.

    Raises:
        Refused: If it names no object, or several, as the command would be.
    """
    try:
        entity = find(state, word)
    except AmbiguousName:
        raise
    except Refused as refused:
        try:
            entity = find_any(state, word)
        except (UnknownTarget, UnknownWork):
            raise refused from None
    target = target_of(state, entity.id)
    assert target is not None
    return target


def look_up_id(
    find: Callable[[State, str], Agent | Supervisor], state: State, word: str | None
) -> tuple[str | None, str]:
    """Return the id of the member that a word names, or why there is none; neither if there is no word."""
    try:
        return (find(state, word).id, "") if word is not None else (None, "")
    except Refused as refused:
        return None, refused.reason


def is_in_trouble(state: State, member_id: str) -> bool:
    """Return whether a member has an error or an open circuit; resuming it checks it again."""
    agent, supervisor = state.agents.get(member_id), state.supervisors.get(member_id)
    if agent is not None:
        return agent.error is not None or agent.circuit != "closed"
    return supervisor is not None and supervisor.error is not None


def agent_behind(state: State, target: Target | None) -> str | None:
    """Return the agent that a target is, the one that works on it, or the agent that leads it."""
    if target is None:
        return None
    if target.kind == "agent":
        return target.id
    if target.kind == "supervisor":
        supervisor = state.supervisors[target.id]
        members = (state.agents[member_id] for member_id in supervisor.members if member_id in state.agents)
        return next((agent.id for agent in members if agent.name == supervisor.options.lead), None)
    task = state.tasks.get(target.id)
    worker = (task.agent_id or task.worker_id) if task is not None else None
    return worker if worker in state.agents else None


def supervisor_behind(state: State, target: Target | None) -> str | None:
    """Return the supervisor that a target is or belongs to; the first root where nothing is selected."""
    if target is not None and target.kind == "supervisor":
        return target.id
    if target is not None and target.kind == "agent":
        return state.agents[target.id].supervisor_id
    if target is not None and target.kind == "task":
        return state.tasks[target.id].supervisor_id
    if target is not None and (run := state.runs.get(target.id)) is not None:
        return run.supervisor_id
    return state.roots[0].id if state.roots else None


def receiver(state: State, target: Target | None) -> str | None:
    """Return the supervisor for a request: the one under the cursor, else the root above the target."""
    supervisor_id = supervisor_behind(state, target)
    if target is not None and target.kind == "supervisor":
        return supervisor_id
    return None if supervisor_id is None else [*lineage_of(state, state.supervisors[supervisor_id])][-1].id


def describe_work(agent: Agent, state: State) -> str:
    """Describe the work of an agent: under way, begun and set aside, and waiting for it alone."""
    work = work_of(state, agent)
    at_work = [task for task in work if task.attempt is not None]
    set_aside = sum(task.attempt is None and task.attempts > 0 for task in work)
    first = f" ({at_work[0].title})" if at_work else ""
    under_way = f"{pluralize(len(at_work), 'attempt')} under way{first}" if at_work else "nothing under way"
    begun = f", {set_aside} begun and set aside" if set_aside else ""
    return f"{under_way}{begun}, {pluralize(len(work) - len(at_work) - set_aside, 'task')} waiting"
