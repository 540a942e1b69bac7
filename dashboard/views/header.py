"""The header: the engine and its standbys, the file, problems, and how to start another engine."""

import shlex
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from dashboard.views.drawing.lines import Span, cell_width, cut, cut_name
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.usage import budget_spans
from dashboard.views.situation import Situation
from dashboard.views.words.amounts import moment, pluralize, stopwatch
from dashboard.views.words.glyphs import ACTIVITY
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.team.able import agents_bound_elsewhere
from engine.core.state import State
from store.journals.records import EngineInfo, StandbyInfo


def engine_time_ms(newest_ms: int, engine: EngineInfo | None, wall_ms: int) -> int:
    """Return the current time of the engine's clock, for ages and deadlines of journaled times.

    Args:
        newest_ms: Time of the newest event, which is the minimum of the result.
        engine: The engine of the file.
        wall_ms: The time of this computer.
    """
    ahead_ms = engine.ahead_ms if engine is not None and engine.alive else 0
    return max(newest_ms, wall_ms + ahead_ms)


def describe_standbys(standbys: Sequence[StandbyInfo]) -> str:
    """Return the standby engines in words; empty without any."""
    if not standbys:
        return ""
    if len(standbys) == 1:
        verb = "stands by and does not answer" if standbys[0].hung else "stands by"
        return f"engine {standbys[0].pid} {verb}"
    hung = [standby for standby in standbys if standby.hung]
    doubt = f", {len(hung)} of them not answering" if hung else ""
    return f"engines {', '.join(str(standby.pid) for standby in standbys)} stand by{doubt}"


CELL_GAP = 3
"""Blanks between two cells of the right side."""
MAX_EARLIER_PAGE_WIDTH = 26
"""Maximum columns of an earlier page in a path."""
OMITTED_PAGES = Cell("▸ …", "faint")
"""Replaces pages of a path that do not fit."""


def team_of(state: State, situation: Situation) -> str:
    """Return the name of a team, or the name of its file if it has no supervisor."""
    roots = state.roots
    team = roots[0].name if roots else situation.db.rpartition("/")[2]
    return team + (f" +{len(roots) - 1}" if len(roots) > 1 else "")


def left_cells(state: State, situation: Situation) -> list[Cell]:
    """Return the left side of a screen's header: program, team and run."""
    left = [Cell("QUARTERDECK", "accent"), Cell(team_of(state, situation), "strong")]
    if len(state.runs) == 1:
        run = next(iter(state.runs.values()))
        left.append(Cell(f"‖ {run.title}", "paused") if run.paused else Cell(f"▸ {run.title}", "muted"))
    elif state.runs:
        left.append(Cell(f"▸ {pluralize(len(state.runs), 'run')}", "muted"))
    return left


