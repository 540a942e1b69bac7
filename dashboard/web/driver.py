"""The driver of a tab's process: Textual's own for the web, which also ends when the server does.

Rule: nothing that arrives through the pipe can make the process outlive the server, or draw a screen of absurd size.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.drivers.web_driver import WebDriver
from textual.geometry import Size
from textual.message import Message

from dashboard.web.protocol import clamp_size
from dashboard.widgets.textual_seams import write_packets_by

END_S = 3.0
"""Time in seconds that a process has to close its screen after the server is gone."""
_PR_SET_PDEATHSIG = 1


class TabDriver(WebDriver):
    """Draw into the pipe of the server."""

    def __init__(
        self, app: App[Any], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        """Write packets atomically: the reading thread sends files while the app draws.

        Args:
            debug: Whether Textual's parser logs.
            mouse: Whether mouse events are sent.
            size: Size of the screen in cells; None reads it from the environment.
        """
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self.app = app
        write_packets_by(self, partial(_write_whole, self.fileno, threading.Lock()))

    def start_application_mode(self) -> None:
        """Start; on Linux, ask the system to kill this process with the server."""
        if sys.platform == "linux":
            ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        super().start_application_mode()

    def run_input_thread(self) -> None:
        """Read until the server closes the pipe; then end, even if the screen hangs."""
        super().run_input_thread()
        if not self.exit_event.is_set():
            deadline = threading.Timer(END_S, os._exit, (0,))
            deadline.daemon = True
            deadline.start()
            self.app.call_later(self.app.exit)

    def process_message(self, message: Message) -> None:
        """Handle input; it may contain a terminal's report of its size.

        The other mouse buttons belong to the browser (menu, paste) and are no clicks here.
        """
        if isinstance(message, events.MouseDown | events.MouseUp) and message.button > 1:
            return
        if isinstance(message, events.Resize):
            size = clamp_size(message.size.width, message.size.height)
            if size is None:
                return
            message = events.Resize(Size(*size), Size(*size))
        super().process_message(message)

    def on_meta(self, packet_type: str, payload: dict[str, Any]) -> None:
        """Handle a message of the server."""
        if packet_type == "beat":
            # Through the queue of the app: earlier input has been handled by then.
            self.app.call_later(self.write_meta, {"type": "beat"})
        elif packet_type == "resize":
            size = clamp_size(payload.get("width"), payload.get("height"))
            if size is not None:
                super().on_meta(packet_type, {"width": size.width, "height": size.height})
        elif packet_type == "uploaded":
            self.app.call_later(getattr(self.app, "open_upload"), str(payload["path"]), str(payload["name"]))  # noqa: B009
        else:
            super().on_meta(packet_type, payload)

    def write_meta(self, data: dict[str, object]) -> None:
        """Send a message to the server; end if the server is gone."""
        if data.get("type") == "exit" and self.app.return_code:  # it crashed; its user did not quit
            return
        try:
            super().write_meta(json.loads(json.dumps(data)))
        except BrokenPipeError:
            os._exit(0)


def _write_whole(descriptor: int, writing: threading.Lock, packet: bytes) -> int:
    """Write a packet under a lock: a pipe keeps only writes of up to 4 KiB of two threads apart."""
    rest = memoryview(packet)
    with writing:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    return len(packet)
