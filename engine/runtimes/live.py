"""What readers see of an attempt while it works: its latest output, how far it is, and the tools that it calls.

Under the live keys `output:`, `thought:`, `progress:` and `call:`, each with the id of the task; see
docs/reference/files.md. Each is written ten times a second at most.
"""

import json
from collections.abc import Callable
from typing import Literal, TypeAlias

from engine.clock import Clock
from engine.core.fact import JsonValue

EVERY_MS = 100
SHOWN_CHARACTERS = 16_000
"""How much of the output, and of the thoughts, is shown, from its end."""

TextKind: TypeAlias = Literal["text", "thought"]
"""What a model says, and what it thinks before."""

_KEYS: dict[TextKind, str] = {"text": "output", "thought": "thought"}


class LiveText:
    """The live keys of one task.

    Args:
        task_id: The task.
        clock: The engine's.
        put: Shows a text under a key.
        later: Calls something at a moment.
    """

    def __init__(
        self,
        task_id: str,
        clock: Clock,
        put: Callable[[str, str], None],
        later: Callable[[int, Callable[[], None]], Callable[[], None]],
    ) -> None:
        self._task_id = task_id
        self._clock = clock
        self._put = put
        self._later = later
        self._texts: dict[str, str] = {}
        """What stands under each key."""
        self._waiting: dict[str, list[str]] = {}
        """Pieces that are to be added there."""
        self._calls: list[dict[str, JsonValue]] = []
        self._changed: set[str] = set()
        self._take_back: Callable[[], None] | None = None

    def add(self, kind: TextKind, text: str) -> None:
        """Show more of what it says or thinks."""
        key = _KEYS[kind]
        self._waiting.setdefault(key, []).append(text)
        self._show(key)

    def progress(self, done: int, total: int, note: str) -> None:
        """Show how far it is, as `{"done", "total", "note"}`."""
        self._texts["progress"] = json.dumps({"done": int(done), "total": int(total), "note": str(note)[:200]})
        self._show("progress")

    def call_started(self, name: str, arguments: JsonValue) -> None:
        """Show that a tool runs: a list of `{"name", "arguments", "since_ms"}`, the oldest first."""
        self._calls.append({"name": name, "arguments": arguments, "since_ms": self._clock.now_ms()})
        self._show_calls()

    def call_ended(self, name: str) -> None:
        """Show that the oldest call of a tool does not run any more."""
        for place, one in enumerate(self._calls):
            if one["name"] == name:
                del self._calls[place]
                self._show_calls()
                return

    def close(self) -> None:
        """Show nothing any more."""
        if self._take_back is not None:
            self._take_back()
            self._take_back = None
        for name in self._texts:
            self._put(f"{name}:{self._task_id}", "")

    def _show_calls(self) -> None:
        self._texts["call"] = json.dumps(self._calls) if self._calls else ""
        self._show("call")

    def _show(self, key: str) -> None:
        self._changed.add(key)
        if self._take_back is None:
            self._flush()

    def _flush(self) -> None:
        self._take_back = None
        if not self._changed:
            return
        for key in sorted(self._changed):
            if (pieces := self._waiting.pop(key, None)) is not None:
                self._texts[key] = (self._texts.get(key, "") + "".join(pieces))[-SHOWN_CHARACTERS:]
            self._put(f"{key}:{self._task_id}", self._texts[key])
        self._changed.clear()
        self._take_back = self._later(self._clock.now_ms() + EVERY_MS, self._flush)
