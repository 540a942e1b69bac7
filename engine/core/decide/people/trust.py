"""Decides on trust in code: a reference is imported only if the user who runs the engine has allowed it.

Commands carry no trust. The shell looks it up in the user's list and passes it in (`DecisionContext.granted`); the
decision is journaled.
"""

from collections import ChainMap
from collections.abc import Iterable

from engine.core.decisions.decision_context import DecisionContext
from engine.core.errors import NotTrusted
from engine.core.events import Event, ReferencesTrusted
from engine.core.queries.team.code import code_of, references_of
from engine.core.specs.spec import AgentSpec
from engine.core.state import NO_CODE_HASHES, Agent, State


def trust(state: State, specs: Iterable[AgentSpec], ctx: DecisionContext, *, anew: bool = False) -> list[Event]:
    """Return the event of new trust, if any; raises NotTrusted. `anew` ignores earlier trust, given for other files."""
    return trust_references(state, [reference for spec in specs for reference in references_of(spec)], ctx, anew=anew)


def has_code(state: State, agent: Agent, ctx: DecisionContext) -> bool:
    """Return whether an agent runs the code that is trusted now for its spec."""
    code = code_of(ChainMap({**ctx.granted}, state.trusted), state.spec_of(agent))
    return state.code.get(agent.id, NO_CODE_HASHES)[0] == code


def trust_references(
    state: State, references: Iterable[str], ctx: DecisionContext, *, anew: bool = False
) -> list[Event]:
    """Return the event that records trust in `references`, as `trust` does for specs."""
    unique_references = dict.fromkeys(references)
    missing = sorted(
        reference
        for reference in unique_references
        if reference not in ctx.granted and (anew or reference not in state.trusted)
    )
    if missing:
        raise NotTrusted(missing)
    new = {
        reference: ctx.granted[reference]
        for reference in unique_references
        if reference in ctx.granted and state.trusted.get(reference) != ctx.granted[reference]
    }
    return [ReferencesTrusted(references=new)] if new else []
