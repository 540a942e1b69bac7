"""The stream of a run as text for a terminal or a pipe: who says what, line by line, and what happens between.

One agent holds the line until it has finished it. What others say meanwhile waits, and follows whole.
"""

import json
from typing import Any

from dashboard.clean import clean
from dashboard.views.amounts import counted, spent
from engine.stream.records import StreamEvent

SHOWN_CHARACTERS = 200
"""Of arguments and results in one line."""
MOST_WAITING = 2_000
"""What waits for the line at most; then the one who holds it is interrupted."""
_ENDS = {"done": "✓ done", "failed": "✕ failed", "cancelled": "■ cancelled", "skipped": "■ skipped"}


class Transcript:
    """Text of agents as it comes, each line with its agent's name before it; a thought has a mark, too."""

    def __init__(self) -> None:
        self._holder: tuple[str, str] | None = None
        """The task whose line is not finished, and what it holds: text or a thought."""
        self._waiting: dict[tuple[str, str], tuple[str, str]] = {}
        """The same of others: their agent, and what they have said meanwhile."""

    def tell(self, event: StreamEvent) -> str:
        """Return what is to be written next; nothing where it waits."""
        if event.kind in ("text", "thought"):
            return self._say((event.task_id, event.kind), event.agent, event.text)
        line = line_of(event)
        if not line:
            return ""
        return self._broken() + self._rest_of(event.task_id) + f"{clean(event.agent)}  {line}\n"

    def end(self) -> str:
        """Return what is left to be written."""
        return self._broken() + "".join(self._rest_of(task_id) for task_id, _ in list(self._waiting))

    def _say(self, speaker: tuple[str, str], agent: str, text: str) -> str:
        if self._holder is not None and self._holder != speaker:
            if self._holder[0] != speaker[0]:
                held = self._waiting.get(speaker, (agent, ""))[1] + text
                self._waiting[speaker] = (agent, held)
                return self.end() if len(held) > MOST_WAITING else ""
            return self._broken() + self._say(speaker, agent, text)
        prefix = f"{clean(agent)}  {'… ' if speaker[1] == 'thought' else ''}"
        lines = text.split("\n")
        written = "" if self._holder == speaker else prefix
        self._holder = speaker
        written += f"\n{prefix}".join(map(clean, lines[:-1]))
        if len(lines) == 1:
            return written + clean(lines[0])
        if lines[-1]:
            return f"{written}\n{prefix}{clean(lines[-1])}"
        self._holder = None
        return written + "\n" + self._next()

    def _next(self) -> str:
        """Give the line to who waits longest."""
        written = ""
        while self._holder is None and self._waiting:
            speaker = next(iter(self._waiting))
            written += self._say(speaker, *self._waiting.pop(speaker))
        return written

    def _broken(self) -> str:
        """End a line that is not finished."""
        was, self._holder = self._holder, None
        return "" if was is None else "\n"

    def _rest_of(self, task_id: str) -> str:
        """Write what a task said that waits."""
        written = ""
        for speaker in [one for one in self._waiting if one[0] == task_id]:
            written += self._say(speaker, *self._waiting.pop(speaker)) + self._broken()
        return written


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
            return f"… {counted(int(str(event.result)), 'character')} left out"
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
