"""The pulses of attempts at work: when each said something last, and which steps of it run.

Attempts only set fields; the thread that writes the live file makes the texts, at most once a second.
"""

import json
import time

PULSE_PREFIX = "pulse:"
"""Prefix of the keys of pulses in the live file."""
EVERY_S = 1.0
"""Shortest time between two texts of one pulse, and until the first: most attempts are over by then."""


class Pulse:
    """The pulse of one attempt."""

    def __init__(self) -> None:
        self.chunk_ms: int | None = None
        """When it said something last, on the engine's clock."""
        self.repeats = ""
        """The tools that it has called again with the same arguments and results."""
        self.began_s = time.monotonic()
        self._steps: dict[int, tuple[str, str, int]] = {}
        self._last_number = 0

    def begin(self, what: str, name: str, at_ms: int) -> int:
        """Note that a step begins, and return its number."""
        self._last_number += 1
        self._steps[self._last_number] = (what, name, at_ms)
        return self._last_number

    def end(self, number: int) -> None:
        """Note that a step has ended."""
        self._steps.pop(number, None)

    @property
    def content(self) -> tuple[int | None, str, tuple[tuple[str, str, int], ...]]:
        """What its text is made from."""
        return self.chunk_ms, self.repeats, tuple(self._steps.values())


def text_of(pulse: Pulse) -> str:
    """Return the text of a pulse for the live file."""
    chunk_ms, repeats, steps = pulse.content
    shown_steps = [{"what": what, "name": name, "since_ms": since_ms} for what, name, since_ms in steps]
    return json.dumps({"chunk_ms": chunk_ms, "steps": shown_steps} | ({"repeats": repeats} if repeats else {}))


class Pulses:
    """The pulses of all attempts at work, by task."""

    def __init__(self) -> None:
        self._pulses: dict[str, Pulse] = {}
        self._shown: dict[str, object] = {}
        self._next_s = 0.0

    def follow(self, task_id: str, pulse: Pulse) -> None:
        """Publish the pulse of an attempt, until `drop`."""
        self._pulses[task_id] = pulse

    def drop(self, task_id: str, pulse: Pulse) -> None:
        """Stop publishing a pulse; that of a later attempt stays."""
        if self._pulses.get(task_id) is pulse:
            del self._pulses[task_id]

    def take(self) -> dict[str, str]:
        """Return the texts that have changed, by key; an empty one removes its key."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return {}
        self._next_s = now_s + EVERY_S
        pulses, texts = dict(self._pulses), {}
        for task_id, pulse in pulses.items():
            content = pulse.content
            if self._shown.get(task_id) != content and now_s - pulse.began_s >= EVERY_S:
                self._shown[task_id] = content
                texts[f"{PULSE_PREFIX}{task_id}"] = text_of(pulse)
        for task_id in [task_id for task_id in self._shown if task_id not in pulses]:
            del self._shown[task_id]
            texts[f"{PULSE_PREFIX}{task_id}"] = ""
        return texts
