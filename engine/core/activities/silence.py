"""How long an attempt at work has said nothing, and whether that is long for it.

A stream is silent since its last chunk; any other step once it takes three times as long as 95 of 100 of the agent's
last steps of that kind and name. Silence and being stuck only show: nothing is stopped for them.
"""

from typing import NamedTuple

from engine.core.activities.live import Live
from engine.core.queries.team.tree import inherited_option
from engine.core.records.keys import kind_of_step
from engine.core.specs.spec import AgentSpec
from engine.core.state import Agent, Attempt, State, Supervisor

DEFAULT_SILENT_S = 30.0
DEFAULT_STUCK_S = 300.0
UNKNOWN_STEP_S = 300.0
"""Time after which a step is silent of which there are fewer than `ENOUGH_STEPS`."""
ENOUGH_STEPS = 10
MIN_STEP_S = 5.0
_MIN_SILENT_MS = round(1000 * MIN_STEP_S)
"""Shortest step that counts as silent: three times the duration of a fast one is no news."""


class Silence(NamedTuple):
    """The silence of an attempt."""

    since_ms: int
    """Its last sign of life."""
    step: str
    """Name of the step that is silent; empty for code without one."""
    is_stuck: bool


class Patience(NamedTuple):
    """How long an agent may be silent, in milliseconds."""

    silent_ms: int
    stuck_ms: int


def patience_of(state: State, supervisor: Supervisor) -> Patience:
    """Return the patience with agents that have no options of their own: that of the nearest supervisor that says."""
    silent_s: float = inherited_option(state, supervisor, "silent_s", DEFAULT_SILENT_S)
    stuck_s: float = inherited_option(state, supervisor, "stuck_s", DEFAULT_STUCK_S)
    return Patience(round(1000 * silent_s), round(1000 * stuck_s))


def own_patience(spec: AgentSpec, inherited: Patience) -> Patience:
    """Return the patience with an agent of a spec."""
    if spec.silent_s is None and spec.stuck_s is None:
        return inherited
    return Patience(
        inherited.silent_ms if spec.silent_s is None else round(1000 * spec.silent_s),
        inherited.stuck_ms if spec.stuck_s is None else round(1000 * spec.stuck_s),
    )


def silence_of(agent: Agent, attempt: Attempt, live: Live, patience: Patience, now_ms: int) -> Silence | None:
    """Return the silence of an attempt that holds a slot; None while it gives signs of life."""
    process = live.process
    if process is not None and process.active_ms is not None:
        last_ms = max(process.active_ms, live.chunk_ms or 0)
        if now_ms - last_ms >= patience.stuck_ms:
            return Silence(last_ms, "", is_stuck=True)
    # Time of the last charge: the attempt began, resumed, or ended a step then.
    began_ms, chunk_ms = attempt.since_ms, live.chunk_ms or 0
    if now_ms - chunk_ms < patience.silent_ms or now_ms - began_ms < _MIN_SILENT_MS:
        return None
    last_ms, limit_ms, name = max(began_ms, chunk_ms), round(1000 * UNKNOWN_STEP_S), ""
    if not live.steps:
        limit_ms = patience.silent_ms if chunk_ms > began_ms else limit_ms
    for step in live.steps:
        if chunk_ms >= step.since_ms:
            step_limit_ms, since_ms = patience.silent_ms, chunk_ms
        else:
            step_limit_ms, since_ms = usual_limit_ms(agent, step.what, step.name), max(step.since_ms, began_ms)
        if now_ms - since_ms < step_limit_ms:
            return None
        last_ms, limit_ms, name = since_ms, step_limit_ms, step.name
    silent_ms = now_ms - last_ms
    if silent_ms < limit_ms:
        return None
    return Silence(last_ms, name, is_stuck=silent_ms >= max(patience.stuck_ms, 2 * limit_ms))


def usual_limit_ms(agent: Agent, what: str, name: str) -> int:
    """Return how long a step may usually take until it counts as silent, in milliseconds."""
    durations_ms = agent.step_ms.get(kind_of_step(what, name), ())
    if len(durations_ms) < ENOUGH_STEPS:
        return round(1000 * UNKNOWN_STEP_S)
    slow_ms = sorted(durations_ms)[-(len(durations_ms) // 20) - 1]
    return max(3 * slow_ms, round(1000 * MIN_STEP_S))
