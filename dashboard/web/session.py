"""The process of one tab, as the server sees it: started without a shell, confined, watched, and killed.

Rule: whatever happens to the tab, its process group is gone when `stop` returns. The process is asked to beat; one that
does not has hung. What is typed waits in the socket while it is busy, what it draws waits in the pipe while the browser
is slow: nothing piles up here.
"""

import asyncio
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from dashboard.clean import clean
from dashboard.web.folders import HABITS, new_folder
from dashboard.web.serve_seams import DecodeError, send_input_to, unpack_packet
from engine.children.child import Child, start_child

HANG_S = 30.0
"""A process that does not answer for so long, in seconds, has hung."""
START_S = 60.0
"""So long may it take until its first word: on a busy machine a start takes long."""
STALL_S = 30.0
"""A browser that takes nothing for so long, in seconds, is given up."""
END_S = 2.0
"""How long a process may take to end by itself, in seconds."""
LARGEST_PACKET_BYTES = 16_000_000
LARGEST_INPUT_BYTES = 1 << 20
"""What may be typed, or pasted, before the process has answered."""
WINDOW_BYTES = 1 << 16
"""What may be on its way to the browser. The system alone would let megabytes wait: on a slow line a screen would be
shown minutes late, and a ping would arrive too late to be answered in time."""
PIECE_BYTES = 1 << 14
"""What is sent at once."""
PAGE_CHARACTERS = 2_000
"""What the page is told, and keeps, in characters."""
INHERITED_VARIABLES = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "TZ",
    "USER",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
)
"""All that a process gets of the server's environment: no keys, no tokens."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What the process of a tab is started with."""

    db: Path
    role: str
    """viewer or operator."""
    place: str = ""
    """Where it opens; empty for the first screen."""
    habits: str = ""
    """What the browser keeps of the dashboard; empty where it keeps nothing."""


class Hung(Exception):
    """The process of a tab does not answer."""


