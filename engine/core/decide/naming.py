"""Members that supervisors name: in their settings, and as lead, aggregator, participants or default agent.

A file, a command and a switch are held to them at once. A program describes its team in any order; it is held to them
when the team is whole: at the first request, or when its engine is kept.
"""

from collections.abc import Sequence

from engine.core.commands import SupervisorSpec
from engine.core.decide.find import member_name
from engine.core.discovery import nearest
from engine.core.errors import UnknownAgent
from engine.core.hierarchy import below_of
from engine.core.state import State, Supervisor
from engine.core.strategies import check_settings


def check_whole(state: State) -> None:
    """Return when every supervisor has the members that it names.

    Raises:
        Refused: With the first that is missing.
    """
    for root in state.roots:
        for supervisor in below_of(state, root):
            check_named(supervisor, [member_name(state, one) for one in supervisor.members])


def check_named(one: SupervisorSpec | Supervisor, members: Sequence[str]) -> None:
    """Return when `members` holds everybody whom a supervisor, or a description of it, names.

    Raises:
        Refused: With the first who is missing.
    """
    named = [one.options.lead, one.aggregator, one.default_agent, *(one.participants or ())]
    for name in named:
        if name is not None and name not in members:
            raise UnknownAgent(name, nearest(name, members))
    check_settings(one.mode, one.options.settings, members)
