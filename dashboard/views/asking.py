"""Questions that one typed line answers: how urgent, by when, able to do what, which settings.

Each says what it is about, and what a line would mean as a command; the engine's own code rehearses that.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Protocol

from pydantic import JsonValue

from dashboard.views.amounts import counted, duration, moment, remaining
from dashboard.views.limits import limit_lines
from dashboard.views.rows import Cell
from dashboard.views.targets import target_of
from dashboard.views.typed import Mistyped, length_s, settings_of, words_of
from engine.core.budget import deadline_of
from engine.core.commands import ChangeCapabilities, ChangeSupervisor, Command, SetDeadline, SetPriority
from engine.core.hierarchy import depth_of, mean_ms_of
from engine.core.options import AGEING_S, BALANCES, DEFAULT_PRIORITY, Preempt, SupervisorOptions
from engine.core.queries.targets import at
from engine.core.state import State
from engine.core.validation.bounds import LOWEST_PRIORITY


class LineQuestion(Protocol):
    """What a `LineDialog` asks."""

    does: str
    """What the button says."""
    placeholder: str

    def title(self, state: State) -> str:
        """Return what is asked, and about what."""
        ...

    def about(self, state: State, now_ms: int) -> Sequence[Cell]:
        """Return how it is now, and what may be typed."""
        ...

    def meant(self, state: State, text: str) -> Command | None:
        """Return what a line means; None of one that says nothing yet.

        Raises:
            Mistyped: If it means nothing.
        """
        ...


def _said(state: State, target_id: str) -> str:
    target = target_of(state, target_id)
    return f"{target.kind} “{target.name}”" if target is not None else target_id


class PriorityLine:
    """How urgent a run or a task is."""

    does = "Set it"
    placeholder = f"0 (first) to {LOWEST_PRIORITY} (last)"

    def __init__(self, target_id: str) -> None:
        self._target_id = target_id

    def title(self, state: State) -> str:
        return f"Priority of {_said(state, self._target_id)}"

    def about(self, state: State, now_ms: int) -> Sequence[Cell]:
        subject = state.runs.get(self._target_id) or state.tasks.get(self._target_id)
        now = str(subject.priority) if subject is not None else "–"
        return [
            Cell(f"{now}; {DEFAULT_PRIORITY} is usual", "", "now         "),
            Cell(
                "0 goes first and may take slots from what is less urgent; 9 goes last, and rises while it waits",
                "muted",
            ),
        ]

    def meant(self, state: State, text: str) -> Command | None:
        if not text.strip():
            return None
        if not (text.strip().isascii() and text.strip().isdigit()):
            raise Mistyped(f"{text.strip()!r} is no priority; write 0, the most urgent, to {LOWEST_PRIORITY}")
        return SetPriority(target=self._target_id, priority=int(text))


class DeadlineLine:
    """By when a run or a task has to have ended."""

    does = "Set it"
    placeholder = "from now on: 90s, 5m, 2h; none takes it away"

    def __init__(self, target_id: str) -> None:
        self._target_id = target_id

    def title(self, state: State) -> str:
        return f"Deadline of {_said(state, self._target_id)}"

    def about(self, state: State, now_ms: int) -> Sequence[Cell]:
        found = deadline_of(state, self._target_id)
        now = "none"
        if found is not None:
            whose = "" if found.own else ", that of what it is part of"
            now = f"{moment(found.due_ms, now_ms)}, in {remaining(found.due_ms - now_ms)}{whose}"
        told = "then what has not begun is cancelled, and what is at work stops at its next step; what is done is kept"
        return [Cell(now, "", "now         "), Cell(told, "muted")]

    def meant(self, state: State, text: str) -> Command | None:
        return SetDeadline(target=self._target_id, deadline_s=length_s(text)) if text.strip() else None


class CapabilityLine:
    """What an agent is able to do."""

    does = "Change them"
    placeholder = "+word adds it, -word takes it away"

    def __init__(self, agent_id: str) -> None:
        self._agent_id = agent_id

    def title(self, state: State) -> str:
        return f"What {_said(state, self._agent_id)} is able to do"

    def about(self, state: State, now_ms: int) -> Sequence[Cell]:
        agent = state.agents.get(self._agent_id)
        able = ", ".join(state.spec_of(agent).specialties) if agent is not None else ""
        told = "its code and its generation stay; tasks that ask for one of them follow at once"
        return [Cell(able or "nothing is named", "", "now         "), Cell(told, "muted")]

    def meant(self, state: State, text: str) -> Command | None:
        add, remove = _signed(words_of(text))
        return ChangeCapabilities(agent=at(self._agent_id), add=add, remove=remove) if add or remove else None


def _signed(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sort `+a -b --add c --remove d` into what is added and what is taken away."""
    add: list[str] = []
    remove: list[str] = []
    left = iter(words)
    for word in left:
        if word in ("--add", "--remove"):
            (add if word == "--add" else remove).append(next(left, ""))
        elif word[:1] == "-" and len(word) > 1:
            remove.append(word[1:])
        elif word not in ("+", "-"):
            add.append(word.removeprefix("+"))
    return add, remove


