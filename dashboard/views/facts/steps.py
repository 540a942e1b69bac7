"""Steps of agents as paragraphs: what each was, what went in and came out, what it took; and what goes on now."""

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
"""Steps of one page, the newest."""
MAX_CHARACTERS = 1_200
"""Of one text of a step; the page of its event has all of it."""
MAX_LIVE_CHARACTERS = 4_000
"""Of what is being written, from its end."""
CURSOR = "▍"
"""Stands where a text grows."""
EMPTY_INPUTS: tuple[JsonValue, ...] = (None, [], {}, [[], {}])
"""Inputs of steps that say nothing."""
GLYPHS = {"model": "✦ ", "tool": "⚙ ", "compact": "≡ ", "code": "· "}


def step_cells(events: Iterable[Event]) -> list[Cell]:
    """Return steps and failed calls of models, in the order of `events`; others of these are left out."""
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
    """What a model said: its thoughts dimmed, its text, and the tools that it asked for."""
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
    """Return the calls that a model's answer asks for; what the journal has there may be anything."""
    calls = answer.get("calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list | tuple) else []


def running_tools(live: Mapping[str, str], task_id: str, now_ms: int) -> list[Cell]:
    """Return the tools that a task calls now, each with what it was given and for how long it has run."""
    return [
        Cell(f"{name} {arguments}  {elapsed(now_ms - since_ms)}".rstrip(), "tool", "⚙ ")
        for name, arguments, since_ms in calls_of(live, task_id)
    ]


def calls_of(live: Mapping[str, str], task_id: str) -> list[tuple[str, str, int]]:
    """Return the tools that a task calls now: name, arguments, and since when."""
    published_calls = read_live_value(live, f"call:{task_id}")
    calls = [call for call in published_calls if isinstance(call, dict)] if isinstance(published_calls, list) else []
    return [
        (str(call.get("name")), cut(as_text(call.get("arguments"))), _to_int(call.get("since_ms"))) for call in calls
    ]


def live_cells(
    live: Mapping[str, str], task_id: str, now_ms: int, *, max_characters: int = MAX_LIVE_CHARACTERS
) -> list[Cell]:
    """Return what a task is doing now: thoughts dimmed, the text as it grows, and the tools that run."""
    cells = []
    thought, text = live.get(f"thought:{task_id}", ""), live.get(f"output:{task_id}", "")
    if thought:
        cells.append(Cell(_end_of(thought, max_characters if not text else max_characters // 4), "muted", "… "))
    if text:
        cells.append(Cell(_end_of(text, max_characters) + CURSOR, "", "  "))
    return [*cells, *running_tools(live, task_id, now_ms)]


def reported_progress(live: Mapping[str, str], task_id: str) -> tuple[float, float]:
    """Return how much of how much a task says that it has done; `(0, 0)` where it says nothing of that."""
    report = read_live_value(live, f"progress:{task_id}")
    if not isinstance(report, dict):
        return 0, 0
    done, total = report.get("done"), report.get("total")
    if not (isinstance(done, int | float) and isinstance(total, int | float) and total > 0):
        return 0, 0
    return min(max(done, 0), total), total


def last_line(live: Mapping[str, str], task_id: str) -> str:
    """Return the line that a task is writing, for a row of a table; the tool that runs goes before it."""
    if calls := calls_of(live, task_id):
        more = f" +{len(calls) - 1}" if len(calls) > 1 else ""
        return f"⚙ {calls[-1][0]}{more} {calls[-1][1]}".rstrip()
    text = live.get(f"output:{task_id}") or live.get(f"thought:{task_id}") or ""
    lines = [line for line in text[-600:].splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def cut(text: str, max_characters: int = MAX_CHARACTERS) -> str:
    """Return the beginning of a text, and how much is left out."""
    return (
        text
        if len(text) <= max_characters
        else f"{text[:max_characters]}… (and {pluralize(len(text) - max_characters, 'character')} more)"
    )


def _end_of(text: str, max_characters: int) -> str:
    """Return the end of a text, from the beginning of a word on."""
    if len(text) <= max_characters:
        return text
    tail = text[-max_characters:]
    return f"…{tail[tail.find(' ') :] if ' ' in tail[:80] else tail}"


def _to_int(value: object) -> int:
    return value if isinstance(value, int) else 0
