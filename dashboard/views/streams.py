"""The stream of a run as text for a terminal or a pipe: who says what, line by line, and what happens between.

One agent holds the line until it has finished it. What others say meanwhile waits, and follows whole.
"""

import json
from typing import Any, NamedTuple

from dashboard.clean import clean
from dashboard.views.words.amounts import pluralize, spent
from engine.stream.records import StreamEvent

SHOWN_CHARACTERS = 200
"""Of arguments and results in one line."""
MOST_WAITING = 2_000
"""What waits for the line at most; then the one who holds it is interrupted."""
_ENDS = {"done": "✓ done", "failed": "✕ failed", "cancelled": "■ cancelled", "skipped": "■ skipped"}


class _Piece(NamedTuple):
    """Text of one kind that an agent said without a pause by the other kind."""

    agent: str
    kind: str
    text: str


class Transcript:
    """Text of agents as it comes, each line with its agent's name before it; a thought has a mark, too."""

    def __init__(self) -> None:
        self._holder: tuple[str, str] | None = None
        """The task whose line is not finished, and what it holds: text or a thought."""
        self._waiting: dict[str, list[_Piece]] = {}
        """What others have said meanwhile, in order, by task; the one that waits longest first."""

    def tell(self, event: StreamEvent) -> str:
        """Return what is to be written next; nothing where it waits."""
        task_id, agent = event.task_id, event.agent
        if event.kind in ("text", "thought"):
            return self._say(task_id, _Piece(agent, event.kind, event.text))
        line = line_of(event)
        if not line:
            return ""
        written = self._broken() + self._rest_of(task_id) + self._broken()
        return f"{written}{clean(agent)}  {line}\n{self._next()}"

    def end(self) -> str:
        """Return what is left to be written."""
        return self._broken() + "".join(self._rest_of(task_id) + self._broken() for task_id in list(self._waiting))

    def _say(self, task_id: str, piece: _Piece) -> str:
        if self._holder is None or self._holder[0] == task_id:
            return self._write(task_id, piece) + self._next()
        pieces = self._waiting.setdefault(task_id, [])
        if pieces and pieces[-1].kind == piece.kind:
            pieces[-1] = pieces[-1]._replace(text=pieces[-1].text + piece.text)
        else:
            pieces.append(piece)
        return self.end() if sum(len(one.text) for one in pieces) > MOST_WAITING else ""

    def _write(self, task_id: str, piece: _Piece) -> str:
        """Continue the line of a task, or begin one."""
        speaker = task_id, piece.kind
        prefix = f"{clean(piece.agent)}  {'… ' if piece.kind == 'thought' else ''}"
        written = "" if self._holder == speaker else self._broken() + prefix
        *lines, last = piece.text.split("\n")
        written += "".join(f"{clean(text)}\n{prefix}" for text in lines)
        self._holder = speaker
        if lines and not last:
            self._holder = None
            return written.removesuffix(prefix)
        return written + clean(last)

    def _next(self) -> str:
        """Give the line to who waits longest."""
        written = ""
        while self._holder is None and self._waiting:
            written += self._rest_of(next(iter(self._waiting)))
        return written

    def _broken(self) -> str:
        """End a line that is not finished."""
        was, self._holder = self._holder, None
        return "" if was is None else "\n"

    def _rest_of(self, task_id: str) -> str:
        """Write what a task said that waits."""
        return "".join(self._write(task_id, piece) for piece in self._waiting.pop(task_id, ()))


def line_of(event: StreamEvent) -> str:
    """Return what is written of an event that is not text; empty where it is not worth a line."""
    match event.kind:
        case "task_started":
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            return clean(f"▸ {event.name or ''}{again}".rstrip())
        case "task_ended":
            told = _ENDS.get(event.status or "", f"■ {event.status}")
            return clean(f"{told}: {event.text}" if event.text else told)
        case "tool_started":
            return clean(f"⚙ {event.name} {_short(event.arguments)}".rstrip())
        case "tool_ended":
            return clean(f"⚙ {event.name} → {_short(event.result)}")
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
    """A failed call, what a step used, or a step of the agent's code; a tool has told of itself."""
    if event.status == "failed":
        return clean(f"✕ {event.name}: {event.text.removeprefix(f'{event.name}: ')}")
    if used := spent(event.usage):
        return clean(f"✦ {event.name}  {used}")
    what = getattr(event.event, "what", "code")
    return clean(f"· {event.name} → {_short(event.result)}") if what == "code" else ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    text = " ".join(text[: SHOWN_CHARACTERS * 4].split())
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + "…"
