"""Rebuilds the prompt of a step as it was sent: system prompt, tools, messages. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dashboard.views.changes.drafts import values_in
from dashboard.views.drawing.lines import Line, Span
from dashboard.views.drawing.prose import paragraph
from dashboard.views.drawing.values import value_lines
from dashboard.views.event_log import Entry
from dashboard.views.facts.steps import calls_in, cut
from dashboard.views.words.names import JournalTexts, readable
from engine.core.events import StepRecorded
from engine.core.queries.work import prompts as queries
from engine.core.state import State, Task

MAX_CHARACTERS = 8_000
"""Characters of one message on the page that describes a task."""
_ROLE = 10
"""Cells of the column of roles."""
_TONES = {
    "system": "muted",
    "tools": "muted",
    "earlier": "faint",
    "you": "accent",
    "model": "",
    "tool": "tool",
    "steer": "accent",
}


class PromptMessage(NamedTuple):
    """One message of a prompt."""

    role: str
    """`system`, `tools`, `user`, `model`, `tool`, `steer`; `earlier` stands for missing messages."""
    text: str


def prompt_of(
    state: State,
    task: Task | None,
    steps: Sequence[Entry],
    parts: Mapping[str, str],
    texts: JournalTexts,
    *,
    request: str = "",
) -> list[PromptMessage]:
    """Return the prompt of the last of `steps`, or of the step after it if that is not a model's.

    Args:
        task: The task; None after the end of its run, when `request` replaces its input.
        steps: Its steps up to the selected one, the oldest first.
        parts: System prompts and tool schemas by hash, as far as they were read.
        texts: Values of the journal, as far as they were read.
        request: The input of a task that the state has dropped.
    """
    events = [entry.event for entry in steps if isinstance(entry.event, StepRecorded)]
    is_told = bool(events) and events[-1].what == "model"
    sent = queries.prompt_of(state, task, events[-1] if is_told else None, events[:-1] if is_told else events)
    messages = [message for sent_message in sent for message in _to_messages(sent_message, parts, texts)]
    if task is None and request:
        place = next(
            (at for at, message in enumerate(messages) if message.role not in ("system", "tools")), len(messages)
        )
        messages[place:place] = [*_missing_conversation(state, events), PromptMessage("user", request)]
    if task is not None and not is_told:
        messages += [PromptMessage("steer", text) for text in task.steers.values()]
    return [message for message in messages if message.text]


def _missing_conversation(state: State, steps: Sequence[StepRecorded]) -> list[PromptMessage]:
    """Return a notice for an ended run of a conversation, whose earlier messages are not available."""
    run_id = steps[-1].run_id if steps else ""
    for supervisor in state.supervisors.values():
        for name, conversation in supervisor.conversations.items():
            if any(number and exchange.run_id == run_id for number, exchange in conversation.exchanges.items()):
                return [
                    PromptMessage(
                        "earlier", f"what was said before in conversation {name} is shown while a run is open"
                    )
                ]
    return []


def _to_messages(sent: queries.SentMessage, parts: Mapping[str, str], texts: JournalTexts) -> list[PromptMessage]:
    """Return a message for display; a part that was not read yet is left out."""
    role, content, name = sent
    if role == "part":
        return [_part(parts[str(content)])] if str(content) in parts else []
    if role == "assistant":
        return [PromptMessage("model", _answer(texts.json(content)))]
    if role == "summary":
        value = texts.json(content)
        summary = value.get("summary") if isinstance(value, dict) else value
        return [PromptMessage("system", f"summary of what came before: {summary}")]
    text = readable(content) if isinstance(content, dict | list) else texts.of(content)
    return [PromptMessage(role, f"{name} → {text}" if name else text)]


def _answer(answer: Any) -> str:
    """Return the text and the tool calls of a model's answer."""
    if not isinstance(answer, dict):
        return readable(answer)
    named = [str(call.get("name")) for call in calls_in(answer)]
    asks = f"⚙ {', '.join(named)}" if named else ""
    return "\n".join(part for part in (str(answer.get("text") or ""), asks) if part)


def _part(text: str) -> PromptMessage:
    """Classify a part: tool schemas are JSON, a system prompt is text."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return PromptMessage("system", text)
    if isinstance(value, list):
        names = [_name(schema) for schema in value]
        return PromptMessage("tools", ", ".join(names) if all(names) else text)
    return PromptMessage("system", value if isinstance(value, str) else text)


def _name(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    inner = schema.get("function")
    return str((inner if isinstance(inner, dict) else schema).get("name") or "")


def prompt_text(messages: Sequence[PromptMessage]) -> str:
    """Return messages as plain text, long ones cut; empty without a message to or from a model."""
    if not any(message.role in ("system", "tools", "model") for message in messages):
        return ""
    return "\n\n".join(f"{role}: {cut(text, MAX_CHARACTERS)}" for role, text in messages)


def prompt_lines(messages: Sequence[PromptMessage], width: int, *, each: int = 1_000) -> list[Line]:
    """Return messages as lines, at most `each` per message, with the role at the left."""
    lines: list[Line] = []
    for role, text in messages:
        tone = _TONES.get(role, "")
        for at, line in enumerate(_body(text, width - _ROLE, tone=tone, max_lines=each)):
            lines.append(Line((Span(f"{role if not at else '':<{_ROLE}}", "muted"), *line.spans)))
    return lines


def _body(text: str, width: int, *, tone: str, max_lines: int) -> list[Line]:
    """Return a message as lines; JSON is laid out as a value."""
    values = values_in(text)
    if values is None:
        return list(paragraph(text, width, tone=tone, max_lines=max_lines))
    return [line for value in values for line in value_lines(value, width, max_lines=max_lines)][:max_lines]


def prompt_beginning(messages: Sequence[PromptMessage], width: int, height: int) -> list[Line]:
    """Return an excerpt of a prompt: its first part, the request, and the newest message of a person."""
    first = [message for message in messages if message.role in ("system", "tools")][:1]
    requests = [message for message in messages if message.role == "user"][-1:]
    steers = [message for message in messages if message.role == "steer"][-1:]
    room = max(1, height - len(steers) - min(2, height // 3))
    lines = prompt_lines(first, width, each=max(1, room if not requests else room - 1))[: room if first else 0]
    lines += prompt_lines(requests, width, each=max(1, height - len(lines) - len(steers)))
    return [*lines[: height - len(steers)], *prompt_lines(steers, width, each=1)][:height]
