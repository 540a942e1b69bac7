"""Leaders that are killed, suspended, woken and relieved for minutes, under work, with others standing by.

Nothing that was acknowledged is lost, nobody writes who was deposed, and each task has one outcome.
"""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from engine.core.commands import HandOver, Submit
from engine.core.events import (
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    CommandApplied,
    EngineStarted,
    Event,
    RunFinished,
    StepRecorded,
    TaskFailed,
)
from engine.core.records.values import TextRef
from engine.core.state import RunSummary
from engine.reading.folding import events_of, fold_file, pages
from engine.reading.texts import walk
from store import Reader, verify
from tests.chaos.fleet import Fleet
from tests.chaos.voyage import answers_in

SECONDS = float(os.environ.get("QUARTERDECK_CHAOS_SECONDS", "120"))
SEED = int(os.environ.get("QUARTERDECK_CHAOS_SEED", "1"))
AT_ONCE = 2
"""Runs that are open at a time."""


@pytest.mark.chaos_long
def test_engines_come_and_go_for_minutes_and_the_team_works_on(tmp_path: Path, undisturbed: dict[str, object]) -> None:
    chance = random.Random(SEED)
    with Fleet(tmp_path) as fleet:
        fleet.launch()
        acts = [kill, suspend, nap, relieve, kill_a_standby, kill_beside_a_sleeper]
        until = time.monotonic() + SECONDS
        done: Counter[str] = Counter()
        while time.monotonic() < until or len(done) < len(acts):
            while runs_open(fleet) < AT_ONCE:
                submit(fleet)
            threading.Event().wait(chance.uniform(0.05, 0.8))
            act = chance.choice(
                [one for one in acts if done[one.__name__] == min(done[each.__name__] for each in acts)]
            )
            act(fleet, chance)
            done[act.__name__] += 1
            fleet.crew()
        fleet.answered()
        fleet.wait(lambda: runs_open(fleet) == 0)
        fleet.stop()

        journal = read(fleet)
        print(f"\n{len(journal):,} events; {dict(done)}; ends: {Counter(status for _, status in fleet.ends)}")
        assert_nothing_acknowledged_is_lost(fleet, journal)
        assert_every_run_came_to_what_it_comes_to_undisturbed(fleet, journal, undisturbed)
        assert_each_task_has_one_outcome(journal)
        assert_nobody_wrote_who_was_deposed(journal)
        assert verify(fleet.db).ok


def submit(fleet: Fleet) -> None:
    command_id = fleet.send(Submit(request="go", supervisor="chief"))
    fleet.wait(lambda: (found := fleet.outcome(command_id)) is not None and found.state != "pending")


def runs_open(fleet: Fleet) -> int:
    return len(fold_file(fleet.db).runs)


def kill(fleet: Fleet, chance: random.Random) -> None:
    leader, seq = fleet.leader(), fleet.seq()
    fleet.signal(leader.pid, signal.SIGKILL)
    assert fleet.ended(leader.pid) == -signal.SIGKILL
    fleet.until_another_leads(leader, seq)


def suspend(fleet: Fleet, chance: random.Random) -> None:
    """Let a leader stand still until another took over, and then wake up."""
    leader, seq = fleet.leader(), fleet.seq()
    fleet.signal(leader.pid, signal.SIGSTOP)
    fleet.until_another_leads(leader, seq)
    fleet.signal(leader.pid, signal.SIGCONT)
    status = fleet.ended(leader.pid)

    # One that was stopped inside a write kept everybody from writing, so it was killed.
    assert status in (1, -signal.SIGKILL)
    if status == 1:
        assert f"this engine, {leader.pid}, was deposed" in fleet.log


def nap(fleet: Fleet, chance: random.Random) -> None:
    """Let a leader stand still for less than the limit: it stays the leader."""
    leader = fleet.leader()
    fleet.signal(leader.pid, signal.SIGSTOP)
    threading.Event().wait(chance.uniform(0.1, 1.2))
    fleet.signal(leader.pid, signal.SIGCONT)
    fleet.until(lambda event: True, fleet.seq() - 1)

    assert fleet.leader().pid == leader.pid


