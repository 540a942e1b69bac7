"""The live texts of tasks, for readers in other processes.

`output:` and `thought:` contain the end of the text, `progress:` the progress, `call:` the running tool calls. `tape:`
contains the recent output, that of the last seconds, numbered, with the places of journaled events in it, for streams;
`pulse:` when an attempt said something last, and its steps (`pulses`).
See docs/reference/files.md.

The loop only notes live output; the thread that writes the live file assembles the texts when it takes them.
"""

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from engine.core.records.records import JsonValue
from engine.runtimes.values import shown_input
from engine.stream.pulses import Pulses
from engine.stream.records import Piece

MAX_SHOWN_CHARACTERS = 16_000
"""Characters of output, and of thoughts, that are shown, from the end."""
RECENT_S = 3.0
"""How long live output of a task counts as recent."""
MAX_RECENT_CHARACTERS = 200_000
"""Limit on the characters of the recent output of a task."""
MAX_NOTES = 1_000
"""Limit on notes of a task before they are merged, for a store in memory, where no thread takes them."""
RECENT_PREFIX = "tape:"
"""Prefix of the keys of recent outputs; the key without a task contains the last event before the texts."""

_KEYS = {"text": "output", "thought": "thought"}


class _Place(NamedTuple):
    """The place of a journaled event."""

    seq: int
    ends_text: bool


_Note: TypeAlias = Piece | _Place | str
"""A piece, the place of a journaled event, or the text of `progress:`."""


class LiveTexts:
    """The live texts of all tasks at work.

    Args:
        with_recent: Keep recent outputs, for stream readers in other processes.
        on_change: Called when something has changed.
    """

    def __init__(self, *, with_recent: bool, on_change: Callable[[], None]) -> None:
        self._with_recent = with_recent
        self._on_change = on_change
        self.pulses = Pulses()
        self._lock = threading.Lock()
        self._taking = threading.Lock()
        self._tasks: dict[str, _TaskTexts] = {}
        self._changed: dict[str, _TaskTexts] = {}
        self._delivered_seq = 0
        self._newest_seq = 0
        self._shown_seq = 0

    @property
    def is_live(self) -> bool:
        """True while any task has live texts."""
        return bool(self._tasks)

    def add(self, piece: Piece) -> None:
        """Add live output of an attempt."""
        self._note(piece.speaker.task_id, piece)

    def progress(self, task_id: str, done: int, total: int, note: str) -> None:
        """Set the progress of a task, as `{"done", "total", "note"}`."""
        self._note(task_id, json.dumps({"done": int(done), "total": int(total), "note": str(note)[:200]}))

    def note(self, seq: int, task_id: str, *, ends_text: bool = False) -> None:
        """Mark a journaled event in the live output of its task; it may hold the text before it, as an answer does."""
        self._newest_seq = seq
        if self._with_recent and task_id in self._tasks:
            self._note(task_id, _Place(seq, ends_text))

    def mark_delivered(self, seq: int) -> None:
        """Note that all live output from before event `seq` has been added."""
        self._delivered_seq = self._newest_seq = seq
        if self._with_recent and self._tasks:
            self._on_change()

    def take(self) -> dict[str, str]:
        """Return the changed texts by key; an empty text removes its key."""
        with self._taking:
            with self._lock:
                seq, changed, self._changed = self._delivered_seq, self._changed, {}
                taken_notes = [(task_texts, task_texts.take()) for task_texts in changed.values()]
            texts: dict[str, str] = {}
            for task_texts, notes in taken_notes:
                task_texts.fold(notes)
                texts |= task_texts.changes()
            texts |= self._drop_ended()
            texts |= self.pulses.take()
            if self._with_recent and (texts or seq != self._shown_seq):
                texts[RECENT_PREFIX] = str(seq)
                self._shown_seq = seq
            return texts

    def _note(self, task_id: str, note: _Note) -> None:
        with self._lock:
            task_texts = self._tasks.get(task_id)
            if task_texts is None:
                task_texts = self._tasks[task_id] = _TaskTexts(task_id, with_recent=self._with_recent)
                if self._with_recent:  # events before the first output were not marked; this one stands for all of them
                    task_texts.notes.append(_Place(self._newest_seq, ends_text=False))
            task_texts.notes.append(note)
            is_news = not self._changed
            self._changed[task_id] = task_texts
            if not self._with_recent:
                self._save_memory(task_texts, note)
        if is_news:
            self._on_change()

    def _save_memory(self, task_texts: "_TaskTexts", note: _Note) -> None:
        """Merge notes or drop ended tasks: without a live file `take` may never be called."""
        if isinstance(note, Piece) and note.kind == "closed" and not task_texts.is_public:
            del self._tasks[task_texts.task_id], self._changed[task_texts.task_id]
        elif len(task_texts.notes) >= MAX_NOTES and self._taking.acquire(blocking=False):
            try:
                task_texts.fold(task_texts.take())
            finally:
                self._taking.release()

    def _drop_ended(self) -> dict[str, str]:
        """Drop tasks whose attempt ended too long ago to be recent; return their recent outputs, empty."""
        due_s = time.monotonic() - (RECENT_S if self._with_recent else 0)
        with self._lock:
            silent_tasks = [task_texts for task_texts in self._tasks.values() if not task_texts.notes]
            ended_ids = [
                task_texts.task_id
                for task_texts in silent_tasks
                if task_texts.ended_s is not None and task_texts.ended_s <= due_s
            ]
            for task_id in ended_ids:
                del self._tasks[task_id]
        return {f"{RECENT_PREFIX}{task_id}": "" for task_id in ended_ids} if self._with_recent else {}


