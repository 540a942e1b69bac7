"""Decides on swaps and rollbacks of live agents, and on generations that fail, drain, or drain too long.

The mode says what happens to running attempts: `drain` lets them end, `migrate` continues them with the new generation
from their next step, `abort` stops and restarts them. Their ends are decided in `attempts`.
See docs/semantics/changes.md.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar, get_args

from engine.core.commands import Rollback, RollbackAgents, SwapAgent, SwapAgents
from engine.core.decide.people.trust import has_code, trust
from engine.core.decide.teams.scratch import Scratch
from engine.core.decide.teams.team import requested_spec
from engine.core.decide.work.attempts import end_lost, stop_all
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import Decided, ask
from engine.core.errors import Refused
from engine.core.events import (
    AgentBroke,
    AgentMended,
    AgentSwapped,
    EscalationAnswered,
    Event,
    SwapDrained,
    SwapHurried,
    SwapRolledBack,
)
from engine.core.followups import CheckGeneration, StopDelegations
from engine.core.queries.targets import find_agent
from engine.core.queries.team.code import code_of
from engine.core.queries.team.made import ruling_recipe
from engine.core.queries.team.models import put_first, why_no_models
from engine.core.queries.work.placement import able_queues_for, queue_takeovers
from engine.core.records.records import copy_with
from engine.core.records.values import pluralize
from engine.core.signals import AgentUnusable, AgentUsable
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.core.state import NO_CODE_HASHES, Agent, State, SwapMode, Timer

MODES: tuple[SwapMode, ...] = get_args(SwapMode)
MAX_NAMED_TASKS = 3
"""How many tasks a refusal names."""


def swap_agent(state: State, command: SwapAgent, ctx: DecisionContext) -> Decided:
    """Give an agent another spec."""
    return _swap_checked(state, command, find_agent(state, command.agent), ctx)


def swap_agents(state: State, command: SwapAgents, ctx: DecisionContext) -> Decided:
    """Give several agents other specs: all of them, or none."""
    return _change_each(state, [(swap.agent, swap) for swap in command.swaps], _swap_checked, ctx, did="swapped")


Change = TypeVar("Change")


def _change_each(
    state: State,
    changes: Sequence[tuple[str, Change]],
    decide_one: Callable[[State, Change, Agent, DecisionContext], Decided],
    ctx: DecisionContext,
    *,
    did: str,
) -> Decided:
    """Change several agents, each decided on the state after the ones before it: all of them, or none."""
    if not changes:
        raise Refused("no agent is named; name at least one")
    agents = [find_agent(state, target) for target, _ in changes]
    duplicate = next((agent for agent in agents if sum(other.id == agent.id for other in agents) > 1), None)
    if duplicate is not None:
        raise Refused(f"{duplicate.name} is named twice; one change an agent")
    scratch = Scratch(state, ctx)
    done = []
    for (_, change), agent in zip(changes, agents, strict=True):
        done.append(decide_one(scratch.state, change, scratch.state.agents[agent.id], ctx))
        scratch.take(done[-1].events)
    return Decided(
        events=scratch.events,
        summary=f"{did} {pluralize(len(done), 'agent')}",
        result={"agents": [dict(decision.result) for decision in done]},
    )


def _swap_checked(state: State, command: SwapAgent, agent: Agent, ctx: DecisionContext) -> Decided:
    """Decide on a swap; refuse a new model that cannot be meant, which a team file that is loaded again may name."""
    why_not = why_no_models(state, agent.supervisor_id, _new_spec(state, command, agent))
    if why_not:
        raise Refused(why_not)
    return swap_member(state, command, agent, ctx)


def _new_spec(state: State, command: SwapAgent, agent: Agent) -> AgentSpec:
    if command.model is None:
        return requested_spec(state, command.spec, command.registered)
    if command.spec is not None or command.registered is not None:
        raise Refused("give either a model or a spec")
    spec = state.spec_of(agent)
    if not spec.is_played_by_model:
        raise Refused(f"no model plays {agent.name} ({spec.agent_type}); swap it for a spec")
    return copy_with(spec, model=put_first(spec.model, command.model))


def swap_member(state: State, command: SwapAgent, agent: Agent, ctx: DecisionContext) -> Decided:
    """Decide on a swap, whatever the models of the new spec are called."""
    mode = swap_mode(command.mode)
    spec = _new_spec(state, command, agent)
    _check_expected_generation(agent, command.generation)
    why_not = next(iter(refusals(state, agent, mode)), None)
    if why_not is not None:
        raise Refused(why_not)
    hurried = _hurried(agent, mode, agent.generation)
    at_work = len(agent.running) + len(agent.parked)
    if spec_hash(spec) == agent.spec and has_code(state, agent, ctx):
        if hurried:
            return Decided(
                events=hurried,
                summary=f"hurried {agent.name} to g{agent.generation} ({mode})",
                result={"agent_id": agent.id, "generation": agent.generation, "mode": mode, "at_work": at_work},
            )
        what = "spec" if command.model is None else "model"
        raise Refused(f"{agent.name} has this {what} already (g{agent.generation}); nothing to swap")
    due_ms = _due_ms(command, mode, ctx)
    if command.rollback_failures is not None:
        _check_probation(command.rollback_failures, command.rollback_tasks)
    events = trust(state, [spec], ctx)
    event = swap_event(
        state,
        agent,
        spec,
        mode=mode,
        due_ms=due_ms,
        rollback_failures=command.rollback_failures,
        rollback_tasks=command.rollback_tasks,
        recipe_id=agent.recipe_id if command.model is not None else ruling_recipe(state, agent, spec),
    )
    hurried = _hurried(agent, mode, event.generation)
    return Decided(
        events=[*events, event, *hurried, *queue_takeovers(state, agent, event.queues)],
        summary=f"swapped {agent.name} to g{event.generation}{f', model {command.model}' * bool(command.model)}",
        result={
            "agent_id": agent.id,
            "generation": event.generation,
            "mode": mode,
            "still_running": len(agent.running),
            "at_work": at_work,
        },
    )


def _check_expected_generation(agent: Agent, generation: int | None) -> None:
    if generation not in (None, agent.generation):
        raise Refused(f"{agent.name} is g{agent.generation} by now, not g{generation}; look at it first")


def swap_mode(mode: str) -> SwapMode:
    """Return `mode` if it is a swap mode; raises Refused, with the modes, if it is not."""
    for known_mode in MODES:
        if known_mode == mode:
            return known_mode
    raise Refused(f"no swap mode {mode!r}; there are {', '.join(MODES)}")


def refusals(state: State, agent: Agent, mode: SwapMode) -> list[str]:
    """Return why an agent cannot be swapped in `mode` now, in words; empty if it can."""
    if agent.removing is not None:
        return [f"{agent.name} is being removed; add an agent instead"]
    if not agent.draining or mode != "drain":
        return []
    at_work = {**agent.running, **agent.parked}
    old = [state.tasks[task_id] for task_id, generation in at_work.items() if generation != agent.generation]
    named = ", ".join(f"{task.id} ({task.title})" for task in old[:MAX_NAMED_TASKS])
    more = f" and {len(old) - MAX_NAMED_TASKS} more" if len(old) > MAX_NAMED_TASKS else ""
    return [
        f"{agent.name} is swapping already: {named}{more} still at work before g{agent.generation}; "
        "wait for it, cancel it, roll back, or swap by migrate or abort"
    ]


def _hurried(agent: Agent, mode: SwapMode, generation: int) -> list[Event]:
    """Stop attempts that were left to drain on earlier generations: a swap that drains nothing stops these as well."""
    return (
        [SwapHurried(agent_id=agent.id, generation=generation, mode=mode)] if agent.draining and mode != "drain" else []
    )


def _due_ms(command: SwapAgent, mode: SwapMode, ctx: DecisionContext) -> int | None:
    if command.deadline_s is None:
        return None
    if mode != "drain":
        raise Refused(f"a deadline is for the mode drain; {mode} lets nothing end on the generation before")
    return ctx.now_ms + round(command.deadline_s * 1000)


def _check_probation(failures: int, tasks: int) -> None:
    if not 1 <= failures <= tasks:
        raise Refused(
            f"rolled back after N of its first M tasks fail: N must be from 1 to M, not {failures} of {tasks}"
        )


def swap_event(
    state: State,
    agent: Agent,
    spec: AgentSpec,
    *,
    mode: SwapMode = "drain",
    due_ms: int | None = None,
    rollback_failures: int | None = None,
    rollback_tasks: int = 10,
    recipe_id: str | None = None,
) -> AgentSwapped:
    """Return the event that gives `agent` its next generation."""
    return AgentSwapped(
        agent_id=agent.id,
        generation=agent.generation + 1,
        spec=spec,
        mode=mode,
        queues=able_queues_for(state, agent.supervisor_id, spec, agent.name),
        due_ms=due_ms,
        rollback_failures=rollback_failures,
        rollback_tasks=rollback_tasks,
        recipe_id=recipe_id,
    )


def roll_back(state: State, command: Rollback, ctx: DecisionContext) -> Decided:
    """Give an agent the spec of the generation before, even while attempts of that are still running."""
    return _rollback(state, command, find_agent(state, command.agent), ctx)


def roll_back_agents(state: State, command: RollbackAgents, ctx: DecisionContext) -> Decided:
    """Give several agents the specs of their generations before: all of them, or none."""
    changes = [(rollback.agent, rollback) for rollback in command.rollbacks]
    return _change_each(state, changes, _rollback, ctx, did="rolled back")


def _rollback(state: State, command: Rollback, agent: Agent, ctx: DecisionContext) -> Decided:
    mode = swap_mode(command.mode)
    _check_expected_generation(agent, command.generation)
    if agent.removing is not None:
        raise Refused(f"{agent.name} is being removed; add an agent instead")
    to = command.to or agent.previous
    if command.to is not None and command.to not in state.specs:
        raise Refused(f"the spec {command.to!r:.40} is not known any more; swap {agent.name} instead")
    if to is None or to not in state.specs:
        raise Refused(f"{agent.name} is what it was from the start (g{agent.generation}); nothing to roll back to")
    if to == agent.spec:
        raise Refused(
            f"the code of {agent.name} before g{agent.generation} is gone: only its files had changed, and those of "
            "then are not kept; restore them, then run: quarterdeck up TEAM"
        )
    event = rollback_event(state, agent, to, mode=mode, reason="asked for")
    if event.recipe_id is not None and _is_other_recipe(state.spec_of(agent), event.spec, agent):
        raise Refused(f"{agent.name} follows its recipe {event.recipe_id}, which its maker changes; swap it instead")
    return Decided(
        events=[event, *queue_takeovers(state, agent, event.queues)],
        summary=f"rolled {agent.name} back to the spec before, as g{event.generation}{_code_note(state, agent, event)}",
        result={
            "agent_id": agent.id,
            "generation": event.generation,
            "mode": mode,
            "still_running": len(agent.running),
        },
    )


def _is_other_recipe(spec: AgentSpec, earlier: AgentSpec, agent: Agent) -> bool:
    """Return whether an agent that is ruled by its recipe would go back to what that said before."""
    return agent.recipe_id is not None and copy_with(earlier, model=spec.model) != spec


def can_roll_back(state: State, agent: Agent) -> bool:
    """Return whether the previous spec exists and differs: files that were changed in place cannot be restored."""
    return agent.previous in state.specs and agent.previous != agent.spec


def _code_note(state: State, agent: Agent, event: SwapRolledBack) -> str:
    _, before = state.code.get(agent.id, NO_CODE_HASHES)
    if spec_hash(event.spec) != agent.previous or before == code_of(state.trusted, event.spec):
        return ""
    return f"; its code of before g{agent.generation} is gone, it runs the files as they are now"


def rollback_event(
    state: State, agent: Agent, to: str | None, *, mode: SwapMode, reason: str, by_itself: bool = False
) -> SwapRolledBack:
    """Return the event that gives `agent` the earlier spec with content hash `to`, which must exist."""
    assert to is not None
    spec = state.specs[to]
    return SwapRolledBack(
        agent_id=agent.id,
        generation=agent.generation + 1,
        spec=spec,
        mode=mode,
        why=reason,
        by_itself=by_itself,
        queues=able_queues_for(state, agent.supervisor_id, spec, agent.name),
        recipe_id=ruling_recipe(state, agent, spec),
    )


def check_generation(state: State, followup: CheckGeneration, ctx: DecisionContext) -> list[Event]:
    """Roll back a generation that fails too often, or record that a swap has drained."""
    agent = state.agents.get(followup.agent_id)
    if agent is None:
        return []
    probation = agent.probation
    if probation is not None and probation.failed >= probation.failures and can_roll_back(state, agent):
        reason = f"{probation.failed} of its first {probation.ended} attempts failed"
        event = rollback_event(state, agent, agent.previous, mode=probation.mode, reason=reason, by_itself=True)
        return [event, *queue_takeovers(state, agent, event.queues)]
    if agent.generation > agent.drained and not agent.draining:
        return [SwapDrained(agent_id=agent.id, generation=agent.generation)]
    return []


def stop_delegations(state: State, followup: StopDelegations, ctx: DecisionContext) -> list[Event]:
    """Stop the delegations of a task that restarts from its input."""
    task = state.tasks.get(followup.task_id)
    if task is None:
        return []
    children = [state.tasks[task_id] for task_id in task.children]
    reason = f"{task.title} begins again"
    return stop_all(state, children, reason)


def drain_due(state: State, timer: Timer, ctx: DecisionContext) -> list[Event]:
    """Ask a person about attempts that are still at work on an earlier generation."""
    agent = state.agents[timer.subject]
    generations = (*agent.running.values(), *agent.parked.values())
    old = sum(generation != agent.generation for generation in generations)
    question = f"{agent.name} was to be on g{agent.generation} alone by now; {old} still at work before it. Stop them?"
    return [
        ask(
            state,
            ctx,
            kind="drain",
            subject=agent.id,
            run_id=None,
            question=question,
            options=["wait", "abort"],
            default="wait",
        )
    ]


def on_drain_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Let attempts of earlier generations end, or stop them."""
    agent = state.agents.get(event.subject)
    if agent is None or event.answer != "abort":
        return []
    return _hurried(agent, "abort", agent.generation)


