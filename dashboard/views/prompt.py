"""What the model of a step was told, put together as it was sent: system prompt, tools, messages. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.views.event_log import Entry
from dashboard.views.lines import Line, Span
from dashboard.views.names import Texts, readable
from dashboard.views.prose import paragraph
from engine.core.events import StepRecorded
from engine.core.queries.conversation import remembered_by
from engine.core.state import State, Task

_ROLE = 10
"""Cells of a role before its text."""
_TONES = {"system": "muted", "tools": "muted", "you": "accent", "model": "", "tool": "tool", "steer": "accent"}


class Message(NamedTuple):
    """One message, with who says it."""

    role: str
    """`system`, `tools`, `user`, `model`, `tool`, `steer`."""
    text: str


def prompt_of(
    state: State, task: Task | None, steps: Sequence[Entry], parts: Mapping[str, str], texts: Texts, *, asked: str = ""
) -> list[Message]:
    """Return what the model was told for the last of `steps`, or for the step after it where that is no model's.

    Args:
        state: The team.
        task: The task; None when its run has ended, then `asked` stands for its request.
        steps: Its steps up to the one that is looked at, the oldest first.
        parts: System prompts and tool schemas by hash, as far as they were read.
        texts: Values of the journal, as far as they were read.
        asked: The request of a task that the state has forgotten.
    """
    events = [entry.event for entry in steps if isinstance(entry.event, StepRecorded)]
    last = next((at for at in range(len(events) - 1, -1, -1) if events[at].what == "model"), None)
    named = events[last].parts if last is not None else []
    messages = [_part(parts[part]) for part in named if part in parts]
    if task is not None:
        for exchange in remembered_by(state, task):
            messages += [Message("user", texts.of(exchange.request)), Message("model", texts.of(exchange.output))]
        messages.append(Message("user", texts.of(task.input)))
        messages += [Message("steer", text) for text in task.steers.values()]
    elif asked:
        messages.append(Message("user", asked))
    before = events if last is None or last < len(events) - 1 else events[:last]
    for event in before:
        messages += _messages(event)
    return [one for one in messages if one.text]


def _part(text: str) -> Message:
    """Return a part by what it is: schemas of tools are JSON, a system prompt is a text."""
    try:
        found: Any = json.loads(text)
    except ValueError:
        return Message("system", text)
    if isinstance(found, list):
        names = [_name(one) for one in found]
        return Message("tools", ", ".join(names) if all(names) else text)
    return Message("system", found if isinstance(found, str) else text)


def _name(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    inner = schema.get("function")
    return str((inner if isinstance(inner, dict) else schema).get("name") or "")


def _messages(event: StepRecorded) -> list[Message]:
    if event.steers:
        return [Message("steer", readable(event.output))]
    if event.what == "model" and isinstance(event.output, dict):
        calls = event.output.get("calls")
        named = [str(call.get("name")) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
        asks = f"⚙ {', '.join(named)}" if named else ""
        return [Message("model", "\n".join(one for one in (str(event.output.get("text") or ""), asks) if one))]
    if event.what == "tool":
        return [Message("tool", f"{event.name.removeprefix('tool:')} → {readable(event.output)}")]
    if event.what == "compact" and isinstance(event.output, dict):
        return [Message("system", f"summary of what came before: {event.output.get('summary')}")]
    return []


def prompt_lines(messages: Sequence[Message], width: int, *, each: int = 1_000) -> list[Line]:
    """Return messages as lines, at most `each` of one: who says it at the left, what at the right."""
    lines: list[Line] = []
    for role, text in messages:
        tone = _TONES.get(role, "")
        for at, line in enumerate(paragraph(text, width - _ROLE, tone=tone, most=each)):
            lines.append(Line((Span(f"{role if not at else '':<{_ROLE}}", "muted"), *line.spans)))
    return lines


def folded_prompt(messages: Sequence[Message], width: int, height: int) -> list[Line]:
    """Return the beginning of a prompt: how it opens, what was asked, and the newest message of a person."""
    first = [one for one in messages if one.role in ("system", "tools")][:1]
    asked = [one for one in messages if one.role == "user"][-1:]
    steers = [one for one in messages if one.role == "steer"][-1:]
    room = max(1, height - len(steers) - min(2, height // 3))
    lines = prompt_lines(first, width, each=max(1, room if not asked else room - 1))[: room if first else 0]
    lines += prompt_lines(asked, width, each=max(1, height - len(lines) - len(steers)))
    return [*lines[: height - len(steers)], *prompt_lines(steers, width, each=1)][:height]
