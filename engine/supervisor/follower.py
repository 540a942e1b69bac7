"""Following a team's file from a program: its events as they appear, for as long as an engine holds it."""

import threading
from functools import partial
from pathlib import Path
from types import TracebackType

import anyio
import anyio.from_thread
from anyio.lowlevel import EventLoopToken, current_token

from engine.core.errors import CoreError
from engine.core.events import Event
from engine.folding import events_of
from store import Reader, StoreError, Tail

LOOK_S = 0.5
"""How often it is looked whether the engine is still there, in seconds."""


class Follower:
    """Events of a file after one seq, as they appear, for as long as an engine holds it; a context to iterate in."""

    def __init__(self, path: Path, after_seq: int) -> None:
        self._path = path
        self._after_seq = after_seq
        self._stop = threading.Event()
        self._left = threading.Event()
        self._send, self._receive = anyio.create_memory_object_stream[tuple[int, Event]](float("inf"))
        self._failure: Exception | None = None

    def __enter__(self) -> "Follower":
        token = current_token()
        for work in (partial(self._follow, token), self._watch):
            threading.Thread(target=work, name="follow-team", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._left.set()
        self._stop.set()
        self._send.close()
        self._receive.close()

    def __aiter__(self) -> "Follower":
        return self

    async def __anext__(self) -> tuple[int, Event]:
        """Return the next event.

        Raises:
            StoreError, CoreError: If the file cannot be read any more.
        """
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            if self._failure is not None:
                raise self._failure from None
            raise StopAsyncIteration from None

    def _follow(self, token: EventLoopToken) -> None:
        try:
            for batch in Tail(self._path, self._after_seq).batches(self._stop):
                events = [(row.seq, event) for row, event in zip(batch, events_of(batch), strict=True)]
                anyio.from_thread.run_sync(self._take, events, token=token)
        except (StoreError, CoreError) as error:  # raised where somebody waits for events
            self._failure = error
        if not self._left.is_set():
            anyio.from_thread.run_sync(self._send.close, token=token)

    def _take(self, events: list[tuple[int, Event]]) -> None:
        if not self._left.is_set():
            for one in events:
                self._send.send_nowait(one)

    def _watch(self) -> None:
        missed = 0
        while missed < 2 and not self._stop.wait(LOOK_S):
            missed = 0 if _is_alive(self._path) else missed + 1
        self._stop.set()


def _is_alive(path: Path) -> bool:
    try:
        with Reader(path) as reader:
            engine = reader.engine()
    except StoreError:
        return False
    return engine is not None and engine.alive
