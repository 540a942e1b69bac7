"""A program in a real terminal: what it writes, and when."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence

COLUMNS, LINES = 120, 40
_ESCAPES = re.compile(
    rb"\x1b\[[0-9;?<>=!]*[a-zA-Z$]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_].*?\x1b\\|\x1b[()][A-Z0-9]|\x1b."
)


class Terminal:
    """A program with a terminal of its own."""

    def __init__(
        self, command: Sequence[str], variables: Mapping[str, str], *, size: tuple[int, int] = (COLUMNS, LINES)
    ) -> None:
        """Start the program in a terminal of so many columns and lines."""
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.began_s = time.perf_counter()
        self._process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            env={**variables, "TERM": "xterm-256color", "COLORTERM": "truecolor", "TEXTUAL_ANIMATIONS": "none"},
        )
        os.close(theirs)
        self.written = b""
        """What it has written since the last `press` or `forget`."""
        self._came_s = 0.0
        """When the last of it came."""

    def wait_for(self, text: str, timeout_s: float = 60.0) -> float:
        """Return the moment at which `text` stands in what was written.

        Raises:
            TimeoutError: If it does not come.
        """
        wanted = text.encode()
        until_s = time.perf_counter() + timeout_s
        while wanted not in plain(self.written):
            if not self._read(until_s - time.perf_counter()):
                raise TimeoutError(f"no {text!r} on the screen; it showed {plain(self.written)[-2000:]!r}")
        return self._came_s  # not now: looking for it takes long in a large frame

    def quiet(self, seconds: float) -> None:
        """Read on until nothing was written for a while, or for ten times as long."""
        until_s = time.perf_counter() + 10 * seconds
        while time.perf_counter() < until_s and self._read(seconds):
            continue

    def watch(self, seconds: float) -> None:
        """Read on for a while, as a terminal does."""
        until_s = time.perf_counter() + seconds
        while (left_s := until_s - time.perf_counter()) > 0:
            self._read(left_s)

    def until_it_ends(self, timeout_s: float) -> None:
        """Read on until the program has ended.

        Raises:
            TimeoutError: If it does not end.
        """
        until_s = time.perf_counter() + timeout_s
        while self._process.poll() is None:
            if time.perf_counter() > until_s:
                raise TimeoutError(f"it goes on; it showed {plain(self.written)[-2000:]!r}")
            self.written = self.written[-20_000:]
            self._read(0.1)

    def press(self, keys: str) -> float:
        """Press keys, and forget what was written before; return the moment."""
        while self._read(0):
            continue
        self.written = b""
        moment_s = time.perf_counter()
        os.write(self._ours, keys.encode())
        return moment_s

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        with open(f"/proc/{self._process.pid}/stat") as stat:  # noqa: PTH123
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def pid(self) -> int:
        """Process id, and that of its group."""
        return self._process.pid

    def peak_kb(self) -> int:
        """Return the most memory that it had at once."""
        with open(f"/proc/{self._process.pid}/status") as status:  # noqa: PTH123
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    def close(self) -> None:
        """End it."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._ours)

    def _read(self, timeout_s: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, timeout_s))
        if not ready:
            return False
        try:
            chunk = os.read(self._ours, 65_536)
        except OSError:  # it has ended
            return False
        self._came_s = time.perf_counter()
        self.written += chunk
        return bool(chunk)


def plain(written: bytes) -> bytes:
    """Return what was written without escape sequences."""
    return _ESCAPES.sub(b"", written)


PYTHON = (sys.executable, "-P")
