"""Identities of processes: a pid is reused, so its start time, boot and machine are part of the identity."""

import os
import signal
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Process:
    """One process of one boot of one machine."""

    pid: int
    started: str
    """Start time as the operating system counts; "" if unknown."""
    boot_id: str
    host: str

    def is_running_here(self) -> bool:
        """True only if it is certain that this process runs on this machine."""
        return bool(self.started) and self == Process(self.pid, start_time(self.pid), boot_id(), os.uname().nodename)


def this_process() -> Process:
    """Identity of this process."""
    return Process(os.getpid(), start_time(os.getpid()), boot_id(), os.uname().nodename)


@cache
def boot_id() -> str:
    """Id of the machine's present boot; "" if unknown."""
    if sys.platform == "darwin":
        return _run_command("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid")
    return _read_text(Path("/proc/sys/kernel/random/boot_id"))


def can_exist(pid: int) -> bool:
    """Return False only if it is certain that no process of this machine has the pid."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    return True


def start_time(pid: int) -> str:
    """Start time of a process; "" if there is none or it is unknown."""
    if sys.platform == "darwin":
        return _run_command("/bin/ps", "-o", "lstart=", "-p", str(pid))
    # Field 22 of proc(5); the name in field 2 may hold spaces and parentheses.
    fields = _read_text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else ""


def _read_text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _run_command(*command: str) -> str:
    import subprocess  # 4 ms, and only where there is no /proc

    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def kill(process: Process) -> bool:
    """Kill a process, if its identity is certain.

    Returns:
        False if nothing was killed.
    """
    descriptor = None
    try:
        if hasattr(os, "pidfd_open"):
            # Pins the process: between the identity check and the kill, the pid cannot pass to another process.
            descriptor = os.pidfd_open(process.pid)
        if not process.is_running_here() or process.pid == os.getpid():
            return False
        if descriptor is None:
            os.kill(process.pid, signal.SIGKILL)
        else:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True
