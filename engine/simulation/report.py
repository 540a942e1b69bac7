"""Figures of many histories: work and waiting times of a team, failures, and the first broken law."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import ceil
from random import Random

from engine.core.commands import COMMAND_KINDS, Order, SupervisorSpec
from engine.core.decide import decide
from engine.core.decisions.decision_context import DecisionContext
from engine.core.events import (
    AgentAdded,
    AttemptFailed,
    AttemptStarted,
    CommandApplied,
    CommandRefused,
    Event,
    RunFinished,
    TaskFailed,
)
from engine.core.queries.team.code import grants_for_own_program
from engine.core.records.values import preview
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.simulation.faults import FAULTS
from engine.simulation.history import run_history
from engine.simulation.model_agents import with_models
from engine.simulation.operators import command_weights
from engine.simulation.plan import HistoryResult, Plan, draw_plan
from engine.simulation.shrinking import shrink_history
from engine.simulation.teams import draw_team, load_command, to_simulated, with_budgets

REMOVED = "was removed and no other agent"
OVER_TIME = "took longer than its time limit"
CUT_OFF_PREFIXES = ("deadline of", "budget of")


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of failed tasks of one agent."""

    agent: str
    kind: str
    """`time limit`, `removed`, `deadline or budget`, or the class of the exception."""
    example: str
    """The error of one of them."""
    tried: int
    """Most attempts of such a task before it failed."""

    @property
    def advice(self) -> str:
        """A suggestion of what to change in the team."""
        if self.kind == "removed":
            return "give a second agent one of its specialties"
        if self.kind == "deadline or budget":
            return "raise the limit, or let more agents share the work"
        if self.kind == "time limit":
            return f"raise timeout_s of {self.agent}, or give it on_failure: [{{retry: 2}}]"
        if self.tried <= 1:
            return f"give {self.agent} on_failure: [{{retry: 2}}]"
        return f"let {self.agent} go on after its retries: failover, escalate or skip"


def causes_in(events: Iterable[Event]) -> Counter[Cause]:
    """Return the number of failed tasks by cause."""
    tasks_by_cause: dict[tuple[str, str], list[tuple[str, int]]] = {}
    names: dict[str, str] = {}
    last_failures: dict[str, AttemptFailed] = {}
    workers: dict[str, str] = {}
    for event in events:
        if isinstance(event, AgentAdded):
            names[event.agent_id] = event.name
        elif isinstance(event, AttemptStarted):
            workers[event.task_id] = names.get(event.agent_id or "", "")
        elif isinstance(event, AttemptFailed):
            last_failures[event.task_id] = event
        elif isinstance(event, TaskFailed):
            failure = last_failures.get(event.task_id)
            removed_agent = event.error.partition(" ")[0] if REMOVED in event.error else "the team"
            agent = workers.get(event.task_id) or removed_agent
            tried = failure.attempt if failure is not None else 0
            tasks_by_cause.setdefault((agent, _kind(event.error, failure)), []).append(
                (preview(event.error, 80), tried)
            )
    return Counter(
        {
            Cause(agent, kind, tasks[0][0], max(tried for _, tried in tasks)): len(tasks)
            for (agent, kind), tasks in tasks_by_cause.items()
        }
    )


def _kind(error: str, failed: AttemptFailed | None) -> str:
    if REMOVED in error:
        return "removed"
    if error.startswith(CUT_OFF_PREFIXES):
        return "deadline or budget"
    if error.startswith(OVER_TIME):
        return "time limit"
    return failed.error_type if failed is not None else "not begun"


HOURS = 6.0
MODEL_TEAM_SHARE = 0.3
"""Share of the histories of drawn teams in which half of the agents are model agents."""
BUDGET_TEAM_SHARE = 0.15
"""Share of drawn teams with budgets that are small for their work."""
STARVED_MS = 6 * 3_600_000
"""A task that could have begun and waited for longer than this counts as starved."""


