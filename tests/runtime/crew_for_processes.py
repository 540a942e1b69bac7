"""Functions for agents in processes: a module that children can import."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from engine.runtimes.functions.child import report_progress


def shout(text: str) -> str:
    return text.upper()


def back(value: object) -> object:
    return value


def pid(text: str) -> int:
    return os.getpid()


def prints(text: str) -> str:
    print("to standard output")
    os.write(1, b"raw bytes\n")
    subprocess.run([sys.executable, "-c", "print('from a child of mine')"], check=True)
    return sys.stdin.read() + "fine"


def leave(text: str) -> str:
    print("about to leave", file=sys.stderr)
    os._exit(3)


def crash(text: str) -> str:
    os.kill(os.getpid(), signal.SIGSEGV)
    return "never"


def wrong(text: str) -> str:
    raise SystemExit("wrong")


class Odd(Exception):
    """Cannot even say what it is."""

    def __str__(self) -> str:
        raise SystemExit("gone")


def odd(text: str) -> str:
    raise Odd


async def waits(text: str) -> str:
    return "never"


def unwritable(text: str) -> object:
    return {"a": {1, 2}}


def long_work(folder: str) -> str:
    """Say where it is, start a child of its own, and never end."""
    sleeper = subprocess.Popen(["sleep", "1000"])
    Path(folder, "pids").write_text(f"{os.getpid()} {sleeper.pid}", encoding="utf-8")
    report_progress(1, 4, "a quarter")
    threading.Event().wait()
    return "never"


def until(file: str) -> str:
    """Work until a file is there."""
    while not Path(file).exists():
        time.sleep(0.01)
    return file


def compute(text: str) -> int:
    began = time.process_time()
    while time.process_time() - began < 0.01:
        report_progress(1, 1)
    return len(text)


async def not_plain(text: str) -> str:
    return text


def counts(text: str, ctx: Any) -> object:
    if text == "step":
        ctx.step("no", text)
    if text == "drop":
        ctx.state.clear()
    else:
        ctx.state[text] = {"n": ctx.state.get(text, {"n": 0})["n"] + 1}
    return dict(ctx.state)


def of_three(text: str, ctx: Any, more: object) -> str:
    return "never"
