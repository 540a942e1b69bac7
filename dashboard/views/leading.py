"""Who leads and who stands by, in lines."""

from dashboard.views.amounts import counted, moment, stopwatch
from dashboard.views.header import Situation, shell
from dashboard.views.rows import Cell
from engine.core.state import State


def can_hand_over(situation: Situation) -> bool:
    """Tell whether an engine leads and another one could take over."""
    info = situation.engine
    return info is not None and info.alive and not info.hung and any(not one.hung for one in situation.standbys)


def leading_lines(state: State, situation: Situation) -> list[Cell]:
    """Return the engine at work, since when, what it has in hand, and who would go on."""
    info, now_ms = situation.engine, situation.now_ms
    if info is None or not info.alive:
        return [Cell("no engine is at work", "error")]
    ages = [age for age in (info.heartbeat_ms, info.loop_ms) if age is not None]
    heard = f"; heard of {max(ages) / 1000:.1f} s ago" if ages else ""
    attempts = sum(run.running for run in state.runs.values())
    lines = [
        Cell(f"engine {info.pid} on {info.host}{heard}", "busy", "leads       "),
        Cell(f"{moment(info.since_ms, now_ms)}, for {stopwatch(now_ms - info.since_ms)}", "", "since       "),
        Cell(f"{info.token}, raised by each engine that begins", "", "token       "),
        Cell(f"{counted(len(state.runs), 'open run')}, {counted(attempts, 'attempt')} under way", "", "its work    "),
    ]
    for place, one in enumerate(situation.standbys):
        told = f"engine {one.pid} since {moment(one.since_ms, now_ms)}"
        told += "; does not answer, and will not take over" if one.hung else ""
        lines.append(Cell(told, "warn" if one.hung else "", "stands by   " if place == 0 else " " * 12))
    if not situation.standbys:
        standby = shell(situation).replace("quarterdeck engine", "quarterdeck engine --standby")
        lines.append(Cell(f"nobody; it takes: {standby}", "draining", "stands by   "))
    else:
        told = "it begins nothing new, lets attempts come to the end of their step for the grace, and ends"
        lines.append(Cell(told, "muted", "hand-over   "))
    return lines
