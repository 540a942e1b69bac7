"""Resolves targets, for commands, the command line, the dashboard and Python.

`@a3` is always an id. `team/scout` is a member of `team`, `/chief` a root. A bare word is a name or an id, whichever
exists; a word that is the name of one object and the id of another is refused.
"""

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
from engine.core.queries.team.tree import above_of, parent_id_of
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Run, RunSummary, State, Supervisor, Task

Member: TypeAlias = Agent | Supervisor
Work: TypeAlias = Run | Task | RunSummary
Id = TypeVar("Id", str, str | None)


def at(an_id: str) -> str:
    """Return the unambiguous target of an id."""
    return f"@{an_id}"


def id_in(target: str) -> str:
    """Return the id that the target of a run, a task or a question is; an `@` before it is allowed."""
    return target.removeprefix("@")


def find_agent(state: State, target: str, *, under: Supervisor | None = None) -> Agent:
    """Return the agent that `target` names; with `under`, one of that supervisor's own agents.

    Raises:
        UnknownAgent: If there is none.
        AmbiguousName: If `target` may mean several objects.
    """
    found = _only(state, target, _members_meant(state, target, under), Agent)
    if isinstance(found, Agent):
        return found
    known = (one.name for one in state.agents.values() if _is_under(one, under))
    raise UnknownAgent(target, _near(target, known))


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
    found = _only(state, target, _members_meant(state, target, under), Supervisor)
    if isinstance(found, Supervisor):
        return found
    raise UnknownSupervisor(target, _near(target, (one.name for one in state.supervisors.values())))


def find_member(state: State, target: str, *, under: Supervisor | None = None) -> Member:
    """Return the agent or the supervisor that `target` names; with `under`, one of that supervisor's own members.

    Raises:
        UnknownAgent: If there is neither.
        AmbiguousName: If `target` may mean several objects.
    """
    found = _only(state, target, _members_meant(state, target, under), Agent, Supervisor)
    if isinstance(found, Agent | Supervisor):
        return found
    raise UnknownAgent(target, _near(target, (one.name for one in _members(state))))


def find_work(state: State, target: str) -> Work:
    """Return the open run, its task, or the finished run with the id in `target`; an `@` before it is allowed.

    Raises:
        UnknownWork: If there is none.
    """
    found = _work(state, id_in(target))
    if found is None:
        raise UnknownWork(target)
    return found


def find_task(state: State, target: str) -> Task:
    """Return the task of an open run with the id in `target`; an `@` before it is allowed.

    Raises:
        UnknownWork: If there is none.
    """
    found = state.tasks.get(id_in(target))
    if found is None:
        raise UnknownWork(target)
    return found


def find_any(state: State, target: str, *, under: Supervisor | None = None) -> Member | Work:
    """Return the member, the run or the task that `target` names; with `under`, only its own are members.

    Raises:
        UnknownTarget: If it names nothing.
        AmbiguousName: If `target` may mean several objects.
    """
    work = _work(state, id_in(target))
    meant: list[Member | Work] = [*_members_meant(state, target, under), *([work] if work is not None else [])]
    found = _only(state, target, meant, Agent, Supervisor, Run, Task, RunSummary)
    if found is not None:
        return found
    raise UnknownTarget(target, _near(target, (one.name for one in _members(state))))


def member_name(state: State, member_id: str) -> str:
    """Return the name of an agent or a supervisor."""
    return member_with(state, member_id).name


def name_of(state: State, member_id: Id) -> Id:
    """Return the name of an agent or a supervisor; its id where it has left the team, None of none."""
    member = state.agents.get(member_id or "") or state.supervisors.get(member_id or "")
    return member.name if member is not None else member_id


def member_with(state: State, member_id: str) -> Member:
    """Return the agent or supervisor with an id, which must exist."""
    return state.agents.get(member_id) or state.supervisors[member_id]


def find_spec(state: State, name: str) -> AgentSpec:
    """Return the newest spec of a name in the registry.

    Raises:
        UnknownSpec: If there is none.
    """
    if name not in state.registry:
        raise UnknownSpec(name, nearest(name, state.registry))
    return state.specs[state.registry[name]]


def words(state: State) -> dict[str, str]:
    """Return the shortest unambiguous target of each member, by its id."""
    names = Counter(one.name for one in _members(state))
    paths = Counter(_path(state, one) for one in _members(state))
    ids = {*state.agents, *state.supervisors, *state.runs, *state.tasks, *(run.id for run in state.finished)}
    found: dict[str, str] = {}
    for one in _members(state):
        path = _path(state, one)
        if paths[path] > 1:
            found[one.id] = at(one.id)
        elif names[one.name] > 1 or (one.name in ids and one.name != one.id):
            found[one.id] = path
        else:
            found[one.id] = one.name
    return found


def word_for(state: State, member_id: str) -> str:
    """Return the shortest unambiguous target of a member; its id if it has been removed."""
    return words(state).get(member_id, at(member_id))


def _members_meant(state: State, target: str, under: Supervisor | None = None) -> list[Member]:
    """Return all members whose id, name or path equals `target`."""
    an_id = id_in(target)
    same = state.agents.get(an_id) or state.supervisors.get(an_id)
    found = [same] if same is not None and _is_under(same, under) else []
    if target.startswith("@"):
        return found
    names = target.split("/")[::-1]
    for one in _members(state):
        if one.name == names[0] and one is not same and _is_under(one, under) and _is_called(state, one, names):
            found.append(one)
    return found


def _only(state: State, target: str, meant: Sequence[Member | Work], *kinds: type) -> Member | Work | None:
    """Return the only object of these kinds; refuse if there are several, or if `target` is also an id."""
    fitting = [one for one in meant if isinstance(one, kinds)]
    if len(fitting) > 1 or (len(meant) > 1 and any(one.id == target for one in meant)):
        raise AmbiguousName(target, [_both_ways(state, target, one) for one in meant])
    return fitting[0] if fitting else None


def _both_ways(state: State, target: str, one: Member | Work) -> str:
    """Return an unambiguous target of an object, with another description of it."""
    if not isinstance(one, Agent | Supervisor):
        return at(one.id)
    word = word_for(state, one.id)
    if one.id == target or word == at(one.id):
        return f"{at(one.id)} ({_path(state, one)})"
    return f"{word} ({at(one.id)})"


def _work(state: State, an_id: str) -> Work | None:
    open_work: Work | None = state.runs.get(an_id) or state.tasks.get(an_id)
    return open_work or state.summary(an_id)


def _members(state: State) -> Iterator[Member]:
    yield from state.agents.values()
    yield from state.supervisors.values()


def _is_under(one: Member, under: Supervisor | None) -> bool:
    return under is None or under.id == parent_id_of(one)


def _is_called(state: State, one: Member, names: Sequence[str]) -> bool:
    """Return whether the names from `one` upwards begin with `names`; above a root stands the empty name."""
    return list(islice(_upwards(state, one), len(names))) == list(names)


def _upwards(state: State, one: Member) -> Iterator[str]:
    if isinstance(one, Agent):
        yield one.name
        one = state.supervisors[one.supervisor_id]
    yield from (above.name for above in above_of(state, one))
    yield ""


def _path(state: State, one: Member) -> str:
    """Return `supervisor/name`, or `/name` for a root."""
    name, above = islice(_upwards(state, one), 2)
    return f"{above}/{name}"


def _near(target: str, names: Iterable[str]) -> Iterable[str]:
    """Return the names that may have been meant; an id is like no name."""
    return () if target.startswith("@") else nearest(target.rpartition("/")[2].removeprefix("@"), names)