class SettingsLine:
    """What a supervisor allows."""

    does = "Change them"
    placeholder = "key=value …"
    KEYS = ("max_parallel", "max_total", "processes", "max_agents", "balance", "ageing", "preempt")

    def __init__(self, supervisor_id: str) -> None:
        self._supervisor_id = supervisor_id

    def title(self, state: State) -> str:
        return f"Settings of {_said(state, self._supervisor_id)}"

    def about(self, state: State, now_ms: int) -> Sequence[Cell]:
        one = state.supervisors.get(self._supervisor_id)
        if one is None:
            return [Cell("it has left the team", "muted")]
        options = one.options
        above = "as above it" if one.parent_id is not None else None
        preempt = options.preempt.at if options.preempt is not None else above or "step"
        ageing = f"{options.ageing_s:g} s" if options.ageing_s is not None else above or f"{AGEING_S:g} s"
        rows = (
            ("max_parallel", one.max_parallel, "attempts at once of its own agents"),
            ("max_total", options.max_total or "no limit", "of it and everything under it"),
            ("processes", options.processes or _processes(state, above), "likewise, of attempts in processes"),
            ("max_agents", one.max_agents, f"it has {counted(len(one.members), 'member')}"),
            ("balance", options.balance or above or BALANCES[0], f"who of several able ones: {', '.join(BALANCES)}"),
            ("ageing", ageing, "waiting that raises a task by one priority"),
            ("preempt", preempt, "when an urgent task takes a slot: step, now, never"),
        )
        lines = [Cell(f"{value!s:<12} {about}", "", f"{key:<14}") for key, value, about in rows]
        lines += [
            Cell(line.drawn, line.tone, f"{line.label:<14}") for line in limit_lines(state, one.id, now_ms=now_ms)
        ]
        if one.restarts_ms:
            told = f"{counted(len(one.restarts_ms), 'time')} within the period that is counted"
            lines.append(Cell(told, "warn", f"{'restarts':<14}"))
        took_ms = mean_ms_of(one)
        if took_ms is not None:
            told = f"{duration(took_ms)} a request besides the work below it, on level {depth_of(state, one)}"
            lines.append(Cell(told, "muted", f"{'hand-over':<14}"))
        return lines

    def meant(self, state: State, text: str) -> Command | None:
        said = settings_of(_joined(words_of(text)))
        said = {key.removeprefix("--").replace("-", "_").removesuffix("_s"): value for key, value in said.items()}
        unknown = next((key for key in said if key not in self.KEYS), None)
        if unknown is not None:
            raise Mistyped(f"no setting {unknown!r}; there are {', '.join(self.KEYS)}")
        if not said:
            return None
        parallel, agents = (_whole(key, said[key]) if key in said else None for key in ("max_parallel", "max_agents"))
        return ChangeSupervisor(
            supervisor=at(self._supervisor_id), options=_options(said), max_parallel=parallel, max_agents=agents
        )


def _processes(state: State, above: str | None) -> str:
    """Return how many attempts in processes may be at work where nothing is set."""
    most = None if state.engine is None else state.engine.processes
    return above or ("no limit" if most is None else f"{most} (all)")


def _joined(words: Sequence[str]) -> list[str]:
    """Read `--key value`, as a shell has it, like `key=value`."""
    out: list[str] = []
    left = iter(words)
    for word in left:
        out.append(f"{word}={next(left, '')}" if word.startswith("--") and "=" not in word else word)
    return out


def _whole(key: str, value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Mistyped(f"{key} is a whole number, not {value!r}")
    return value


def _options(said: dict[str, JsonValue]) -> SupervisorOptions | None:
    wanted: dict[str, object] = {}
    for key in ("max_total", "processes"):
        if key in said:
            wanted[key] = _whole(key, said[key])
    if "balance" in said:
        wanted["balance"] = said["balance"]
    if "ageing" in said:
        wanted["ageing_s"] = length_s(str(said["ageing"]))
    if "preempt" in said:
        if said["preempt"] not in ("step", "now", "never"):
            raise Mistyped(f"preempt is one of step, now, never, not {said['preempt']!r}")
        wanted["preempt"] = Preempt(at=said["preempt"])  # type: ignore[arg-type]
    if not wanted:
        return None
    known = {each.name for each in fields(SupervisorOptions)}
    assert known.issuperset(wanted)
    try:
        return SupervisorOptions(**wanted)  # type: ignore[arg-type]
    except ValueError as error:
        raise Mistyped(str(error)) from error
