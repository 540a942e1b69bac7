"""Previews of swaps and rollbacks: the candidate specs, and what happens to work and queues."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import duration, percent, pluralize
from engine.core.queries.targets import id_target
from engine.core.queries.team.figures import median, success_share
from engine.core.queries.team.replacements import attempt_counts, fits_of, replacements
from engine.core.state import Agent, State, SwapMode


def split_candidates(state: State, agents: Sequence[Agent]) -> tuple[list[str], list[str]]:
    """Return the candidate specs that share a specialty with each of these agents, and the other candidates."""
    names = replacements(state, agents)
    likely = [name for name in names if all(fits_of(state, agent, name) for agent in agents)]
    return likely, [name for name in names if name not in likely]


def candidate_line(state: State, agents: Sequence[Agent], name: str) -> str:
    """Describe a candidate: the specialties it shares with any of the agents, and the record of agents with it."""
    content = state.registry[name]
    shared = dict.fromkeys(specialty for agent in agents for specialty in fits_of(state, agent, name))
    remarks = [f"matches {', '.join(shared)}" if shared else "shares no specialty"]
    done, failed = attempt_counts(state, name)
    if done + failed:
        times = [time for user in state.agents.values() if user.spec == content for time in user.at_work_ms]
        remarks.append(_success_rate(times, done, failed))
    return ", ".join(remarks)


def describe_record(agent: Agent) -> str:
    """Describe the record of an agent that has ended an attempt, in the words of `candidate_line`."""
    return _success_rate(agent.at_work_ms, agent.done, agent.failed)


def _success_rate(took_ms: list[int], done: int, failed: int) -> str:
    share = success_share(done, failed)
    part = f"{done:,}" if share is None else percent(share)
    return f"p50 {duration(median(took_ms))}, {part} of {done + failed:,} ok"


if TYPE_CHECKING:
    from engine.core.preview import AttemptPreview, SwapPreview

MODES = get_args(SwapMode)
MAX_SHOWN = 4
"""Attempts that have a line of their own."""


def preview_swaps(
    state: State, agent_ids: Sequence[str], mode: str, *, is_rollback: bool = False
) -> "list[SwapPreview]":
    """Preview a swap or a rollback of each of these agents; skip agents that have left."""
    from engine.core.preview import swap_preview  # a slow import (0.1 s), kept out of the first frame

    return [
        swap_preview(state, id_target(agent_id), mode, is_rollback=is_rollback)
        for agent_id in agent_ids
        if agent_id in state.agents
    ]


def mode_lines(state: State, agent_ids: Sequence[str], *, is_rollback: bool = False) -> list[tuple[str, str]]:
    """Return every mode with its effect on the work of these agents."""
    attempts_by_mode = {
        mode: [
            attempt
            for each in preview_swaps(state, agent_ids, mode, is_rollback=is_rollback)
            for attempt in each.attempts
        ]
        for mode in MODES
    }
    waits = _is_waited_for(state, agent_ids)
    to = _new_generation(state, agent_ids)
    rest = f"what waits goes to {to}"
    if not attempts_by_mode[MODES[0]]:
        text = f"nothing is under way; {rest if waits else f'the next task goes to {to}'}"
        same = f"the same as {MODES[0]}, because nothing is under way"
        return [(MODES[0], text), *((mode, same) for mode in MODES[1:])]
    what_comes = f"; {rest}" if waits else f"; what comes goes to {to}"
    return [
        (mode, _describe_attempts(attempts, to) + what_comes * (mode == MODES[0]))
        for mode, attempts in attempts_by_mode.items()
    ]


def _describe_attempts(attempts: "Sequence[AttemptPreview]", to: str) -> str:
    """Describe what happens to attempts, those first that the mode affects."""
    clauses = []
    for fate, words in (("begins again", _aborts), ("migrates", _migrates), ("ends", _drains), ("stops", _stops)):
        if affected := [attempt for attempt in attempts if attempt.fate == fate]:
            clauses.append(words(affected, to))
    return "; ".join(clauses)


def attempt_lines(state: State, agent_ids: Sequence[str], mode: str, *, is_rollback: bool = False) -> list[Cell]:
    """Return a line for each attempt at work: what happens to it."""
    previews = preview_swaps(state, agent_ids, mode, is_rollback=is_rollback)
    attempts = [attempt for preview in previews for attempt in preview.attempts]
    lines = [
        Cell(f"{attempt.title}  {attempt.becomes}", "muted", _label(index))
        for index, attempt in enumerate(attempts[:MAX_SHOWN])
    ]
    if len(attempts) > MAX_SHOWN:
        lines.append(Cell(f"and {pluralize(len(attempts) - MAX_SHOWN, 'other')} likewise", "muted", _label(1)))
    return lines


def refusal_of(state: State, agent_ids: Sequence[str], mode: str) -> str:
    """Return why one of these agents cannot be swapped in this mode now; empty if all can."""
    missing_ids = [agent_id for agent_id in agent_ids if agent_id not in state.agents]
    if missing_ids:
        if len(agent_ids) == 1:
            return "this agent has left the team"
        return f"{pluralize(len(missing_ids), 'agent')} left the team"
    return next((reason for preview in preview_swaps(state, agent_ids, mode) for reason in preview.refusals), "")


def _is_waited_for(state: State, agent_ids: Sequence[str]) -> bool:
    """Return whether tasks are ready in a queue that one of these agents serves, alone or with others."""
    queues = {key for agent_id in agent_ids if agent_id in state.agents for key in state.agents[agent_id].queues}
    return any(state.queues[key].ready for key in queues if key in state.queues and not key.startswith("back:"))


def _label(place: int) -> str:
    return "each        " if place == 0 else " " * 12


def _new_generation(state: State, agent_ids: Sequence[str]) -> str:
    if len(agent_ids) == 1 and agent_ids[0] in state.agents:
        return f"g{state.agents[agent_ids[0]].generation + 1}"
    return "the new ones"


def _drains(attempts: "Sequence[AttemptPreview]", _to: str) -> str:
    generations = sorted({f"g{attempt.generation}" for attempt in attempts})
    on = generations[0] if len(generations) == 1 else "the old"
    return f"the attempt ends on {on}" if len(attempts) == 1 else f"{pluralize(len(attempts), 'attempt')} end on {on}"


def _migrates(attempts: "Sequence[AttemptPreview]", to: str) -> str:
    steps = sum(attempt.steps for attempt in attempts)
    preserved = f"; {_describe_steps(steps, len(attempts))} kept" if steps else ""
    if len(attempts) > 1:
        return f"{pluralize(len(attempts), 'attempt')} go on with {to} at their next step{preserved}"
    if attempts[0].waits:
        return f"the attempt goes on with {to} and joins what it waits for{preserved}"
    return f"the attempt goes on with {to} from step {steps + 1}{preserved}"


def _aborts(attempts: "Sequence[AttemptPreview]", to: str) -> str:
    steps = sum(attempt.steps for attempt in attempts)
    lost = f"; {_describe_steps(steps, len(attempts), its='')} thrown away" if steps else "; nothing was finished"
    if len(attempts) > 1:
        return f"{pluralize(len(attempts), 'attempt')} start again on {to}{lost}"
    return f"the attempt starts again on {to}{lost}"


def _stops(attempts: "Sequence[AttemptPreview]", _to: str) -> str:
    stop = "the attempt stops at its" if len(attempts) == 1 else f"{pluralize(len(attempts), 'attempt')} stop at their"
    return f"{stop} next step, as was asked"


def _describe_steps(steps: int, attempts: int, *, its: str | None = None) -> str:
    whose = ("its " if attempts == 1 else "their ") if its is None else its
    return f"{whose}{pluralize(steps, 'finished step')} {'is' if steps == 1 else 'are'}"