def agent_unusable(state: State, signal: AgentUnusable, ctx: DecisionContext) -> list[Event]:
    """Take an agent whose code is missing out of work, or roll back a new generation that never worked."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or agent.error == signal.error:
        return []
    if signal.away:
        return _mark_away(state, agent, signal, ctx)
    if agent.generation != signal.generation:
        return []
    if agent.proven < agent.generation and can_roll_back(state, agent):
        return [rollback_event(state, agent, agent.previous, mode="migrate", reason=signal.error, by_itself=True)]
    return [AgentBroke(agent_id=agent.id, error=signal.error)]


def _mark_away(state: State, agent: Agent, signal: AgentUnusable, ctx: DecisionContext) -> list[Event]:
    """Let the tasks of an agent wait for the program that has its code; attempts that began without the code are lost.

    Tasks of an earlier generation continue with the current one, whose code may be available here.
    """
    broke = AgentBroke(agent_id=agent.id, error=signal.error, away=True)
    events: list[Event] = [] if agent.away or agent.generation != signal.generation else [broke]
    for task_id, generation in agent.running.items():
        task = state.tasks[task_id]
        if generation == signal.generation and task.attempt is not None:
            events += end_lost(state, task, task.attempt, ctx)
    return events


def agent_usable(state: State, signal: AgentUsable, ctx: DecisionContext) -> list[Event]:
    """Let an agent work again after its code was found."""
    agent = state.agents.get(signal.agent_id)
    if agent is None or agent.generation != signal.generation or not (agent.error is not None or agent.away):
        return []
    return [AgentMended(agent_id=agent.id)]