def path_cells(team: str, opened: Sequence[str], room: int) -> list[Cell]:
    """Return the left side of a page's header: the team, and the path of open pages.

    If `room` is too small, the name of the program is left out, then the first pages; then names are cut.
    """
    *earlier_pages, last_page = (f"▸ {page}" for page in opened)
    earlier_pages = [cut_name(page, MAX_EARLIER_PAGE_WIDTH) for page in earlier_pages]
    top, last = Cell(team, "strong"), Cell(last_page, "strong")
    between = [Cell(page, "muted") for page in earlier_pages]
    ways = [[Cell("QUARTERDECK", "accent"), top, *between, last]]
    ways += [[top, *([OMITTED_PAGES] if left else []), *between[left:], last] for left in range(len(between) + 1)]
    for way in ways:
        if _width(way) <= room:
            return way
    begin = [Cell(cut(team, max(10, room // 3)), "strong"), *([OMITTED_PAGES] if earlier_pages else [])]
    return [*begin, Cell(cut_name(last_page, room - _width(begin) - 2), "strong")]


def _width(left: Sequence[Cell]) -> int:
    return cell_width(Span(cell.text) for cell in left) + 2 * (len(left) - 1)


def right_cells(
    state: State, situation: Situation, counts: Digest, *, brief: bool, room: int | None = None
) -> list[Cell]:
    """Return the right side of the header: engine, needs, cost, rate, queue, the most important first.

    With `brief`, cost, rate and queue are left out, because the health strip has them. If `room` is too small, the
    meter of the budget is left out, then the engine's time, then the budget and the engine.
    """
    waiting = counts.needs_person
    right = [engine_cell(state, situation)]
    costs = () if brief else _cost_cells(state)
    if waiting:
        badge = Cell(f" ⚑ {len(waiting):,} need{'s' if len(waiting) == 1 else ''} you ", "badge")
        short = right[0].text.partition("  ")[0]
        right = next(
            candidate
            for candidate in ([right[0], badge], [Cell(short, right[0].tone), badge], [badge])
            if room is None or len(candidate) == 1 or len(candidate[0].text) + CELL_GAP + len(badge.text) <= room
        )
    for silent in _silent_cells(state, counts):
        if room is None or _width([*right, silent]) + CELL_GAP * len(right) <= room:
            right.append(silent)
    if costs:
        brief_engine = Cell(right[0].text.partition("  ")[0], right[0].tone)
        candidates = [[*head, cost] for head in (right, [brief_engine, *right[1:]]) for cost in costs[:2]]
        candidates.append([*right, costs[-1]])
        right = next((each for each in candidates if room is None or _right_width(each) <= room), candidates[-1])
    if situation.readonly:
        right.append(Cell("read-only", "paused"))
    if not brief:
        right.append(Cell(f"{situation.events_per_s:>5,.0f} ev/s", "muted"))
        right.append(Cell(f"queue {counts.waiting:,}", "" if counts.waiting else "muted"))
    if situation.behind > 1_000:
        right.append(Cell(f"reading, {situation.behind:,} to go", "draining"))
    return right


def _silent_cells(state: State, counts: Digest) -> Iterator[Cell]:
    """Yield how many agents are stuck, who are among the needs, and how many are silent."""
    for kind in ("stuck", "silent"):
        mark = ACTIVITY[kind]
        if number := sum(counts.kinds_of(root.id)[kind] for root in state.roots):
            yield Cell(f"{mark.glyph} {number:,} {mark.word}", mark.tone)


def _cost_cells(state: State) -> tuple[Cell, ...]:
    """Return what the team has spent, from the widest form to the shortest; empty if it spends nothing."""
    forms = (budget_spans(state, 5), budget_spans(state, 0))
    if not forms[0]:
        return ()
    cells = [Cell("".join(span.text for span in spans), spans=spans) for spans in forms]
    return (*cells, Cell(cells[-1].text.partition(" ")[0], "strong"))


def _right_width(cells: Sequence[Cell]) -> int:
    return sum(cell_len(cell.text) for cell in cells) + CELL_GAP * (len(cells) - 1)


def reading_message(situation: Situation) -> tuple[str, ...]:
    """Return the text in place of rows while the file is opened."""
    left = f"{pluralize(situation.behind, 'event')} to go" if situation.behind else ""
    return (f"reading {situation.db.rpartition('/')[2]} …", left)


def engine_cell(state: State, situation: Situation) -> Cell:
    """Return the state of the engine, and since when."""
    info = situation.engine
    if info is None:
        return Cell("○ no engine yet" if situation.is_loaded else "…", "muted")
    if not info.alive:
        verb, tone = ("gone since", "error") if info.ended_ms is None else ("stopped", "muted")
        glyph = "✕" if info.ended_ms is None else "■"
        return Cell(f"{glyph} engine {info.pid} {verb} {moment(gone_since_ms(state, info), situation.now_ms)}", tone)
    if info.no_room:  # no heartbeat can be written either
        return Cell(f"✕ engine {info.pid} has no room to write", "error")
    if info.hung:
        return Cell(f"✕ engine {info.pid} has not answered for {(info.silent_ms or 0) // 1000} s", "error")
    up_ms = situation.now_ms - info.ahead_ms - info.since_ms
    parts = (
        ("● ", "busy"),
        (f"engine {info.pid}  ", "muted"),
        (stopwatch(up_ms), ""),
        (_standby_text(situation), "muted"),
    )
    return Cell("".join(text for text, _ in parts), "busy", spans=tuple(Span(*part) for part in parts))


def _standby_text(situation: Situation) -> str:
    """Return the standby engines in words; empty without a working one."""
    ready = [each for each in situation.standbys if not each.hung]
    if not ready:
        return ""
    return f"  {ready[0].pid} stands by" if len(ready) == 1 else f"  {len(ready)} stand by"


def banner(state: State, situation: Situation, live_banner: str | None, counts: Digest | None = None) -> Cell | None:
    """Return the most urgent problem with its remedy; None without a problem."""
    if situation.trouble is not None:
        return Cell(f"✕ {situation.trouble}", "error")
    if live_banner:
        return Cell(f"✕ {live_banner}", "error")
    return _no_engine_banner(state, situation, counts or Digest()) if situation.is_loaded else None


def _no_engine_banner(state: State, situation: Situation, counts: Digest) -> Cell | None:
    info = situation.engine
    if info is not None and info.alive and not info.hung and not info.no_room:
        return None
    key = "in a shell: " if situation.in_browser else "" if situation.readonly else "E or "
    go_on = (
        "run its program again"
        if counts.compute_once(program_line, state) is not None
        else f"{key}{shell_command(situation)}"
    )
    if info is None:
        return Cell(f"○ no engine has worked on this file · start one: {go_on}", "muted")
    if info.alive and info.no_room:
        return Cell(f"✕ engine {info.pid} has no room to write {situation.db} · free some space", "error")
    if info.alive:
        return Cell(f"✕ engine {info.pid} does not answer · take over: {go_on}", "error")
    # Without the time, which the header has: the remedy must be visible on a narrow screen.
    if info.ended_ms is not None:
        return Cell(f"■ engine {info.pid} stopped · continue: {go_on}", "muted")
    return Cell(f"✕ engine {info.pid} is gone · continue: {go_on}", "error")


def shell_command(situation: Situation) -> str:
    """Return the command that starts an engine, or that replaces a hung one."""
    takeover = " --takeover" if situation.engine is not None and situation.engine.hung else ""
    return f"quarterdeck engine{takeover} --db {shlex.quote(situation.db)}"


def gone_since_ms(state: State, info: EngineInfo | None) -> int:
    """Return the end of a stopped engine, or the last sign of life of a killed one; without any, the last event."""
    if info is None:
        return state.at_ms
    return info.ended_ms if info.ended_ms is not None else max(info.since_ms, info.heard_ms or 0, state.at_ms)


def program_line(state: State) -> str | None:
    """Return which agents need the program that made the team, and what to do; None if any engine can continue."""
    names = [agent.name for agent in agents_bound_elsewhere(state)]
    if not names:
        return None
    callers = " and ".join(names) if len(names) < 3 else pluralize(len(names), "agent")
    verb = "calls" if len(names) == 1 else "call"
    return f"{callers} {verb} code of the program that made this team: run that program again, and its runs continue"


def restart_lines(state: State, situation: Situation) -> list[Cell]:
    """Describe the start of an engine: why none is at work, the open work, its code, and the shell command."""
    lines = [Cell(_engine_state(state, situation)), labelled_cell("open work", _open_work(state))]
    if state.team is not None:
        lines.append(labelled_cell("its code", f"{state.team.path}, as it was loaded"))
    return [*lines, labelled_cell("in a shell", shell_command(situation), "muted")]


def _engine_state(state: State, situation: Situation) -> str:
    info = situation.engine
    if info is None:
        return "no engine has worked on this file"
    if info.hung:
        return f"engine {info.pid} holds the file and does not answer; it is ended, and another takes its place"
    verb = "stopped at" if info.ended_ms is not None else "gone since"
    return f"engine {info.pid} {verb} {moment(gone_since_ms(state, info), situation.now_ms)}"


def _open_work(state: State) -> str:
    if not state.runs:
        return "none; it waits for requests"
    attempts = sum(run.running for run in state.runs.values())
    again = f"; of {pluralize(attempts, 'attempt')} under way only finished steps are kept" if attempts else ""
    return f"{pluralize(len(state.runs), 'run')}; finished work is kept{again}{paused_runs(state)}"


def paused_runs(state: State) -> str:
    """Return how to resume runs if every open run is paused, else an empty text."""
    if not state.runs or not all(run.paused for run in state.runs.values()):
        return ""
    subject, pronoun = ("it is", "it") if len(state.runs) == 1 else ("all are", "one")
    return f"; {subject} paused: {fill_keys('<runs:7>, then <pause or resume:z> resumes')} {pronoun}"


def can_hand_over(situation: Situation) -> bool:
    """Return whether an engine leads and another one could take over."""
    info = situation.engine
    return info is not None and info.alive and not info.hung and any(not standby.hung for standby in situation.standbys)


def leading_lines(state: State, situation: Situation) -> list[Cell]:
    """Describe the leading engine: since when, its work, and its standbys."""
    info, now_ms = situation.engine, situation.now_ms
    if info is None or not info.alive:
        return [Cell("no engine is at work", "error")]
    heartbeat = f"; last heartbeat {info.silent_ms / 1000:.1f} s ago" if info.silent_ms is not None else ""
    attempts = sum(run.running for run in state.runs.values())
    lines = [
        labelled_cell("leads", f"engine {info.pid} on {info.host}{heartbeat}", "busy"),
        labelled_cell("since", f"{moment(info.since_ms, now_ms)}, for {stopwatch(now_ms - info.since_ms)}"),
        labelled_cell("token", f"{info.token}, raised by each new engine"),
        labelled_cell(
            "its work",
            f"{pluralize(len(state.runs), 'open run')}, {pluralize(attempts, 'attempt')} under way",
        ),
    ]
    for index, waiting_engine in enumerate(situation.standbys):
        text = f"engine {waiting_engine.pid} since {moment(waiting_engine.since_ms, now_ms)}"
        text += "; does not answer, and will not take over" if waiting_engine.hung else ""
        lines.append(Cell(text, "warn" if waiting_engine.hung else "", "standby     " if index == 0 else " " * 12))
    if not situation.standbys:
        standby = shell_command(situation).replace("quarterdeck engine", "quarterdeck engine --standby")
        lines.append(labelled_cell("standby", f"none; start one: {standby}", "draining"))
    else:
        text = "it begins nothing new, lets attempts finish their step within the grace period, then ends"
        lines.append(labelled_cell("hand-over", text, "muted"))
    return lines