@dataclass(slots=True)
class SimulationReport:
    """The figures of many histories."""

    seeds: int = 0
    hours: float = 0.0
    """Simulated hours."""
    wall_s: float = 0.0
    events: int = 0
    engines: int = 0
    """Starts of engines: one for each seed, and one after each crash and stop."""
    commands: int = 0
    refused: int = 0
    """Refused commands, without rows of unknown kinds in the inbox."""
    refusals: Counter[str] = field(default_factory=Counter)
    """Refused commands by type."""
    runs: Counter[str] = field(default_factory=Counter)
    """Runs by outcome."""
    tasks: Counter[str] = field(default_factory=Counter)
    """Agent tasks of finished runs, by outcome."""
    attempts: int = 0
    retries: int = 0
    mishaps: Counter[str] = field(default_factory=Counter)
    """Number of attempts by mishap."""
    faults: Counter[str] = field(default_factory=Counter)
    """Faults around the team, such as a killed engine, by name."""
    failures: dict[tuple[str, str], tuple[Cause, int]] = field(default_factory=dict)
    """Causes of failed agent tasks with their numbers, by agent and kind."""
    waits_ms: dict[str, list[int]] = field(default_factory=dict)
    """Waiting times of attempts since their tasks were ready, by agent."""
    workers: Counter[str] = field(default_factory=Counter)
    """Attempts begun, by agent."""
    unused: list[str] = field(default_factory=list)
    """Agents that never got work."""
    starved: int = 0
    """Tasks that waited longer than `STARVED_MS`."""
    blocked_tasks: Counter[str] = field(default_factory=Counter)
    """Permanently blocked tasks by reason."""
    counterexample: HistoryResult | None = None
    """The shortest history found that breaks a law; the first seed that breaks one ends the simulation."""

    @property
    def accepted(self) -> float:
        """Share of the commands that were applied; 1 without any."""
        return 1 - self.refused / self.commands if self.commands else 1.0

    @property
    def bottlenecks(self) -> list[tuple[str, int]]:
        """Agents with the total waiting time of their work, the longest first."""
        sums = ((name, sum(waits)) for name, waits in self.waits_ms.items())
        return sorted((agent_wait for agent_wait in sums if agent_wait[1]), key=lambda agent_wait: -agent_wait[1])

    def wait_ms(self, share: float, agent: str | None = None) -> int:
        """Return the quantile `share` of all waits, or of those for one agent; 0 without any."""
        chosen = self.waits_ms.values() if agent is None else [self.waits_ms.get(agent, [])]
        ordered = sorted(wait for waits in chosen for wait in waits)
        return ordered[ceil(share * len(ordered)) - 1] if ordered else 0

    def add(self, result: HistoryResult) -> None:
        """Count one history."""
        ledger = result.ledger
        self.seeds += 1
        self.hours += result.hours
        self.events += len(result.events)
        self.engines += result.engines
        refusals = [event.command for event in result.events if isinstance(event, CommandRefused)]
        self.refusals.update(kind for kind in refusals if kind in COMMAND_KINDS)
        self.refused = self.refusals.total()
        self.commands += ledger.event_counts["command_applied"] + len(refusals)
        self.runs.update(str(event.status) for event in result.events if isinstance(event, RunFinished))
        self.tasks.update(ledger.task_outcomes)
        self.attempts += sum(ledger.attempts_begun.values())
        self.retries += ledger.event_counts["retry_scheduled"]
        self.mishaps.update(result.mishaps.values())
        self.faults.update(decision.kind for decision in result.plan.decisions if decision.kind in FAULTS)
        for cause, count in causes_in(result.events).items():
            first_cause, before = self.failures.get((cause.agent, cause.kind), (cause, 0))
            self.failures[cause.agent, cause.kind] = first_cause, before + count
        for name, waits in ledger.waits_ms.items():
            self.waits_ms.setdefault(name, []).extend(waits)
            self.starved += sum(wait_ms > STARVED_MS for wait_ms in waits)
        self.workers.update(ledger.attempts_begun)
        self.blocked_tasks.update(result.blocked_tasks)


def plan_of(seed: int, team: SupervisorSpec | None, *, hours: float = HOURS) -> Plan:
    """Return the plan of a seed.

    Args:
        team: The team; None draws one, with more faults, to find defects of the engine.
        hours: Simulated time with decisions, in hours.
    """
    kinds = command_weights() | {kind: weight for kind, (weight, _) in FAULTS.items()}
    if team is None:
        has_models = Random(f"models {seed}").random() < MODEL_TEAM_SHARE
        team = _accepted_team(seed, has_models=has_models)
        plan = draw_plan(seed, team, hours=hours, kinds=kinds, requests_per_hour=5, others_per_hour=9, rush=4)
        return replace(plan, models=has_models)
    plan = draw_plan(
        seed, to_simulated(team), hours=hours, kinds=kinds, requests_per_hour=6, others_per_hour=1.5, trouble=0.1
    )
    return replace(plan, has_user_team=True)


def _accepted_team(seed: int, *, has_models: bool) -> SupervisorSpec:
    """Return the first team of a seed that the engine accepts."""
    draw = Random(f"team {seed}")
    while True:
        team = draw_team(draw)
        if has_models:
            team = with_models(team, Random(f"models of {seed}"))
        budgets = Random(f"small budgets {seed}")
        if budgets.random() < BUDGET_TEAM_SHARE:
            team = with_budgets(team, budgets)
        command = load_command(team)
        order = Order(id="team", command=command, granted=grants_for_own_program(command))
        if isinstance(decide(State(), order, DecisionContext(now_ms=0, jitter=0.0))[-1], CommandApplied):
            return team


def simulate(
    seeds: Iterable[int],
    team: SupervisorSpec | None = None,
    *,
    hours: float = HOURS,
    progress: Callable[[SimulationReport], None] = lambda report: None,
) -> SimulationReport:
    """Run histories until one breaks a law, and shrink that one.

    Args:
        seeds: The seeds; each is one history.
        team: The team; None draws another one for each seed.
        hours: Simulated time with decisions in each history, in hours.
        progress: Called after each history.
    """
    report = SimulationReport()
    began_s = time.monotonic()
    for seed in seeds:
        result = run_history(plan_of(seed, team, hours=hours))
        report.add(result)
        report.wall_s = time.monotonic() - began_s
        progress(report)
        if result.violation is not None:
            report.counterexample = shrink_history(result)
            break
    if team is not None:
        report.unused = [name for name in dict.fromkeys(names_of(team)) if not report.workers[name]]
    return report


def names_of(team: SupervisorSpec) -> Iterator[str]:
    """Yield the names of all agents of a team."""
    for member in team.members:
        if isinstance(member, AgentSpec):
            yield member.name
        else:
            yield from names_of(member)