class Session(AppService):
    """One tab."""

    def __init__(
        self,
        launch: Launch,
        *,
        write_bytes: Callable[[bytes], Awaitable[None]],
        write_str: Callable[[str], Awaitable[None]],
        download_manager: DownloadManager,
        hang_s: float = HANG_S,
        stall_s: float = STALL_S,
    ) -> None:
        """Prepare a tab; `start` starts its process.

        Args:
            write_bytes: Draws in the browser.
            write_str: Tells the page something.
            hang_s: How long its process may say nothing, in seconds.
            stall_s: How long the browser may take nothing, in seconds.
        """
        super().__init__(
            "", write_bytes=write_bytes, write_str=write_str, close=self._ignored, download_manager=download_manager
        )
        self._launch, self._transfers = launch, download_manager
        self.folder, self._lock = new_folder()
        """What it may write; removed with it."""
        self.ended_by_itself = False
        """Whether it was left by its user."""
        self.downloads: set[str] = set()
        """Keys of files that the browser has not asked for yet."""
        self.delivered: set[str] = set()
        """Keys of files whose end has come."""
        self._hang_s, self._stall_s = hang_s, stall_s
        self._heard_s = 0.0
        self._drawing = False
        """Whether the browser is waited for."""
        self._undrawn_bytes = 0
        """What the browser was sent and has not said that it has."""
        self._listens = True
        """Whether the browser is heard: not while its process is behind with what was typed. A process that waited for
        the browser then would never catch up."""
        self._room = asyncio.Event()
        self._answered = asyncio.Event()
        self._unanswered_bytes = 0
        self._stopping: asyncio.Task[None] | None = None
        self._draw_task: asyncio.Task[None] | None = None
        self._child: Child | None = None

    async def _ignored(self) -> None:
        """Close nothing: the server closes the socket once `ended` returns."""

    @property
    def pid(self) -> int | None:
        """Process id, and that of its group."""
        return self._child.pid if self._child is not None else None

    @property
    def complaint(self) -> str:
        """Last line of its standard error."""
        return clean(self._child.errors.line) if self._child is not None else ""

    async def start(self, width: int, height: int) -> None:
        launch = self._launch
        if launch.habits:
            (self.folder / HABITS).write_text(launch.habits, encoding="utf-8", errors="replace")
        program = [sys.executable, "-P", "-m", "dashboard.web.tab_process"]
        self._child = await start_child(
            [*program, str(launch.db), launch.role, str(self.folder), launch.place],
            env=environment(os.environ, self.folder, width, height),
            line_bytes=PIECE_BYTES,
        )
        send_input_to(self, self._child.stdin)

    async def run(self) -> None:
        """Draw what the process draws, until it ends.

        Raises:
            Hung: If it does not answer any more.
            TimeoutError: If the browser takes nothing any more.
        """
        child = self._child
        assert child is not None
        beats = asyncio.create_task(self._watch())
        self._draw_task = drawing = asyncio.create_task(self._draw(child.stdout))
        try:
            await asyncio.wait((beats, drawing), return_when=asyncio.FIRST_COMPLETED)
            if beats.done():
                beats.result()
            if not drawing.cancelled():  # by `stop`
                drawing.result()
        finally:
            for task in (beats, drawing):
                task.cancel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await child.errors_ended.wait()

    async def _draw(self, stdout: asyncio.StreamReader) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, ValueError):
            await stdout.readuntil(b"__GANGLION__\n")
            while True:
                head = await stdout.readexactly(5)
                size = int.from_bytes(head[1:], "big")
                if size > LARGEST_PACKET_BYTES:
                    return
                await self._take(head[:1], await stdout.readexactly(size))
                self._heard_s = asyncio.get_running_loop().time()

    async def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == b"D":
            self._drawing = True
            await self.on_data(payload)
            self._drawing = False
        elif kind == b"M":
            async with asyncio.timeout(self._stall_s):
                await self.on_meta(payload)
        elif kind == b"P":
            with contextlib.suppress(DecodeError):
                await self.on_packed(payload)

    async def _watch(self) -> None:
        """Ask for a beat now and then; whatever the process says is one, and what the browser takes late is its own.

        Raises:
            Hung: If nothing comes.
        """
        clock = asyncio.get_running_loop().time
        self._heard_s = clock() + max(0.0, START_S - self._hang_s)
        while True:
            await self.send_meta({"type": "beat"})
            await asyncio.sleep(self._hang_s / 4)
            if clock() - self._heard_s > self._hang_s and not self._drawing:
                raise Hung

    async def type(self, text: str) -> None:
        """Hand over what was typed; waits while the process is behind with what was typed before."""
        data = text.encode(errors="replace")
        if self._unanswered_bytes > LARGEST_INPUT_BYTES:
            self._answered.clear()
            self._listens = False
            self._room.set()
            await self.send_meta({"type": "beat"})
            await self._answered.wait()
            self._listens = True
        self._unanswered_bytes += len(data)
        await self.send_bytes(data)

    async def on_data(self, payload: bytes) -> None:
        """Draw in the browser, no faster than it takes it."""
        for begin in range(0, len(payload), PIECE_BYTES):
            piece = payload[begin : begin + PIECE_BYTES]
            while self._undrawn_bytes >= WINDOW_BYTES and self._listens:
                self._room.clear()
                # Not `wait_for`, which swallows a cancellation that comes together with what it waits for.
                async with asyncio.timeout(self._stall_s):
                    await self._room.wait()
            self._undrawn_bytes += len(piece)
            async with asyncio.timeout(self._stall_s):
                await self.remote_write_bytes(piece)

    def note_drawn(self, size: int) -> None:
        """Take note of what the browser has drawn."""
        self._undrawn_bytes = max(0, self._undrawn_bytes - size)
        self._room.set()

    async def on_meta(self, data: bytes) -> None:
        """Take what the process says besides what it draws."""
        meta = json.loads(data)
        kind = meta.get("type")
        if kind == "beat":
            self._unanswered_bytes = 0
            self._answered.set()
        elif kind == "exit":
            self.ended_by_itself = True
        elif kind in ("place", "title", "colour", "habits"):
            await self.remote_write_str(json.dumps([kind, str(meta[kind])[:PAGE_CHARACTERS]]))
        elif kind == "ask_upload":
            await self.remote_write_str(json.dumps(["ask_upload", ""]))
        elif kind == "deliver_file_start":
            key = str(meta["key"])
            await self._transfers.create_download(
                app_service=self,
                delivery_key=key,
                file_name=Path(str(meta["path"])).name,
                open_method="download",
                mime_type=str(meta["mime_type"]),
                encoding=str(meta["encoding"]) or None,
                name=meta.get("name"),
            )
            self.downloads.add(key)
            await self.remote_write_str(json.dumps(["download", key]))

    async def on_packed(self, payload: bytes) -> None:
        """Take a piece of a file; an empty one is its end."""
        match unpack_packet(payload):
            case ("deliver_chunk", str(key), b"" | ""):
                self.delivered.add(key)
        await super().on_packed(payload)

    async def uploaded(self, path: Path, name: str) -> None:
        await self.send_meta({"type": "uploaded", "path": str(path), "name": name})

    async def stop(self) -> None:
        """Ask the process to end, kill its group, and remove its folder; goes on where its caller is cancelled."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._end())
        await asyncio.shield(self._stopping)

    async def _end(self) -> None:
        child = self._child
        if self._draw_task is not None:
            self._draw_task.cancel()
            await asyncio.wait([self._draw_task])
        if child is not None:
            await self._transfers.cancel_app_downloads(app_service_id=self.app_service_id)
            with contextlib.suppress(asyncio.TimeoutError, ConnectionError):
                await asyncio.wait_for(self._leave(child), END_S)
            await child.end()
            for key in self.downloads:  # never taken: asked for now that nothing answers, the server lets go of it
                async for _ in self._transfers.download(key):
                    pass
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    async def _leave(self, child: Child) -> None:
        await self.send_meta({"type": "quit"})
        child.close_input()
        while await child.read():  # what it draws: into a full pipe it could not end
            pass
        await child.exited.wait()


def environment(server_environment: Mapping[str, str], folder: Path, width: int, height: int) -> dict[str, str]:
    """Return the whole environment of a tab's process.

    Args:
        server_environment: The environment of the server.
        folder: The folder of the tab.
        width: Of the screen, in cells.
        height: Of the screen, in cells.
    """
    variables = {name: server_environment[name] for name in INHERITED_VARIABLES if name in server_environment}
    return variables | {
        "COLUMNS": str(width),
        "LINES": str(height),
        "ROWS": str(height),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "TERM": "xterm-256color",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TEXTUAL_DRIVER": "dashboard.web.driver:TabDriver",
        "TMPDIR": str(folder),
    }
