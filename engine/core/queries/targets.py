"""Resolves targets, for commands, the command line, the dashboard and Python.

`@a3` is always an id. `team/scout` is a member of `team`, `/chief` a root. A bare word is a name or an id, whichever
exists; a word that is the name of one object and the id of another is refused.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from engine.core.discovery.nearest import nearest
from engine.core.errors import (
    AmbiguousName,
    NoTeam,
    UnknownAgent,
    UnknownSpec,
    UnknownSupervisor,
    UnknownTarget,
    UnknownWork,
)
from engine.core.queries.team.tree import lineage_of, parent_id_of
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task

Member: TypeAlias = Agent | Supervisor
Work: TypeAlias = Run | Task | RunSummary
Id = TypeVar("Id", str, str | None)
_WORK_ID = re.compile(r"@?[rt]\d+")


def id_target(an_id: str) -> str:
    """Return the unambiguous target of an id."""
    return f"@{an_id}"


def id_in(target: str) -> str:
    """Return the id in the target of a run, a task or a question, with or without an `@` before it."""
    return target.removeprefix("@")


def find_agent(state: State, target: str, *, under: Supervisor | None = None) -> Agent:
    """Return the agent that `target` names; with `under`, one of that supervisor's own agents.

    Raises:
        UnknownAgent: If there is none.
        AmbiguousName: If `target` may mean several objects.
    """
    agent = _single_candidate(state, target, _matching_members(state, target, under), Agent)
    if isinstance(agent, Agent):
        return agent
    names = (agent.name for agent in state.agents.values() if _is_under(agent, under))
    raise UnknownAgent(target, _similar_names(target, names))


def find_supervisor(state: State, target: str | None, *, under: Supervisor | None = None) -> Supervisor:
    """Return the supervisor that `target` names; None names the first root. With `under`, one of its own teams.

    Raises:
        NoTeam: If there is no supervisor at all.
        UnknownSupervisor: If there is none of that name or id.
        AmbiguousName: If `target` may mean several objects.
    """
    if target is None:
        roots = state.roots
        if not roots:
            raise NoTeam
        return roots[0]
    supervisor = _single_candidate(state, target, _matching_members(state, target, under), Supervisor)
    if isinstance(supervisor, Supervisor):
        return supervisor
    names = (supervisor.name for supervisor in state.supervisors.values())
    raise UnknownSupervisor(target, _similar_names(target, names))


def find_member(state: State, target: str, *, under: Supervisor | None = None) -> Member:
    """Return the agent or the supervisor that `target` names; with `under`, one of that supervisor's own members.

    Raises:
        UnknownAgent: If there is neither.
        AmbiguousName: If `target` may mean several objects.
    """
    member = _single_candidate(state, target, _matching_members(state, target, under), Agent, Supervisor)
    if isinstance(member, Agent | Supervisor):
        return member
    raise UnknownAgent(target, _similar_names(target, (member.name for member in _members(state))))


def find_work(state: State, target: str) -> Work:
    """Return the open run, its task, or the finished run with an id, also after an `@`; raises UnknownWork."""
    work = _work(state, id_in(target))
    if work is None:
        raise UnknownWork(target)
    return work


def find_task(state: State, target: str) -> Task:
    """Return the task of an open run with an id, with or without `@`; raises UnknownWork if none has it."""
    task = state.tasks.get(id_in(target))
    if task is None:
        raise UnknownWork(target)
    return task


def find_any(state: State, target: str, *, under: Supervisor | None = None) -> Member | Work:
    """Return the member, the run or the task that `target` names; with `under`, only its own are members.

    Raises:
        UnknownTarget: If it names nothing; UnknownWork for the id of a run or a task.
        AmbiguousName: If `target` may mean several objects.
    """
    work = _work(state, id_in(target))
    candidates: list[Member | Work] = [*_matching_members(state, target, under), *([work] if work is not None else [])]
    only_candidate = _single_candidate(state, target, candidates, Agent, Supervisor, Run, Task, RunSummary)
    if only_candidate is not None:
        return only_candidate
    if _WORK_ID.fullmatch(target):
        raise UnknownWork(target)
    raise UnknownTarget(target, _similar_names(target, (member.name for member in _members(state))))


def member_name(state: State, member_id: str) -> str:
    """Return the name of an agent or a supervisor."""
    return member_with(state, member_id).name


def name_of(state: State, member_id: Id) -> Id:
    """Return the name of an agent or a supervisor; of a removed one the id, if it never worked. None for None."""
    member = state.agents.get(member_id or "") or state.supervisors.get(member_id or "")
    if member is not None:
        return member.name
    spending = state.spending.get(member_id or "")
    return member_id if spending is None else spending.name or member_id


def member_with(state: State, member_id: str) -> Member:
    """Return the agent or supervisor with an id, which must exist."""
    return state.agents.get(member_id) or state.supervisors[member_id]


def find_spec(state: State, name: str) -> AgentSpec:
    """Return the newest spec of a name in the registry; raises UnknownSpec if there is none."""
    if name not in state.registry:
        raise UnknownSpec(name, nearest(name, state.registry))
    return state.specs[state.registry[name]]


def shortest_targets(state: State) -> dict[str, str]:
    """Return the shortest unambiguous target of each member, by its id."""
    names = Counter(member.name for member in _members(state))
    paths = Counter(_path(state, member) for member in _members(state))
    ids = {*state.agents, *state.supervisors, *state.runs, *state.tasks, *(run.id for run in state.finished)}
    targets: dict[str, str] = {}
    for member in _members(state):
        path = _path(state, member)
        if paths[path] > 1:
            targets[member.id] = id_target(member.id)
        elif names[member.name] > 1 or (member.name in ids and member.name != member.id):
            targets[member.id] = path
        else:
            targets[member.id] = member.name
    return targets


def shortest_target(state: State, member_id: str) -> str:
    """Return the shortest unambiguous target of a member; its id if it has been removed."""
    return shortest_targets(state).get(member_id, id_target(member_id))


def _matching_members(state: State, target: str, under: Supervisor | None = None) -> list[Member]:
    """Return all members whose id, name or path equals `target`."""
    an_id = id_in(target)
    by_id = state.agents.get(an_id) or state.supervisors.get(an_id)
    members = [by_id] if by_id is not None and _is_under(by_id, under) else []
    if target.startswith("@"):
        return members
    names = target.split("/")[::-1]
    namesakes = (member for member in _members(state) if member.name == names[0] and member is not by_id)
    return members + [member for member in namesakes if _is_under(member, under) and _has_path(state, member, names)]


def _single_candidate(
    state: State, target: str, candidates: Sequence[Member | Work], *kinds: type
) -> Member | Work | None:
    """Return the only object of these kinds; refuse if there are several, or if `target` is also an id."""
    eligible = [candidate for candidate in candidates if isinstance(candidate, kinds)]
    if len(eligible) > 1 or (len(candidates) > 1 and any(candidate.id == target for candidate in candidates)):
        raise AmbiguousName(target, [_describe_candidate(state, target, candidate) for candidate in candidates])
    return eligible[0] if eligible else None


def _describe_candidate(state: State, target: str, candidate: Member | Work) -> str:
    """Return an unambiguous target of an object, followed by its path or id."""
    if not isinstance(candidate, Agent | Supervisor):
        return id_target(candidate.id)
    word = shortest_target(state, candidate.id)
    if candidate.id == target or word == id_target(candidate.id):
        return f"{id_target(candidate.id)} ({_path(state, candidate)})"
    return f"{word} ({id_target(candidate.id)})"


def _work(state: State, an_id: str) -> Work | None:
    open_work: Work | None = state.runs.get(an_id) or state.tasks.get(an_id)
    return open_work or state.summary(an_id)


def _members(state: State) -> Iterator[Member]:
    yield from state.agents.values()
    yield from state.supervisors.values()


def _is_under(member: Member, under: Supervisor | None) -> bool:
    return under is None or under.id == parent_id_of(member)


def _has_path(state: State, member: Member, names: Sequence[str]) -> bool:
    """Return whether the names from `member` upwards begin with `names`; the name above a root is empty."""
    return list(islice(_names_upwards(state, member), len(names))) == list(names)


def _names_upwards(state: State, member: Member) -> Iterator[str]:
    if isinstance(member, Agent):
        yield member.name
        member = state.supervisors[member.supervisor_id]
    yield from (supervisor.name for supervisor in lineage_of(state, member))
    yield ""


def _path(state: State, member: Member) -> str:
    """Return `supervisor/name`, or `/name` for a root."""
    name, parent_name = islice(_names_upwards(state, member), 2)
    return f"{parent_name}/{name}"


def _similar_names(target: str, names: Iterable[str]) -> Iterable[str]:
    """Return the names most similar to a target; none for an id."""
    return () if target.startswith("@") else nearest(target.rpartition("/")[2].removeprefix("@"), names)
