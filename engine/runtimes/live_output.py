"""What an attempt shows while it works: what it says and thinks, how far it is, and the tools that it calls.

Nothing of it is journaled; what counts is a step. What was said is kept as the partial result of a stopped attempt.
"""

from engine.core.effects import StartAttempt
from engine.core.records import JsonValue
from engine.runtimes.attempt_slot import Services
from engine.runtimes.values import clean
from engine.stream.records import Piece, PieceKind, Speaker

PARTIAL_CHARACTERS = 1_000_000
"""How much of what an attempt emitted is kept, from the start."""


class Showing:
    """The part of an attempt that shows what it does."""

    effect: StartAttempt
    over: bool
    _services: Services
    _emitted_characters = 0
    _speaker: Speaker | None = None

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
        self._say("text", text)

    def thought(self, text: str) -> None:
        """Show what a model thinks before it answers."""
        if text:
            self._say("thought", clean(text))

    def tool_started(self, name: str, arguments: JsonValue) -> None:
        """Show that a tool is being called."""
        self._say("tool_started", name=name, value=arguments)

    def tool_ended(self, name: str, result: JsonValue) -> None:
        """Show what a tool answered; also after an error, with what it says."""
        self._say("tool_ended", name=name, value=result)

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Show how far it is."""
        if not self.over:
            self._services.bus.progress(self._named(), done, total, note)

    def show(self, name: str, text: str) -> None:
        """Show a text under the live key `name` of the task; an empty one removes it."""
        self._services.live(f"{name}:{self.effect.task_id}", text)

    @property
    def partial(self) -> JsonValue:
        """What it has emitted, or None."""
        return "".join(self._emitted) if self._emitted else None

    def _reports(self, key: str) -> None:
        """Take note that something is reported that is going to be journaled: what is said from now on comes after."""
        bus = self._services.bus
        if self._speaker is not None or bus.is_heard:
            bus.expect(self._named(), key)

    def _show_no_more(self) -> None:
        """Take away what was only shown while it worked."""
        if self._speaker is not None:
            self._services.bus.say(Piece(self._speaker, "closed", self._services.clock.now_ms()))

    def _say(self, kind: PieceKind, text: str = "", *, name: str | None = None, value: JsonValue = None) -> None:
        if not self.over:
            self._services.bus.say(Piece(self._named(), kind, self._services.clock.now_ms(), text, name, value))

    def _named(self) -> Speaker:
        if self._speaker is None:
            effect = self.effect
            self._speaker = Speaker(effect.run_id, effect.task_id, effect.attempt, effect.agent_id, effect.agent)
        return self._speaker
