"""Steps of agents as paragraphs, with input, output and usage; and the current work."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dashboard.views.drawing.rows import Cell
from dashboard.views.facts.live_values import read_live_value
from dashboard.views.words.amounts import clock, describe_usage, duration, elapsed, pluralize
from dashboard.views.words.names import readable
from engine.core.events import Event, ModelFailed, StepRecorded
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text

MAX_STEPS = 20
"""Steps on one page, the newest."""
MAX_CHARACTERS = 1_200
"""Characters of one text of a step; the page of its event has the whole text."""
MAX_LIVE_CHARACTERS = 4_000
"""Characters of live text, counted from its end."""
CURSOR = "▍"
"""Marks the end of a growing text."""
EMPTY_INPUTS: tuple[JsonValue, ...] = (None, [], {}, [[], {}])
"""Inputs of steps that are not shown."""
GLYPHS = {"model": "✦ ", "tool": "⚙ ", "compact": "≡ ", "code": "· "}


def step_cells(events: Iterable[Event]) -> list[Cell]:
    """Return the steps and failed model calls among `events`, in their order."""
    cells: list[Cell] = []
    for event in events:
        if isinstance(event, StepRecorded):
            cells += _step(event)
        elif isinstance(event, ModelFailed):
            took = describe_usage(event.usage)
            cells.append(Cell(f"{event.model} failed  {clock(event.at_ms)}  {took}".rstrip(), "error", "✕ "))
            cells.append(Cell(f"{event.error_type}: {event.error}", "error", "    "))
    return cells


def latest_steps(events: Sequence[Event], max_steps: int = MAX_STEPS) -> list[Event]:
    """Return the last steps of `events`, which come oldest first."""
    steps: list[Event] = [event for event in events if isinstance(event, StepRecorded | ModelFailed)]
    return steps[-max_steps:]


def _step(event: StepRecorded) -> Iterable[Cell]:
    took = "  ".join(
        part for part in (clock(event.at_ms), duration(event.duration_ms), describe_usage(event.usage)) if part
    )
    name = event.name.removeprefix("tool:")
    if event.what == "model" and isinstance(event.input, dict):
        name = str(event.input.get("model") or name)
    yield Cell(f"{name}  {took}", "tool" if event.what == "tool" else "waiting", GLYPHS[event.what])
    if event.what != "model" and event.input not in EMPTY_INPUTS:
        yield Cell(cut(as_text(event.input)), "muted", "  ← ")
    if event.what == "model" and isinstance(event.output, dict):
        yield from _answer(event.output)
    elif event.output is not None:
        yield Cell(cut(readable(event.output)), "", "  → ")


def _answer(answer: Mapping[str, Any]) -> Iterable[Cell]:
    """Yield a model's answer: its thoughts dimmed, its text, and its tool calls."""
    thinking = answer.get("thinking")
    if isinstance(thinking, str) and thinking:
        yield Cell(cut(thinking), "muted", "  … ")
    if text := str(answer.get("text") or ""):
        yield Cell(cut(text), "", "  → ")
    for call in calls_in(answer):
        arguments = as_text(call.get("arguments")) if call.get("invalid") is None else str(call["invalid"])
        yield Cell(cut(f"{call.get('name')} {arguments}"), "tool", "  ⚙ ")
    if (finish := answer.get("finish", "stop")) not in ("stop", "calls"):
        yield Cell(f"ended by {finish}", "warn", "    ")


def calls_in(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tool calls of a model's answer; the recorded value may have any type."""
    calls = answer.get("calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list | tuple) else []


def running_tools(live: Mapping[str, str], task_id: str, now_ms: int) -> list[Cell]:
    """Return the running tools of a task, with arguments and elapsed time."""
    return [
        Cell(f"{name} {arguments}  {elapsed(now_ms - since_ms)}".rstrip(), "tool", "⚙ ")
        for name, arguments, since_ms in calls_of(live, task_id)
    ]


def calls_of(live: Mapping[str, str], task_id: str) -> list[tuple[str, str, int]]:
    """Return the running tools of a task: name, arguments, and start in UTC milliseconds."""
    published_calls = read_live_value(live, f"call:{task_id}")
    calls = [call for call in published_calls if isinstance(call, dict)] if isinstance(published_calls, list) else []
    return [
        (str(call.get("name")), cut(as_text(call.get("arguments"))), _to_int(call.get("since_ms"))) for call in calls
    ]


def live_cells(
    live: Mapping[str, str], task_id: str, now_ms: int, *, max_characters: int = MAX_LIVE_CHARACTERS
) -> list[Cell]:
    """Return the current work of a task: thoughts dimmed, live text, and running tools."""
    cells = []
    thought, text = live.get(f"thought:{task_id}", ""), live.get(f"output:{task_id}", "")
    if thought:
        cells.append(Cell(_end_of(thought, max_characters if not text else max_characters // 4), "muted", "… "))
    if text:
        cells.append(Cell(_end_of(text, max_characters) + CURSOR, "", "  "))
    return [*cells, *running_tools(live, task_id, now_ms)]


def words_now(live: Mapping[str, str], task_id: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Return the running tools of a task with their arguments, then the end of its live text, on one line."""
    calls = [f"⚙ {name} {arguments}" for name, arguments, _ in calls_of(live, task_id)]
    text = live.get(f"output:{task_id}") or live.get(f"thought:{task_id}") or ""
    return " ".join(" ".join([*calls, text[-max_characters:]]).split())


def last_line(live: Mapping[str, str], task_id: str) -> str:
    """Return the running tool of a task, else the last line of its live text, for a row of a table."""
    if calls := calls_of(live, task_id):
        more = f" +{len(calls) - 1}" if len(calls) > 1 else ""
        return f"⚙ {calls[-1][0]}{more} {calls[-1][1]}".rstrip()
    text = live.get(f"output:{task_id}") or live.get(f"thought:{task_id}") or ""
    lines = [line for line in text[-600:].splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def cut(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Cut a text, and say how much is left out."""
    if len(text) <= max_characters:
        return text
    return f"{text[:max_characters]}… (and {pluralize(len(text) - max_characters, 'character')} more)"


def _end_of(text: str, max_characters: int) -> str:
    """Return the end of a text, from the start of a word if possible."""
    if len(text) <= max_characters:
        return text
    tail = text[-max_characters:]
    return f"…{tail[tail.find(' ') :] if ' ' in tail[:80] else tail}"


def _to_int(value: object) -> int:
    return value if isinstance(value, int) else 0
