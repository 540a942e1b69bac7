"""kill -9 of real engines at random points of a real run: what was acknowledged stays, what was finished stays done."""

import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.core.commands import (
    AddAgent,
    Command,
    Pause,
    Ping,
    RemoveMember,
    Resume,
    Rollback,
    SwapAgent,
    SwitchStrategy,
)
from engine.core.encoding.codec import encode_state
from engine.core.events import AttemptDone, StepRecorded
from engine.core.fold import fold
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.reading.folding import fold_file
from store import verify
from tests.chaos.voyage import PAUSABLE, Voyage, answers_in

SEEDS = range(int(os.environ.get("QUARTERDECK_CHAOS_SEEDS", "5")))
EVENTS = 375
"""About how many events an undisturbed run has."""
REFERENCES = ["chaos_crew:count", "chaos_crew:count_anew"]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_that_is_torn_apart_loses_nothing_and_does_nothing_twice(
    seed: int, tmp_path: Path, undisturbed: dict[str, object]
) -> None:
    chance = random.Random(seed)
    with Voyage(tmp_path) as voyage:
        voyage.launch()
        voyage.submit()
        for seq, act in plan(chance, voyage):
            with voyage.watched() as watch:
                watch.until(seq)
            act()
        voyage.finish()
        assert voyage.end(signal.SIGTERM) == 0

        assert voyage.ended_as() == undisturbed
        assert_every_command_has_its_outcome(voyage)
        assert_nothing_is_recorded_twice(voyage)
        assert_the_journal_alone_gives_the_state(voyage)


def plan(chance: random.Random, voyage: Voyage) -> list[tuple[int, Callable[[], object]]]:
    """Draw what is done to a run, each from a seq on."""

    def kill() -> None:
        voyage.end(signal.SIGKILL)
        voyage.start()

    def kill_once_answered() -> None:
        voyage.acknowledged(voyage.send(Ping()))
        kill()

    def stop() -> None:
        assert voyage.end(signal.SIGTERM) in (0, -signal.SIGTERM)
        voyage.start()

    def order(command: Command) -> Callable[[], object]:
        return lambda: voyage.send(command)

    acts: list[Callable[[], object]] = [chance.choice([kill, kill_once_answered]) for _ in range(chance.randint(1, 3))]
    acts += [stop for _ in range(chance.randint(0, 1))]
    acts += [order(command) for command in commands(chance)]
    chance.shuffle(acts)
    begins_at = 25
    return list(zip(sorted(chance.randint(begins_at, EVENTS) for _ in acts), acts, strict=True))


def commands(chance: random.Random) -> list[Command]:
    """Draw commands, right ones and wrong ones, that change how the run goes and not what comes of it."""
    anew = AgentSpec(name="counter-a", run="chaos_crew:count_anew", specialties=["count"], max_concurrency=3)
    other = AgentSpec(name="counter-c", run="chaos_crew:count", specialties=["count"])
    drawn: list[Command] = []
    for _ in range(chance.randint(3, 7)):
        possible: list[Command] = [
            SwapAgent(agent="counter-a", spec=anew, mode=chance.choice(["drain", "migrate"])),
            SwapAgent(agent="counter-b", spec=anew, mode="migrate"),
            Rollback(agent=chance.choice(["counter-a", "counter-b"]), mode="migrate"),
            SwitchStrategy(supervisor="drills", mode=chance.choice(["sequential", "parallel"])),
            SwitchStrategy(supervisor="survey", mode="parallel", scope="new"),
            AddAgent(supervisor="survey", spec=other),
            RemoveMember(target="counter-b", mode=chance.choice(["drain", "requeue"])),
            Pause(target=chance.choice(PAUSABLE)),
            Resume(target=chance.choice(PAUSABLE)),
            Pause(target="nobody"),
            Ping(),
        ]
        drawn.append(chance.choice(possible))
    return drawn


def assert_every_command_has_its_outcome(voyage: Voyage) -> None:
    answers = answers_in(voyage.read())

    assert [command_id for command_id, _ in answers] == voyage.sent
    for command_id, status in answers:
        outcome = voyage.outcome(command_id)
        assert outcome is not None
        assert outcome.state == status


def assert_nothing_is_recorded_twice(voyage: Voyage) -> None:
    journal = voyage.read()
    steps = Counter((event.task_id, event.key) for event in journal if isinstance(event, StepRecorded))
    done = Counter(event.task_id for event in journal if isinstance(event, AttemptDone))

    assert set(steps.values()) == set(done.values()) == {1}


def assert_the_journal_alone_gives_the_state(voyage: Voyage) -> None:
    state = State()
    fold(state, voyage.read())

    assert encode_state(fold_file(voyage.db)) == encode_state(state)
    assert verify(voyage.db).ok
