"""Teams whose code is in the program that made them: no other engine can go on with them."""

from dashboard.views.amounts import counted
from engine.core.queries.bound import bound_elsewhere
from engine.core.state import State


def program_line(state: State) -> str | None:
    """Return whose code only the program has that made the team, and what to do; None where any engine can go on."""
    names = [agent.name for agent in bound_elsewhere(state)]
    if not names:
        return None
    who = f"{names[0]} calls" if len(names) == 1 else f"{' and '.join(names)} call"
    if len(names) > 2:
        who = f"{counted(len(names), 'agent')} call"
    return f"{who} code of the program that made this team: run that program again, and its runs go on"
