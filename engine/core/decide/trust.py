"""Code that a spec refers to is imported only where the operator allowed it."""

from collections.abc import Iterable

from engine.core.errors import NotTrusted
from engine.core.events import Event, ReferencesTrusted
from engine.core.spec import BOUND, AgentSpec
from engine.core.state import State


def references_of(spec: AgentSpec) -> list[str]:
    """Return what would be imported for an agent of `spec`."""
    said = ([spec.run] if spec.run is not None else []) + list(spec.tools)
    return [one for one in said if isinstance(one, str) and ":" in one and not one.startswith(BOUND)]


def trust(state: State, specs: Iterable[AgentSpec], granted: list[str], at_ms: int) -> list[Event]:
    """Return the event that records new trust, if any is granted.

    Raises:
        NotTrusted: If a spec refers to code that is neither trusted nor granted.
    """
    missing = sorted(
        {one for spec in specs for one in references_of(spec) if one not in state.trusted and one not in granted}
    )
    if missing:
        raise NotTrusted(missing)
    return grant(state, granted, at_ms)


def grant(state: State, granted: list[str], at_ms: int) -> list[Event]:
    """Return the event that records trust in what was not trusted before."""
    new = [reference for reference in dict.fromkeys(granted) if reference not in state.trusted]
    return [ReferencesTrusted(at_ms=at_ms, references=new)] if new else []
