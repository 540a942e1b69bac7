"""Adds agents to a team that were found outside it for a request, or asks a person about them.

A search is begun by `graphs.plan_group` and ends with `Discovered`. Nothing that a search returns is trusted: a spec
joins unasked only where the supervisor allows it and every reference is trusted here already.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

import msgspec

from engine.core import commands
from engine.core.decide.teams.scratch import Scratch
from engine.core.decide.teams.team import RESERVED_NAME, add_agent, refuse_unless
from engine.core.decisions.decision_context import DecisionContext
from engine.core.decisions.outcomes import ask
from engine.core.discovery.match import Match
from engine.core.errors import Refused
from engine.core.events import Discovered, EscalationAnswered, Event
from engine.core.queries.people.offers import ADD, DISCOVER, SKIP, offered_in
from engine.core.queries.targets import id_target, member_name
from engine.core.queries.team.code import references_of
from engine.core.queries.team.discovery import (
    agents_to_choose_from,
    describe_found,
    matches_in_team,
    offer_of,
    registered_specs,
)
from engine.core.queries.team.models import why_no_servers
from engine.core.records.records import JsonValue, copy_with
from engine.core.signals import AgentsFound, FoundSpec
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.state import Origin, State, Supervisor, Task, TaskStatus
from engine.core.strategies.settings import strings

MAX_SHOWN_MATCHES = 10


class _Addition(NamedTuple):
    events: list[Event]
    added: list[FoundSpec]
    refusals: list[str]
    """Why others cannot be added, one line each."""


def agents_found(state: State, signal: AgentsFound, ctx: DecisionContext) -> list[Event]:
    """Choose among the agents that were found, and add them or ask a person."""
    group = state.tasks.get(signal.task_id)
    if group is None or group.status is not TaskStatus.WAITING or group.search != "begun":
        return []
    supervisor = state.supervisors.get(group.worker_id or "")
    if supervisor is None:
        return []
    config = supervisor.discovery  # it may have changed since the search began
    may_join = supervisor.auto_discover and config.searches
    found = [*registered_specs(state, config), *(each for each in signal.found if config.uses(each.source))]
    needed = [match.id for match in matches_in_team(state, supervisor, signal.text)]
    replaceable = _replaceable(state, supervisor, needed)
    room = _room(state, supervisor, group, replaceable) if may_join else 0
    offer = offer_of(state, supervisor, signal.text, found, room=room)
    # As if their code was trusted: whether it is decides only whether a person is asked.
    all_granted = {reference: "" for each in offer.chosen for reference in references_of(each.spec)}
    ctx = copy_with(ctx, granted=all_granted, replaceable=replaceable)
    chosen, refusals = _addition(state, group, supervisor, offer.chosen, ctx)[1:]
    ctx = copy_with(ctx, granted=signal.granted)
    discovered = Discovered(
        task_id=group.id,
        supervisor_id=supervisor.id,
        matches=offer.matches[:MAX_SHOWN_MATCHES],
        chosen=[each.id for each in chosen],
        modes=[*map(AgentDiscoveryMode, config.modes)],
        faults=[*signal.faults, *refusals],
        model=signal.model,
        usage=signal.usage,
    )
    if not chosen:
        return [discovered]
    if not _joins_unasked(state, supervisor, chosen, ctx):
        return [discovered, _question(state, group, supervisor, chosen, offer.matches, needed, ctx)]
    return [discovered, *_addition(state, group, supervisor, chosen, ctx).events]


def on_discovery_answered(state: State, event: EscalationAnswered, ctx: DecisionContext) -> list[Event]:
    """Add the agents that a person let in; the graph is planned after it in any case."""
    group = state.tasks.get(event.subject)
    supervisor = None if group is None else state.supervisors.get(group.worker_id or "")
    if event.answer != ADD or group is None or group.ended or supervisor is None:
        return []
    # Others may have joined since the question was asked.
    replaceable = _replaceable(state, supervisor, strings(event.detail.get("needed", [])))
    present = {agent.spec for agent in agents_to_choose_from(state, supervisor)}
    missing = [each for each in offered_in(event.detail) if each.hash not in present]
    chosen = missing[: _room(state, supervisor, group, replaceable)]
    return _addition(state, group, supervisor, chosen, copy_with(ctx, replaceable=replaceable)).events


def _replaceable(state: State, supervisor: Supervisor, needed: Collection[str]) -> list[str]:
    """Return who may make room for a request: agents that were found for others, and that it does not need."""
    agents = (state.agents[member_id] for member_id in supervisor.members if member_id in state.agents)
    return [agent.id for agent in agents if agent.is_found and agent.id not in needed]


def _room(state: State, supervisor: Supervisor, group: Task, replaceable: Collection[str]) -> int:
    """Return how many agents may join for a request."""
    config, run = supervisor.discovery, state.runs[group.run_id]
    agents = [member_id for member_id in supervisor.members if member_id in state.agents]
    free = max(0, supervisor.max_agents - len(agents)) + (len(replaceable) if config.evict else 0)
    return max(0, min(config.max_new - run.agents_found, free))


def _joins_unasked(state: State, supervisor: Supervisor, chosen: Sequence[FoundSpec], ctx: DecisionContext) -> bool:
    references = {reference for each in chosen for reference in references_of(each.spec)}
    is_trusted = references <= {*state.trusted, *ctx.granted}
    return supervisor.discovery.approve == "granted" and is_trusted and not any(each.always_asks for each in chosen)


def _question(
    state: State,
    group: Task,
    supervisor: Supervisor,
    chosen: Sequence[FoundSpec],
    matches: Sequence[Match],
    needed: list[str],
    ctx: DecisionContext,
) -> Event:
    by_place = {(match.source, match.id): msgspec.to_builtins(match) for match in matches}
    offered: JsonValue = [
        {
            **msgspec.to_builtins(each),
            "references": [*references_of(each.spec)],
            "match": by_place.get((each.source.value, each.id)),
        }
        for each in chosen
    ]
    return ask(
        state,
        ctx,
        kind=DISCOVER,
        subject=group.id,
        run_id=group.run_id,
        question=f"add {describe_found(chosen)} to {supervisor.name} for this request?",
        options=[ADD, SKIP],
        default=SKIP,
        detail={"agents": offered, "needed": [*needed]},
    )


def _addition(
    state: State, group: Task, supervisor: Supervisor, chosen: Sequence[FoundSpec], ctx: DecisionContext
) -> _Addition:
    """Return the events that add the agents which can be added now, and why the others cannot."""
    scratch, added, refusals = Scratch(state, ctx), list[FoundSpec](), list[str]()
    for each in chosen:
        command = commands.AddAgent(
            supervisor=id_target(supervisor.id),
            spec=each.spec,
            name=_free_name(scratch.state, supervisor.id, each),
            evict=supervisor.discovery.evict,
        )
        origin = Origin(kind="discovery", id=each.id, hash=each.hash)
        try:
            refuse_unless(not (why_not := why_no_servers(state, supervisor.id, each.spec)), why_not)
            decided = add_agent(scratch.state, command, copy_with(ctx, origin=origin, run_id=group.run_id))
        except Refused as refusal:
            refusals.append(f"{each.spec.name}: {refusal.reason}")
            continue
        scratch.take(decided.events)
        added.append(each)
    return _Addition(scratch.events, added, refusals)


def _free_name(state: State, supervisor_id: str, found: FoundSpec) -> str:
    """Return a name that no member has and that is no id: that of the spec, or with a number."""
    taken = {member_name(state, member_id) for member_id in state.supervisors[supervisor_id].members}
    names = (found.spec.name, *(f"{found.spec.name[:60]}-{number}" for number in range(2, len(taken) + 4)))
    return next(name for name in names if name not in taken and RESERVED_NAME.fullmatch(name) is None)
