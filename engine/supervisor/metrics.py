"""Metrics of a team for programs: a view of each agent, and the totals of a supervisor.

Pure functions of the state. A share of fewer than `MIN_OUTCOMES` attempts is NaN, so that no comparison with it holds.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from engine.core.discovery.candidate import category_stem
from engine.core.discovery.words import phrase_key
from engine.core.errors import did_you_mean
from engine.core.queries.money.recent import RecentFigures, recent_of
from engine.core.queries.team.figures import is_busy, median, success_share
from engine.core.queries.team.tree import subtree_of
from engine.core.records.records import copy_with
from engine.core.records.values import NO_USAGE, Usage
from engine.core.specs.spec import AgentCapability, AgentSpec
from engine.core.state import Agent, AgentStatus, EndedTask, State, Supervisor, TrackRecord
from engine.supervisor.registry import capability_of

_RATE_SUFFIX = "_success_rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveAgent:
    """An agent at one moment."""

    id: str
    name: str
    status: AgentStatus
    generation: int
    """1 for its first spec; each swap adds one."""
    spec: AgentSpec
    capability: AgentCapability
    tasks: int
    """Attempts that ended, well or not."""
    success_rate: float
    """Share of its attempts that ended well, 0 to 1; NaN below 10 attempts."""
    error_count: int
    p50_ms: float
    """Median time at work of its last attempts that ended well, in milliseconds; NaN before the first."""
    current_task: str | None
    """Id of the task that it has worked on for longest."""
    error: str | None
    """Why it cannot work, such as an exhausted budget (its status is `paused` then); None while it can."""
    track_record: dict[str, TrackRecord]
    """Outcomes and usage of its attempts by category of the request; "" without a category."""
    last_tasks: tuple[EndedTask, ...]
    """The last ten ended tasks that it worked on last, the newest first."""


def agent_view(agent: Agent, spec: AgentSpec) -> ActiveAgent:
    """Return the view of an agent; `spec` is that of its current generation."""
    rate = share(agent.done, agent.failed)
    return ActiveAgent(
        id=agent.id,
        name=agent.name,
        status=agent.status,
        generation=agent.generation,
        spec=spec,
        capability=capability_of(spec, agent.name, None if math.isnan(rate) else rate),
        tasks=agent.done + agent.failed + agent.cancelled,
        success_rate=rate,
        error_count=agent.failed,
        p50_ms=median_ms(agent.at_work_ms),
        current_task=next(iter(agent.running), next(iter(agent.parked), None)),
        error=agent.error or agent.exhausted,
        track_record={
            category: copy_with(record, usage=record.usage.plus(NO_USAGE))
            for category, record in agent.track_record.items()
        },
        last_tasks=(*reversed(agent.last_tasks),),
    )


def share(done: int, failed: int) -> float:
    """Return the share of attempts that ended well, 0 to 1; NaN below `MIN_OUTCOMES`."""
    rate = success_share(done, failed)
    return math.nan if rate is None else rate


def median_ms(times_ms: Iterable[int]) -> float:
    """Return the median, in milliseconds; NaN without samples."""
    middle_ms = median([*times_ms])
    return math.nan if middle_ms is None else float(middle_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorMetrics:
    """Metrics of a supervisor with everything under it.

    In addition to the fields there is `<specialty>_success_rate` for every specialty and category, such as
    `research_success_rate` or `machine_learning_success_rate`: NaN if no agent has it, and below 10 attempts.
    """

    agents: int
    busy: int
    """Agents at work, with an attempt that holds a slot."""
    tasks_done: int
    """Attempts of the present agents that ended well."""
    tasks_failed: int
    success_rate: float
    """Share of attempts that ended well, 0 to 1; NaN below 10."""
    p50_ms: float
    """Median time at work of the last attempts that ended well, in milliseconds; NaN before the first."""
    runs_open: int
    usage: Usage
    """Usage of everything under it, that of agents that have left too."""
    last_5m: RecentFigures
    """Figures of the 5 minutes before the last event, agents that have left included."""
    last_1h: RecentFigures
    """The same of the last hour."""
    by_specialty: dict[str, tuple[int, int]]
    """Attempts that ended well and that failed, by the stems of a specialty or category."""

    def __getattr__(self, name: str) -> float:
        """Return the success rate of a specialty."""
        if name.startswith("_") or not name.endswith(_RATE_SUFFIX):
            metric_names = [*self.__slots__, *(f"{key.replace(' ', '_')}{_RATE_SUFFIX}" for key in self.by_specialty)]
            hint = did_you_mean(get_close_matches(name, metric_names, n=1), ", ".join(metric_names))
            raise AttributeError(f"no metric {name!r}; {hint}")
        specialty = name.removesuffix(_RATE_SUFFIX)
        return share(*self.by_specialty.get(phrase_key(specialty), (0, 0)))


def metrics_of(state: State, supervisor: Supervisor) -> SupervisorMetrics:
    """Return the metrics of `supervisor` with everything under it."""
    below = {descendant.id for descendant in subtree_of(state, supervisor)}
    agents = [agent for agent in state.agents.values() if agent.supervisor_id in below]
    done, failed = sum(agent.done for agent in agents), sum(agent.failed for agent in agents)
    recent = recent_of(state, "supervisor", supervisor.id, state.at_ms)
    return SupervisorMetrics(
        agents=len(agents),
        busy=sum(map(is_busy, agents)),
        tasks_done=done,
        tasks_failed=failed,
        success_rate=share(done, failed),
        p50_ms=median_ms(time_ms for agent in agents for time_ms in agent.at_work_ms),
        runs_open=sum(run.supervisor_id in below for run in state.runs.values()),
        usage=supervisor.usage.plus(NO_USAGE),
        last_5m=recent.last_5m,
        last_1h=recent.last_1h,
        by_specialty=_count_by_specialty(state, agents),
    )


def _count_by_specialty(state: State, agents: Iterable[Agent]) -> dict[str, tuple[int, int]]:
    counts: dict[str, tuple[int, int]] = {}
    for agent in agents:
        spec = state.spec_of(agent)
        specialties = [*spec.specialties, *([spec.category] if spec.category else ())]
        for key in {*map(phrase_key, specialties), *map(category_stem, specialties)}:
            done, failed = counts.get(key, (0, 0))
            counts[key] = (done + agent.done, failed + agent.failed)
    return counts
