"""Live output of an attempt: text, thoughts, progress, tool calls, and its pulse: when it said something, what runs.

It is not journaled, except that emitted text becomes the partial result of a stopped attempt.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from engine.core.effects import StartAttempt
from engine.core.events.attempt import StepKind
from engine.core.records.records import JsonValue
from engine.runtimes.attempts.services import Services
from engine.runtimes.values import clean
from engine.stream.pulses import Pulse
from engine.stream.records import Piece, PieceKind, Speaker

PARTIAL_CHARACTERS = 1_000_000
"""Characters of emitted text that are kept as a partial result."""


class AttemptOutput:
    """The part of an attempt that produces live output."""

    _is_closed = False
    _emitted_characters = 0
    _speaker: Speaker | None = None

    def __init__(self, effect: StartAttempt, services: Services) -> None:
        self._effect = effect
        self._services = services
        self._emitted: list[str] = []
        self.pulse = Pulse()
        services.bus.board.pulses.follow(effect.task_id, self.pulse)

    def emit(self, text: str) -> None:
        """Show output while it is produced, and keep it as the partial result."""
        if self._is_closed or not text:
            return
        text = clean(text)
        characters_left = PARTIAL_CHARACTERS - self._emitted_characters
        if characters_left > 0:
            self._emitted.append(text[:characters_left])
            self._emitted_characters += len(self._emitted[-1])
        self._publish("text", text)

    def show_thought(self, text: str) -> None:
        """Show thoughts of a model."""
        if text:
            self._publish("thought", clean(text))

    def tool_started(self, name: str, arguments: JsonValue) -> None:
        """Show that a tool is being called."""
        self._publish("tool_started", name=name, value=arguments)

    def tool_ended(self, name: str, result: JsonValue) -> None:
        """Show the result of a tool, or its error."""
        self._publish("tool_ended", name=name, value=result)

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Show progress, which streams do not contain."""
        if not self._is_closed:
            self.pulse.chunk_ms = self._services.clock.now_ms()
            self._services.bus.board.progress(self._get_speaker().task_id, done, total, note)

    @contextmanager
    def step(self, what: StepKind, name: str) -> Iterator[None]:
        """Show that a step runs during the body."""
        number = self.pulse.begin(what, name, self._services.clock.now_ms())
        try:
            yield
        finally:
            self.pulse.end(number)

    def show(self, name: str, text: str) -> None:
        """Show a text under the live key `name` of the task; an empty one removes it."""
        self._services.live(f"{name}:{self._effect.task_id}", text)

    @property
    def partial(self) -> JsonValue:
        """Its emitted text, or None."""
        return "".join(self._emitted) if self._emitted else None

    def announce(self, key: str) -> None:
        """Tell readers that an event with `key` will follow: live output from now on belongs after that event."""
        bus = self._services.bus
        if self._speaker is not None or bus.has_readers:
            bus.expect(self._get_speaker(), key)

    def close(self) -> None:
        """Remove the live output, and show none from now on."""
        self._is_closed = True
        self._services.bus.board.pulses.drop(self._effect.task_id, self.pulse)
        if self._speaker is not None:
            self._services.bus.publish(Piece(self._speaker, "closed", self._services.clock.now_ms()))

    def _publish(self, kind: PieceKind, text: str = "", *, name: str | None = None, value: JsonValue = None) -> None:
        if not self._is_closed:
            at_ms = self._services.clock.now_ms()
            if text:
                self.pulse.chunk_ms = at_ms
            self._services.bus.publish(Piece(self._get_speaker(), kind, at_ms, text, name, value))

    def _get_speaker(self) -> Speaker:
        if self._speaker is None:
            effect = self._effect
            self._speaker = Speaker(effect.run_id, effect.task_id, effect.attempt, effect.agent_id, effect.agent)
        return self._speaker