class _TaskTexts:
    """The live texts of one task. `notes` is guarded by the lock; the rest belongs to the thread that takes."""

    def __init__(self, task_id: str, *, with_recent: bool) -> None:
        self.task_id = task_id
        self.notes: list[_Note] = []
        self.is_public = False
        """Its texts were taken at least once, so that readers may have them."""
        self.ended_s: float | None = None
        self._texts: dict[str, str] = {}
        self._calls: list[dict[str, JsonValue]] = []
        self._changed: dict[str, str] = {}
        self._recent = _RecentOutput() if with_recent else None

    def take(self) -> list[_Note]:
        """Return the notes since the last call."""
        notes, self.notes = self.notes, []
        return notes

    def fold(self, notes: list[_Note]) -> None:
        """Merge notes into the texts."""
        added: dict[str, list[str]] = {}
        changed = self._changed
        for note in notes:
            if isinstance(note, str):
                changed["progress"] = self._texts["progress"] = note
            elif isinstance(note, Piece):
                self._show(note, added, changed)
            else:
                for key in ("thought", "output") if note.ends_text else ("thought",):
                    added.pop(key, None)
                    if self._texts.pop(key, None) is not None:
                        changed[key] = ""
            if self._recent is not None and not isinstance(note, str):
                self._recent.add(note.seq if isinstance(note, _Place) else note)
        for key, pieces in added.items():
            self._texts[key] = changed[key] = (self._texts.get(key, "") + "".join(pieces))[-MAX_SHOWN_CHARACTERS:]

    def changes(self) -> dict[str, str]:
        """Return the texts that have changed since the last call, by key."""
        self.is_public = True
        changed, self._changed = self._changed, {}
        if self._recent is not None:
            changed["tape"] = self._recent.text()
        return {f"{key}:{self.task_id}": text for key, text in changed.items()}

    def _show(self, piece: Piece, added: dict[str, list[str]], changed: dict[str, str]) -> None:
        self.ended_s = None
        if (key := _KEYS.get(piece.kind)) is not None:
            added.setdefault(key, []).append(piece.text)
        elif piece.kind == "tool_started":
            call: dict[str, JsonValue] = {"name": piece.name, "arguments": shown_input(piece.value)}
            self._calls.append({**call, "since_ms": piece.at_ms})
            changed["call"] = self._texts["call"] = json.dumps(self._calls)
        elif piece.kind == "tool_ended":
            self._end_call(piece.name)
            changed["call"] = self._texts["call"] = json.dumps(self._calls) if self._calls else ""
        elif piece.kind == "closed":
            self.ended_s = time.monotonic()
            added.clear()
            changed.update(dict.fromkeys([*self._texts, *_KEYS.values()], ""))
            self._texts.clear()
            self._calls.clear()

    def _end_call(self, name: str | None) -> None:
        """End the oldest call of a tool; calls of one tool cannot be told apart."""
        for index, call in enumerate(self._calls):
            if call["name"] == name:
                del self._calls[index]
                return


class _RecentOutput:
    """The live output of a task in the last seconds, with the places of events in it.

    Its text is JSON: `n`, the number of the first entry; `c`, the characters before it; `e`, the entries: a seq, or
    `[kind, attempt, at_ms, text, name, value]`.
    """

    def __init__(self) -> None:
        # From the clock, so that the numbers are larger than those of an earlier engine for the same task.
        self._number = time.time_ns() // 1_000
        self._characters = 0
        self._entries: deque[_Entry] = deque()
        self._held_characters = 0
        self._is_written = True

    def add(self, note: Piece | int) -> None:
        """Append live output, or the place of an event."""
        now_s = time.monotonic()
        if isinstance(note, int):
            self._entries.append(_Entry(now_s, note, []))
        elif note.kind != "closed":
            # Text is only merged into an unwritten entry, because a written entry must not change under its number.
            last = None if self._is_written or not self._entries else self._entries[-1].content
            if isinstance(last, Piece) and note.name is None and (last.kind, last.speaker) == (note.kind, note.speaker):
                self._entries[-1].texts.append(note.text)
            else:
                self._entries.append(_Entry(now_s, note, [note.text]))
            self._held_characters += len(note.text)
        self._is_written = False
        while self._entries and (
            self._entries[0].at_s < now_s - RECENT_S or self._held_characters > MAX_RECENT_CHARACTERS
        ):
            characters = self._entries.popleft().characters
            self._number += 1
            self._characters += characters
            self._held_characters -= characters

    def text(self) -> str:
        """Return its text; its present entries will not change any more."""
        self._is_written = True
        entries = [entry.to_json() for entry in self._entries]
        return json.dumps({"n": self._number, "c": self._characters, "e": entries})


@dataclass(slots=True)
class _Entry:
    at_s: float
    content: Piece | int
    texts: list[str]

    @property
    def characters(self) -> int:
        """Its number of characters."""
        return sum(map(len, self.texts))

    def to_json(self) -> JsonValue:
        """Return it as JSON."""
        piece = self.content
        if isinstance(piece, int):
            return piece
        value = piece.value if piece.kind == "dropped" else shown_input(piece.value)
        return [piece.kind, piece.speaker.attempt, piece.at_ms, "".join(self.texts), piece.name, value]
