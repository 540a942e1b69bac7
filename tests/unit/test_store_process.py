"""Processes are told apart by more than their pid, and only the right one is ever killed."""

import dataclasses
import signal
import subprocess
import sys

import pytest

from store import EngineInfo
from store.leadership.process import Process, kill, start_time, this_process


def test_this_process_is_running_here_and_one_with_another_past_is_not() -> None:
    me = this_process()

    assert me.is_running_here()
    for other in (
        dataclasses.replace(me, started="1"),
        dataclasses.replace(me, boot_id="another boot"),
        dataclasses.replace(me, host="elsewhere"),
        dataclasses.replace(me, started=""),
    ):
        assert not other.is_running_here()
        assert not kill(other)


def test_nobody_kills_itself_or_a_pid_that_is_gone() -> None:
    assert not kill(this_process())
    assert not kill(Process(2**22 + 1, "1", "", ""))
    assert start_time(2**22 + 1) == ""


def test_a_process_that_matches_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        me = this_process()
        assert kill(Process(child.pid, start_time(child.pid), me.boot_id, me.host))

        assert child.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("alive", "heartbeat_age_ms", "loop_age_ms", "hung"),
    [
        (True, 900, 20, False),
        (True, 3_001, 20, True),
        (True, 900, 3_001, True),
        (True, None, None, False),
        (False, 60_000, 60_000, False),
    ],
)
def test_an_engine_hangs_when_heart_or_loop_stands_still_for_three_seconds(
    alive: bool, heartbeat_age_ms: int | None, loop_age_ms: int | None, hung: bool
) -> None:
    engine = EngineInfo(1, alive, 0, 1, heartbeat_age_ms, loop_age_ms, "host")

    assert engine.hung is hung
