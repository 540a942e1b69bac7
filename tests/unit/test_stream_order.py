"""Laws of a stream: within an attempt everything is heard in the order in which it happened, whoever reads it and when.

Histories are drawn: attempts say something, report steps, and the journal catches up later, a few events at a time.
"""

from collections.abc import Iterable
from typing import Any

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.core.events import Event, StepRecorded
from engine.stream import subscription as limits
from engine.stream.board import LiveTexts
from engine.stream.bus import Bus
from engine.stream.merging import Merger
from engine.stream.records import Piece, Speaker, StreamItem

SPEAKERS = [Speaker(run_id="r1", task_id=f"t{number}", attempt=1, agent_id="a", agent="ada") for number in range(3)]
ACTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["text", "thought", "tool_started", "step"]), st.integers(0, 2)),
        st.tuples(st.sampled_from(["journal", "read", "written"]), st.integers(1, 4)),
    ),
    max_size=60,
)


class World:
    """Attempts, the journal that lies behind them, and what really happened."""

    def __init__(self, *, with_recent: bool = False, buffered: int = 10_000) -> None:
        self.board = LiveTexts(with_recent=with_recent, on_change=lambda: None)
        self.bus = Bus(self.board, self._read_on)
        self.heard = self.bus.listen(buffered=buffered)
        self.journal: list[tuple[int, Event]] = []
        self.truth: dict[str, list[str]] = {speaker.task_id: [] for speaker in SPEAKERS}
        self._reported: list[StepRecorded] = []
        self._count = 0

    def act(self, what: str, who: int) -> None:
        """Let an attempt say or report something."""
        speaker = SPEAKERS[who]
        self._count += 1
        told = f"{what} {self._count};"
        if what == "step":
            step = StepRecorded(
                task_id=speaker.task_id, attempt=1, agent_id="a", name="n", key=told, output=None, duration_ms=0
            )
            self.bus.expect(speaker, told)
            self._reported.append(step)
        else:
            name = told if what == "tool_started" else None
            self.bus.publish(Piece(speaker, what, 0, "" if name else told, name))  # type: ignore[arg-type]  # one of the kinds
        self.truth[speaker.task_id].append(told)

    def write(self, most: int) -> None:
        """Let the journal take the next events that were reported."""
        written, self._reported = self._reported[:most], self._reported[most:]
        first = len(self.journal) + 1
        self.journal += enumerate(written, first)
        self.bus.publish_events(first, written)

    async def _read_on(self, after_seq: int) -> list[tuple[int, Event]]:
        return self.journal[after_seq : after_seq + 2]


def as_told(heard: Iterable[StreamItem]) -> dict[str, str]:
    """Return what was heard of each task, in order; text that was merged reads as it was said."""
    found: dict[str, str] = {speaker.task_id: "" for speaker in SPEAKERS}
    for one in heard:
        if isinstance(one, Piece):
            found[one.speaker.task_id] += one.text or str(one.name)
        else:
            event: Any = one[1]
            found[event.task_id] += event.key
    return found


def truth(world: World) -> dict[str, str]:
    """Return what happened to each task."""
    return {task_id: "".join(acts) for task_id, acts in world.truth.items()}


def tapes_of(world: World) -> dict[str, str]:
    """Return what the live file would hold of streams now."""
    return {key: text for key, text in world.board.take().items() if key.startswith("tape:")}


async def taken(world: World, most: int) -> list[StreamItem]:
    """Return the next things that a reader gets without waiting."""
    found: list[StreamItem] = []
    with anyio.move_on_after(0):
        while len(found) < most:
            found.append(await anext(world.heard))
    return found


@given(ACTS)
def test_a_reader_in_this_process_hears_each_attempt_in_order_however_slowly_it_reads(
    acts: list[tuple[str, int]],
) -> None:
    async def play() -> None:
        world, heard = World(), []
        for what, number in acts:
            if what == "journal":
                world.write(number)
            elif what == "read":
                heard += await taken(world, number)
            elif what != "written":
                world.act(what, number)
        world.write(1_000)
        world.bus.end()
        heard += [one async for one in world.heard]

        assert as_told(heard) == truth(world)

    anyio.run(play)


@given(ACTS)
@example([("step", 0), ("step", 0), ("text", 0), ("journal", 2), ("written", 1), ("read", 1)])
@example([("text", 0), ("step", 0), ("journal", 1), ("read", 1), ("written", 1), ("read", 1)])
def test_a_reader_of_the_file_hears_each_attempt_in_order_however_late_the_texts_are_written(
    acts: list[tuple[str, int]],
) -> None:
    world, merger, heard = World(with_recent=True), Merger(), list[StreamItem]()
    texts: dict[str, str] = {}  # as where the reader is earlier than the first write of the engine
    read = 0
    for what, number in acts:
        if what == "journal":
            world.write(number)
        elif what == "written":
            texts |= tapes_of(world)
        elif what == "read":
            heard += merger.step(world.journal[read : read + number], texts)
            read = min(read + number, len(world.journal))
        else:
            world.act(what, number)
    world.write(1_000)
    texts |= tapes_of(world)
    heard += merger.step(world.journal[read:], texts)

    assert as_told(heard) == truth(world)


@given(ACTS, st.integers(1, 3))
def test_a_reader_that_lies_far_behind_misses_no_event_and_is_told_how_much_text_it_missed(
    acts: list[tuple[str, int]], buffered: int
) -> None:
    async def play() -> None:
        world, heard = World(buffered=buffered), []
        for what, number in acts:
            if what == "journal":
                world.write(number)
            elif what == "read":
                heard += await taken(world, number)
            elif what in ("text", "step"):
                world.act(what, number)
        world.write(1_000)
        world.bus.end()
        heard += [one async for one in world.heard]

        assert [one[0] for one in heard if isinstance(one, tuple)] == list(range(1, len(world.journal) + 1))
        said = sum(len(act) for acts in world.truth.values() for act in acts if act.startswith("text"))
        pieces = [one for one in heard if isinstance(one, Piece)]
        assert said == sum(len(one.text) for one in pieces) + sum(
            int(str(one.value)) for one in pieces if one.kind == "dropped"
        )

    anyio.run(play)


def test_text_that_waits_is_merged_and_beyond_the_limit_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_TASK_CHARACTERS", 30)

    async def play() -> None:
        world = World()
        for _ in range(5):
            world.bus.publish(Piece(SPEAKERS[0], "text", 0, "0123456789"))
        world.bus.publish(Piece(SPEAKERS[1], "text", 0, "other"))
        heard = await taken(world, 10)
        world.bus.publish(Piece(SPEAKERS[0], "text", 0, "again"))
        heard += await taken(world, 10)

        told = [(one.speaker.task_id, one.kind, one.text, one.value) for one in heard if isinstance(one, Piece)]
        assert told == [
            ("t0", "text", "0123456789" * 3, None),
            ("t1", "text", "other", None),
            ("t0", "dropped", "", 20),
            ("t0", "text", "again", None),
        ]

    anyio.run(play)


def test_a_reader_that_has_left_is_told_nothing_more() -> None:
    world = World()
    with world.heard:
        world.act("text", 0)
    world.act("text", 0)
    world.write(5)

    async def rest() -> list[StreamItem]:
        return [one async for one in world.heard]

    assert not world.bus.has_readers
    assert anyio.run(rest) == []
