"""The stream of a run as text for a terminal or a pipe: the output of agents, line by line, and events between.

One agent holds the current line until it is complete. The output of other agents is buffered meanwhile.
"""

import json
from typing import Any, NamedTuple

from dashboard.clean import clean
from dashboard.views.words.amounts import describe_usage, pluralize
from engine.stream.records import StreamEvent

MAX_CHARACTERS = 200
"""Characters of arguments and results."""
MAX_WAITING_CHARACTERS = 2_000
"""Maximum buffered characters of an agent; beyond that, the current line is interrupted."""
_ENDS = {"done": "✓ done", "failed": "✕ failed", "cancelled": "■ cancelled", "skipped": "■ skipped"}


class _Piece(NamedTuple):
    """Consecutive output of an agent of one kind, text or thought."""

    agent: str
    kind: str
    text: str


class Transcript:
    """Renders the stream; each line starts with the name of its agent, a thought also with a mark."""

    def __init__(self) -> None:
        self._holder: tuple[str, str] | None = None
        """The task of an incomplete line, and the kind of its output."""
        self._waiting: dict[str, list[_Piece]] = {}
        """Buffered output by task; the task that has waited longest first."""

    def render(self, event: StreamEvent) -> str:
        """Return the text to write for an event; empty if it is buffered."""
        task_id, agent = event.task_id, event.agent
        if event.kind in ("text", "thought"):
            return self._add_text(task_id, _Piece(agent, event.kind, event.text))
        line = event_line(event)
        if not line:
            return ""
        output = self._break_line() + self._flush(task_id) + self._break_line()
        return f"{output}{clean(agent)}  {line}\n{self._flush_waiting()}"

    def end(self) -> str:
        """Return the buffered text at the end of the stream."""
        return self._break_line() + "".join(
            self._flush(task_id) + self._break_line() for task_id in list(self._waiting)
        )

    def _add_text(self, task_id: str, piece: _Piece) -> str:
        if self._holder is None or self._holder[0] == task_id:
            return self._write(task_id, piece) + self._flush_waiting()
        pieces = self._waiting.setdefault(task_id, [])
        if pieces and pieces[-1].kind == piece.kind:
            pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + piece.text)
        else:
            pieces.append(piece)
        return self.end() if sum(len(waiting_piece.text) for waiting_piece in pieces) > MAX_WAITING_CHARACTERS else ""

    def _write(self, task_id: str, piece: _Piece) -> str:
        """Continue the line of a task, or begin one."""
        speaker = task_id, piece.kind
        prefix = f"{clean(piece.agent)}  {'… ' if piece.kind == 'thought' else ''}"
        output = "" if self._holder == speaker else self._break_line() + prefix
        *lines, last = piece.text.split("\n")
        output += "".join(f"{clean(text)}\n{prefix}" for text in lines)
        self._holder = speaker
        if lines and not last:
            self._holder = None
            return output.removesuffix(prefix)
        return output + clean(last)

    def _flush_waiting(self) -> str:
        """Return the buffered text of other tasks while no line is held."""
        output = ""
        while self._holder is None and self._waiting:
            output += self._flush(next(iter(self._waiting)))
        return output

    def _break_line(self) -> str:
        """End an incomplete line."""
        was, self._holder = self._holder, None
        return "" if was is None else "\n"

    def _flush(self, task_id: str) -> str:
        """Return the buffered text of a task."""
        return "".join(self._write(task_id, piece) for piece in self._waiting.pop(task_id, ()))


def event_line(event: StreamEvent) -> str:
    """Return the line of an event that is not output; empty for an event without one."""
    match event.kind:
        case "task_started":
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return clean(f"▸ {event.name or ''}{again}".rstrip())
        case "task_ended":
            ending = _ENDS.get(event.status or "", f"■ {event.status}")
            return clean(f"{ending}: {event.text}" if event.text else ending)
        case "tool_started":
            return clean(f"⚙ {event.name} {_truncate(event.arguments)}".rstrip())
        case "tool_ended":
            return clean(f"⚙ {event.name} → {_truncate(event.result)}")
        case "step":
            return _step(event)
        case "asked":
            options: Any = event.arguments
            answers = f"  ({' · '.join(map(str, options))})" if options else ""
            return clean(f"⚑ {event.text}{answers}")
        case "steered":
            return clean(f"⇠ {event.text}")
        case "dropped":
            return f"… {pluralize(int(str(event.result)), 'character')} left out"
        case _:
            return ""


def _step(event: StreamEvent) -> str:
    """Return a failed call, the usage of a step, or a step of the agent's code; tools have lines of their own."""
    if event.status == "failed":
        return clean(f"✕ {event.name}: {event.text.removeprefix(f'{event.name}: ')}")
    if used := describe_usage(event.usage):
        return clean(f"✦ {event.name}  {used}")
    step_kind = getattr(event.event, "what", "code")
    return clean(f"· {event.name} → {_truncate(event.result)}") if step_kind == "code" else ""


def _truncate(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    text = " ".join(text[: MAX_CHARACTERS * 4].split())
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS] + "…"
