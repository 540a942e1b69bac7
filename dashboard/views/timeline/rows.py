"""The rows of a timeline: supervisors with their members below them, then agents that have left the team."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from types import MappingProxyType
from typing import NamedTuple

from dashboard.views.drawing.rows import matches
from dashboard.views.timeline.lanes import AttemptSpan
from dashboard.views.words.filters import FilterFields, parse_partial_filter
from dashboard.views.words.glyphs import ACTIVITY
from dashboard.views.words.roles import name_with_role
from engine.core.activities import ActivityKind
from engine.core.queries.work.labels import labels_by_run
from engine.core.state import Agent, State, Supervisor


class LaneRow(NamedTuple):
    """A lane."""

    id: str
    name: str
    depth: int
    members: tuple[str, ...] = ()
    """All agents below a supervisor; empty for an agent."""
    is_folded: bool = False
    """Whether the members of a supervisor share its lane."""


def rows_of(
    state: State,
    worked: Collection[str],
    *,
    names: Callable[[str], str],
    needle: str,
    available: int,
    folded: Set[str] = frozenset(),
    kind_of: Callable[[Agent], ActivityKind] | None = None,
    labels: Mapping[str, Sequence[Mapping[str, str]]] = MappingProxyType({}),
) -> list[LaneRow]:
    """Return the rows in declared order.

    Args:
        worked: Agents that have been at work; if not all rows fit, only those have one.
        names: Returns the name of an id, also of an agent that has left.
        needle: The filter; with one, no team is folded.
        available: Available lines.
        folded: Supervisors whose members share their lane.
        kind_of: Returns what an agent does, for the filter.
        labels: Labels of the runs that each agent worked on, for the filter.
    """
    crowded = len(state.agents) + len(state.supervisors) > available
    out: list[LaneRow] = []

    def list_agents_below(supervisor: Supervisor) -> tuple[str, ...]:
        agent_ids: list[str] = []
        for member in supervisor.members:
            if member in state.agents:
                agent_ids.append(member)
            elif (lower := state.supervisors.get(member)) is not None:
                agent_ids += list_agents_below(lower)
        return tuple(agent_ids)

    def add(supervisor: Supervisor, inner_needle: str) -> None:
        place = len(out)
        is_folded = not needle and supervisor.id in folded
        name = f"+{supervisor.name}" if is_folded else supervisor.name
        out.append(LaneRow(supervisor.id, name, 0, list_agents_below(supervisor), is_folded))
        if is_folded:
            return
        inner_needle = "" if matches(inner_needle, supervisor.name, supervisor=supervisor.name) else inner_needle
        lower = []
        for member in supervisor.members:
            if (agent := state.agents.get(member)) is not None:
                kind = "" if kind_of is None else kind_of(agent)
                states = (agent.status.value, kind, ACTIVITY[kind].word if kind else "")
                if (not crowded or member in worked) and any(
                    _matches_row(inner_needle, agent.name, supervisor.name, status, labels.get(agent.id, ()))
                    for status in states
                ):
                    out.append(LaneRow(agent.id, name_with_role(state, agent), 1))
            elif (child := state.supervisors.get(member)) is not None:
                lower.append(child)
        for child in lower:
            add(child, inner_needle)
        if inner_needle and len(out) == place + 1:
            out.pop()

    for root in state.roots:
        add(root, needle)
    removed_ids = [agent_id for agent_id in worked if agent_id not in state.agents]
    for agent_id in removed_ids[:200]:
        name = names(agent_id)
        if _matches_row(needle, name, "", "gone", labels.get(agent_id, ())):
            out.append(LaneRow(agent_id, name, 1))
    return out


def _matches_row(needle: str, name: str, supervisor: str, status: str, labels: Sequence[Mapping[str, str]]) -> bool:
    values = {"agent": name, "supervisor": supervisor, "status": status}
    return not needle or bool(
        parse_partial_filter(needle).apply([FilterFields((name,), values, labels)], lambda row: row)
    )


def labels_by_agent(state: State, attempts: Iterable[AttemptSpan]) -> dict[str, list[Mapping[str, str]]]:
    """Return the labels of the runs that each agent worked on, as far as attempts and runs are remembered."""
    labels = labels_by_run(state)
    runs: dict[str, dict[str, None]] = {}
    for attempt in attempts:
        task = state.tasks.get(attempt.task_id)
        run_id = attempt.run_id if task is None else task.run_id
        if run_id in labels:
            runs.setdefault(attempt.agent_id, {})[run_id] = None
    return {agent_id: [labels[run_id] for run_id in run_ids] for agent_id, run_ids in runs.items()}
