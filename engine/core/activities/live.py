"""What is known of attempts at work besides the journal: their last output, open steps and tools, and process.

Made of the texts of the live file (docs/reference/files.md), each read only when a task is asked for. A past state has
no live texts: pass an empty mapping, and nothing in it is silent.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from typing_extensions import override

from engine.core.records.records import JsonValue, fact

T = TypeVar("T")


class LiveStep(Struct, frozen=True, gc=False):
    """A step that has begun and not ended."""

    what: str
    """Its kind: code, model, tool, compact."""
    name: str
    since_ms: int


class LiveCall(Struct, frozen=True, gc=False):
    """A tool that runs."""

    name: str = ""
    arguments: JsonValue = None
    since_ms: int = 0


class LiveProgress(Struct, frozen=True, gc=False):
    """The progress that an attempt reported last."""

    done: int = 0
    total: int = 0
    note: str = ""


class LiveProcess(Struct, frozen=True, gc=False):
    """The process of an attempt."""

    pid: int = 0
    cpu_s: float | None = None
    rss_bytes: int | None = None
    active_ms: int | None = None
    """When it last used its processor or wrote something."""


class _Pulse(Struct, frozen=True, gc=False):
    chunk_ms: int | None = None
    steps: tuple[LiveStep, ...] = ()
    repeats: str = ""


@fact
class Live:
    """What is known of an attempt at work."""

    chunk_ms: int | None = None
    """When it last said something; UTC milliseconds."""
    steps: tuple[LiveStep, ...] = ()
    """Steps that run, the oldest first."""
    repeats: str = ""
    """The tools that it has called again with the same arguments and results; empty if its calls differ."""
    calls: tuple[LiveCall, ...] = ()
    """Tools that run, the oldest first."""
    progress: LiveProgress | None = None
    process: LiveProcess | None = None
    output: str = ""
    """The end of the text that it writes."""
    thought: str = ""
    """The end of its thoughts."""


class LiveTasks(Mapping[str, Live]):
    """The live records of tasks by id, made when they are asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts

    @override
    def __getitem__(self, task_id: str) -> Live:
        live: Live | None = self.get(task_id)
        if live is None:
            raise KeyError(task_id)
        return live

    @override
    def get(self, task_id: str, default: Any = None) -> Any:
        """Return the record of a task, or `default`; overridden, because that of `Mapping` raises and catches."""
        get = self._texts.get
        pulse_text, call_text = get("pulse:" + task_id), get("call:" + task_id)
        progress_text, process_text = get("progress:" + task_id), get("process:" + task_id)
        output, thought = get("output:" + task_id, ""), get("thought:" + task_id, "")
        if not (pulse_text or call_text or progress_text or process_text or output or thought):
            return default
        pulse = _read_pulse(pulse_text) if pulse_text else None
        return Live(
            chunk_ms=None if pulse is None else pulse.chunk_ms,
            steps=() if pulse is None else pulse.steps,
            repeats="" if pulse is None else pulse.repeats,
            calls=(_read_calls(call_text) if call_text else None) or (),
            progress=_read_progress(progress_text) if progress_text else None,
            process=_read_process(process_text) if process_text else None,
            output=output,
            thought=thought,
        )

    @override
    def __iter__(self) -> Iterator[str]:
        return iter({key.partition(":")[2]: None for key in self._texts if ":" in key})

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


def parse_live(texts: Mapping[str, str]) -> Mapping[str, Live]:
    """Return the live records of the texts of a live file; texts that are no valid JSON are left out."""
    return LiveTasks(texts)


def _reader(kind: Any) -> Any:
    """Return a function that decodes texts of one kind; it remembers them, because most do not change between looks."""
    decoder = msgspec.json.Decoder(kind)

    @lru_cache(maxsize=4096)
    def read(text: str) -> Any:
        try:
            return decoder.decode(text)
        except msgspec.DecodeError:  # a file of another version, or a damaged one
            return None

    return read


_read_pulse = _reader(_Pulse)
_read_calls = _reader(tuple[LiveCall, ...])
_read_progress = _reader(LiveProgress)
_read_process = _reader(LiveProcess)