def relieve(fleet: Fleet, chance: random.Random) -> None:
    leader, seq = fleet.leader(), fleet.seq()
    fleet.send(HandOver(grace_s=chance.choice([0.0, 2.0])))
    fleet.until_another_leads(leader, seq)
    assert fleet.ended(leader.pid) == 0


def kill_a_standby(fleet: Fleet, chance: random.Random) -> None:
    standby = chance.choice(fleet.waiting())
    fleet.signal(standby, signal.SIGKILL)
    fleet.ended(standby)


def kill_beside_a_sleeper(fleet: Fleet, chance: random.Random) -> None:
    """Kill the leader while one of those that stand by stands still: the other takes over, and it goes on waiting."""
    leader, seq = fleet.leader(), fleet.seq()
    sleeper = chance.choice(fleet.waiting())
    fleet.signal(sleeper, signal.SIGSTOP)
    fleet.signal(leader.pid, signal.SIGKILL)
    fleet.ended(leader.pid)
    fleet.until_another_leads(leader, seq)
    fleet.signal(sleeper, signal.SIGCONT)

    assert fleet.leader().pid != sleeper
    assert fleet.is_there(sleeper)


def read(fleet: Fleet) -> list[Event]:
    with Reader(fleet.db) as reader:
        return [event for page in pages(reader, 0) for event in events_of(page)]


def assert_nothing_acknowledged_is_lost(fleet: Fleet, journal: list[Event]) -> None:
    answers = answers_in(journal)

    assert Counter(command_id for command_id, _ in answers) == Counter(fleet.sent)
    for command_id, status in answers:
        outcome = fleet.outcome(command_id)
        assert outcome is not None
        assert outcome.state == status


def assert_every_run_came_to_what_it_comes_to_undisturbed(
    fleet: Fleet, journal: list[Event], undisturbed: dict[str, object]
) -> None:
    finished = Counter(event.run_id for event in journal if isinstance(event, RunFinished))
    summaries = fold_file(fleet.db).finished

    assert set(finished.values()) == {1}
    assert {said["command_id"] for said in submitted(journal)} <= set(fleet.sent)
    assert len(finished) == len(submitted(journal))
    for summary in summaries:
        assert (summary.status, summary.error, output(fleet, summary)) == (
            undisturbed["status"], undisturbed["error"], undisturbed["output"],
        )  # fmt: skip


def submitted(journal: Iterable[Event]) -> list[dict[str, str]]:
    return [
        {"command_id": event.command_id}
        for event in journal
        if isinstance(event, CommandApplied) and event.command == "submit"
    ]


def output(fleet: Fleet, summary: RunSummary) -> object:
    found: object = summary.output
    if isinstance(found, TextRef):
        with Reader(fleet.db) as reader:
            found = walk(json.loads(reader.record(found.seq).body), found.path)
    return found


def assert_each_task_has_one_outcome(journal: list[Event]) -> None:
    steps = Counter((event.task_id, event.key) for event in journal if isinstance(event, StepRecorded))
    done = Counter(event.task_id for event in journal if isinstance(event, AttemptDone))

    assert set(steps.values()) == set(done.values()) == {1}
    assert not any(isinstance(event, TaskFailed) for event in journal)


def assert_nobody_wrote_who_was_deposed(journal: list[Event]) -> None:
    """Each engine's start ends every attempt before it; an event of one after that would be a stale write."""
    tokens = [event.token for event in journal if isinstance(event, EngineStarted)]
    over: set[tuple[str, int]] = set()
    for event in journal:
        if isinstance(event, StepRecorded | AttemptDone | AttemptFailed | AttemptCancelled | AttemptLost):
            key = event.task_id, event.attempt
            assert key not in over, f"{event.type} of an attempt that was over"
            if not isinstance(event, StepRecorded):
                over.add(key)

    assert tokens == sorted(set(tokens))
