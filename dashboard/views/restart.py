"""What another engine would do with what is open, in words."""

from dashboard.views.amounts import clock, counted
from dashboard.views.header import Situation, gone_since_ms, shell
from dashboard.views.rows import Cell
from engine.core.state import State


def restart_lines(state: State, situation: Situation) -> list[Cell]:
    """Return why there is none at work, what goes on, whose code it runs, and the same for a shell."""
    lines = [Cell(_why(state, situation)), Cell(_goes_on(state), "", "open work   ")]
    if state.team is not None:
        lines.append(Cell(f"{state.team.path}, as it was loaded", "", "its code    "))
    return [*lines, Cell(shell(situation), "muted", "in a shell  ")]


def _why(state: State, situation: Situation) -> str:
    info = situation.engine
    if info is None:
        return "no engine has worked on this file"
    if info.hung:
        return f"engine {info.pid} holds the file and does not answer; it is ended, and another takes its place"
    how = "stopped at" if info.ended_ms is not None else "gone since"
    return f"engine {info.pid} {how} {clock(gone_since_ms(state, info))}"


def _goes_on(state: State) -> str:
    if not state.runs:
        return "none; it waits for requests"
    attempts = sum(run.running for run in state.runs.values())
    again = f"; of {counted(attempts, 'attempt')} under way only finished steps are kept" if attempts else ""
    return f"{counted(len(state.runs), 'run')}; what is done stays done{again}"
