"""What an attempt shows while it works: what it says and thinks, how far it is, and the tools that it calls.

Nothing of it is journaled; what counts is a step. What was said is kept as the partial result of a stopped attempt.
"""

from engine.core.effects import StartAttempt
from engine.core.fact import JsonValue
from engine.runtimes.holding import Services
from engine.runtimes.live import LiveText
from engine.runtimes.values import clean, shown_input

PARTIAL_CHARACTERS = 1_000_000
"""How much of what an attempt emitted is kept, from the start."""


class Showing:
    """The part of an attempt that shows what it does."""

    effect: StartAttempt
    over: bool
    _services: Services
    _emitted_characters = 0
    _live: LiveText | None = None

    def __init__(self) -> None:
        super().__init__()
        self._emitted: list[str] = []

    def emit(self, text: str) -> None:
        """Show output as it comes to be; what was emitted is kept when the attempt is stopped."""
        if self.over or not text:
            return
        text = clean(text)
        room = PARTIAL_CHARACTERS - self._emitted_characters
        if room > 0:
            self._emitted.append(text[:room])
            self._emitted_characters += len(self._emitted[-1])
        self._shown().add("text", text)

    def thought(self, text: str) -> None:
        """Show what a model thinks before it answers."""
        if not self.over and text:
            self._shown().add("thought", clean(text))

    def tool_started(self, name: str, arguments: JsonValue) -> None:
        """Show that a tool is being called; `arguments` as they are shown: short, and without secrets."""
        if not self.over:
            self._shown().call_started(name, shown_input(arguments))

    def tool_ended(self, name: str, result: JsonValue) -> None:
        """Show what a tool answered; also after an error, with what it says."""
        if not self.over:
            self._shown().call_ended(name)

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Show how far it is."""
        if not self.over:
            self._shown().progress(done, total, note)

    def show(self, name: str, text: str) -> None:
        """Show a text under the live key `name` of the task; an empty one removes it."""
        self._services.live(f"{name}:{self.effect.task_id}", text)

    @property
    def partial(self) -> JsonValue:
        """What it has emitted, or None."""
        return "".join(self._emitted) if self._emitted else None

    def _shown(self) -> LiveText:
        if self._live is None:
            services = self._services
            self._live = LiveText(self.effect.task_id, services.clock, services.live, services.later)
        return self._live
