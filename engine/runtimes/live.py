"""What readers see of an attempt while it works: its latest output and how far it is, ten times a second at most."""

import json
from collections.abc import Callable

from engine.clock import Clock

EVERY_MS = 100
SHOWN_CHARACTERS = 16_000
"""How much of the output is shown, from its end."""


class LiveText:
    """The live keys of one task: `output:<task id>` and `progress:<task id>`.

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
        self._text = ""
        self._progress = ""
        self._changed: set[str] = set()
        self._keys: set[str] = set()
        self._take_back: Callable[[], None] | None = None

    def add(self, text: str) -> None:
        """Show more output."""
        self._text = (self._text + text)[-SHOWN_CHARACTERS:]
        self._show("output")

    def progress(self, done: int, total: int, note: str) -> None:
        """Show how far it is, as `{"done", "total", "note"}`."""
        self._progress = json.dumps({"done": int(done), "total": int(total), "note": str(note)[:200]})
        self._show("progress")

    def close(self) -> None:
        """Show nothing any more."""
        if self._take_back is not None:
            self._take_back()
            self._take_back = None
        for name in self._keys:
            self._put(f"{name}:{self._task_id}", "")

    def _show(self, name: str) -> None:
        self._changed.add(name)
        self._keys.add(name)
        if self._take_back is None:
            self._flush()

    def _flush(self) -> None:
        self._take_back = None
        if not self._changed:
            return
        for name in sorted(self._changed):
            self._put(f"{name}:{self._task_id}", self._text if name == "output" else self._progress)
        self._changed.clear()
        self._take_back = self._later(self._clock.now_ms() + EVERY_MS, self._flush)
