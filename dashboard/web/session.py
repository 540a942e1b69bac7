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
"""Time without an answer, in seconds, after which a process counts as hung."""
START_S = 60.0
"""Startup timeout in seconds: a start is slow on a busy machine."""
STALL_S = 30.0
"""Time in seconds after which a browser that reads nothing is given up."""
END_S = 2.0
"""Time in seconds that a process has to end by itself."""
LARGEST_PACKET_BYTES = 16_000_000
LARGEST_INPUT_BYTES = 1 << 20
"""Input that may be sent, in bytes, before the process has answered."""
WINDOW_BYTES = 1 << 16
"""Bytes that may be in flight to the browser. The system would buffer megabytes: on a slow line screens would arrive
minutes late, and a ping too late to be answered in time."""
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
    """Arguments of the process of a tab."""

    db: Path
    role: str
    """viewer or operator."""
    place: str = ""
    """Place that it opens; empty for the first screen."""
    habits: str = ""
    """Habits stored by the browser; empty for none."""


class Hung(Exception):
    """The process of a tab does not respond."""


class Session(AppService):
    """One tab: a child process that draws, and the browser that shows it."""

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
            write_bytes: Sends drawn bytes to the browser.
            write_str: Sends a message to the page.
            hang_s: How long its process may stay silent, in seconds.
            stall_s: How long the browser may read nothing, in seconds.
        """
        super().__init__(
            "",
            write_bytes=write_bytes,
            write_str=write_str,
            close=self._close_nothing,
            download_manager=download_manager,
        )
        self._launch, self._transfers = launch, download_manager
        self.folder, self._lock = new_folder()
        """The only folder that it may write to; removed when the tab ends."""
        self.ended_by_itself = False
        """Whether its user quit."""
        self.downloads: set[str] = set()
        """Keys of files that the browser has not fetched yet."""
        self.delivered: set[str] = set()
        """Keys of files that have been sent whole."""
        self._hang_s, self._stall_s = hang_s, stall_s
        self._heard_s = 0.0
        self._drawing = False
        """Whether it is waiting for the browser."""
        self._undrawn_bytes = 0
        """Bytes sent to the browser and not acknowledged."""
        self._listens = True
        """False while its process is behind with the input: waiting for the browser then, it would never catch up."""
        self._room = asyncio.Event()
        self._answered = asyncio.Event()
        self._unanswered_bytes = 0
        self._stopping: asyncio.Task[None] | None = None
        self._draw_task: asyncio.Task[None] | None = None
        self._child: Child | None = None

    async def _close_nothing(self) -> None:
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
        """Forward what the process draws until it ends.

        Raises:
            Hung: If the process stops responding.
            TimeoutError: If the browser stops reading.
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
        """Request heartbeats; any output of the process counts as one, and waiting for the browser does not count.

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
        """Send input to the process; wait while it is behind with earlier input."""
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
        """Send drawn bytes to the browser, no faster than it acknowledges them."""
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
        """Note that the browser has drawn `size` bytes."""
        self._undrawn_bytes = max(0, self._undrawn_bytes - size)
        self._room.set()

    async def on_meta(self, data: bytes) -> None:
        """Handle a message of the process."""
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
        """Handle a piece of a file; an empty one is its end."""
        match unpack_packet(payload):
            case ("deliver_chunk", str(key), b"" | ""):
                self.delivered.add(key)
        await super().on_packed(payload)

    async def announce_upload(self, path: Path, name: str) -> None:
        await self.send_meta({"type": "uploaded", "path": str(path), "name": name})

    async def stop(self) -> None:
        """Ask the process to end, kill its group and remove its folder, even if the caller is cancelled."""
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
            for key in self.downloads:  # never fetched: requested now that no process answers, the server drops it
                async for _ in self._transfers.download(key):
                    pass
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    async def _leave(self, child: Child) -> None:
        await self.send_meta({"type": "quit"})
        child.close_input()
        while await child.read():  # drain its output: with a full pipe it could not end
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
