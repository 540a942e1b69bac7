"""Words of answers to questions, and of the permissions that they give."""

from dashboard.views.words.amounts import clock
from engine.core.events import GrantGiven
from engine.core.records.values import preview
from engine.core.state import Grant


def grant_limits(grant: Grant | GrantGiven) -> str:
    """Describe what a permission is limited to; empty if it holds for all calls of the generation."""
    scope = ""
    if grant.until_ms is not None:
        scope = f" until {clock(grant.until_ms)}"
    elif grant.scope_id is not None:
        scope = f" in {grant.scope} {grant.scope_id}"
    values = " and ".join(f"{name} {preview(text, 60)}" for name, text in grant.where.items())
    return f"{scope} with {values}" if values else scope
