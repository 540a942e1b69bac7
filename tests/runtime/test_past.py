"""Past moments of a file: each as folding the journal gives it, whatever was asked for before and how quickly."""

import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import anyio
import pytest

from dashboard.reading.checkpoints import Checkpoints
from dashboard.reading.past import CHECKPOINT_DISTANCE, MAX_EVENTS_FORWARD, RECENT, Past
from dashboard.reading.summaries import Summaries
from dashboard.views.measures.activity import Activity
from dashboard.views.measures.time_bar_columns import time_bar
from dashboard.views.words.glyphs import MARKS
from engine.core.commands import SwapAgent
from engine.core.encoding.codec import encode_state
from engine.core.events import Event
from engine.core.fold import fold
from engine.core.records.values import Usage
from engine.core.state import State
from engine.reading.folding import fold_file_at
from store import Reader, open_store
from store.journals.compression import compress
from tests.bench.histories import mapped, rows_of, succeed
from tests.patience import PATIENCE_S
from tests.story import attempt, submitted
from tests.world import World, agent, team_world


@pytest.fixture(scope="module")
def journal() -> list[Event]:
    """A few thousand events, with a swap in the middle."""
    history = mapped(1_500, 20)
    for number, key in enumerate(history.workers()):
        if number == 700:
            history.world.order(SwapAgent(agent="chief/a3", spec=agent("a3", "parse", max_concurrency=2)))
        history.world.now_ms += 10
        succeed(history.world, key)
    return history.world.journal


@pytest.fixture(scope="module")
def path(journal: list[Event], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their file, with two snapshots."""
    return written(tmp_path_factory.mktemp("past") / "team.db", journal, [1_000, 2_000])


def written(path: Path, journal: list[Event], snapshots: list[int]) -> Path:
    async def write() -> None:
        async with open_store(path, durability="normal") as store:
            await store.journal.append(1, rows_of(journal))
            state = State()
            for seq in snapshots:
                fold(state, journal[state.seq : seq])
                await store.snapshots.save(seq, encode_state(state))

    anyio.run(write)
    return path


class Asked:
    """A `Past` that is waited for."""

    def __init__(self, path: Path) -> None:
        self.news = threading.Event()
        self.past = Past(path, ready=self.news.set)
        self.past.start()

    def brought(self, *asks: Callable[[], None]) -> State:
        """Ask, and return the state once nothing more is asked for."""
        for ask in asks:
            ask()
        while self.past.busy:
            assert self.news.wait(PATIENCE_S), "the moment never comes"
            self.news.clear()
            self.past.advance()
        return self.past.state


@pytest.fixture
def asked(path: Path) -> Iterator[Asked]:
    found = Asked(path)
    yield found
    found.past.stop()


def test_every_moment_is_what_folding_the_journal_gives(path: Path, asked: Asked) -> None:
    draw = random.Random(7)
    with Reader(path) as reader:
        last = reader.last_seq()
    near = [
        1,
        last,
        1_000,
        999,
        2_000,
        1_000 + CHECKPOINT_DISTANCE,
        1_000 + CHECKPOINT_DISTANCE + MAX_EVENTS_FORWARD,
        2_001,
        last - 1,
    ]

    for seq in [*near, *(draw.randint(1, last) for _ in range(25))]:
        state = asked.brought(partial(asked.past.to_seq, seq))
        assert state.seq == seq
        assert encode_state(state) == encode_state(fold_file_at(path, seq))
        assert asked.past.recent[-1].seq == seq
        assert asked.past.trouble is None


def test_steps_go_on_from_what_was_asked_for_last(path: Path, asked: Asked) -> None:
    past = asked.past
    state = asked.brought(
        lambda: past.to_seq(2_500), *[lambda: past.by_events(1)] * 3, *[lambda: past.by_events(-1)] * 5
    )

    assert state.seq == 2_498
    assert encode_state(state) == encode_state(fold_file_at(path, 2_498))
    assert asked.brought(lambda: past.by_events(-10_000)).seq == 1


def test_a_moment_once_handed_over_is_not_touched_by_work_for_the_next(asked: Asked) -> None:
    held = asked.brought(lambda: asked.past.to_seq(2_400))
    before = encode_state(held)

    asked.past.by_events(3)
    asked.past.to_seq(1_200)
    while asked.past.busy and not asked.news.wait(0.01):
        pass

    assert encode_state(held) == before


def test_of_many_moments_that_are_asked_for_quickly_the_last_one_is_shown(path: Path, asked: Asked) -> None:
    state = asked.brought(*(partial(asked.past.to_seq, seq) for seq in range(200, 2_901, 30)))

    assert state.seq == 2_900
    assert encode_state(state) == encode_state(fold_file_at(path, state.seq))


def test_a_time_is_the_newest_event_that_is_no_younger(path: Path, asked: Asked) -> None:
    with Reader(path) as reader:
        at_ms = reader.record(1_777).at_ms

    state = asked.brought(lambda: asked.past.to_time(at_ms))
    with Reader(path) as reader:
        assert state.at_ms == at_ms
        assert reader.record(state.seq + 1).at_ms > at_ms
    assert asked.brought(lambda: asked.past.to_time(at_ms - 1)).at_ms < at_ms
    assert asked.brought(lambda: asked.past.to_time(0)).seq == 1


def test_marks_are_the_rare_events_and_beyond_the_last_one_it_stays(journal: list[Event], asked: Asked) -> None:
    marked = [seq for seq, event in enumerate(journal, 1) if event.type in MARKS]
    assert len(marked) == 2  # a run began, an agent was swapped

    begin = asked.brought(lambda: asked.past.to_seq(1))
    assert begin.seq == 1
    assert asked.brought(lambda: asked.past.to_mark(1)).seq == marked[0]
    assert asked.brought(lambda: asked.past.to_mark(1)).seq == marked[1]
    assert asked.brought(lambda: asked.past.to_mark(1)).seq == marked[1]
    assert asked.brought(lambda: asked.past.to_mark(-1)).seq == marked[0]
    assert asked.brought(lambda: asked.past.to_mark(1, ["attempt_started"])).seq == marked[0] + 1 + next(
        place for place, event in enumerate(journal[marked[0] :]) if event.type == "attempt_started"
    )


def test_a_moment_comes_with_how_long_queues_were_before_it(journal: list[Event], asked: Asked) -> None:
    target = len(journal) - 700
    asked.brought(partial(asked.past.to_seq, target))

    lengths = [waiting for _, waiting in asked.past.activity.queued]
    state = State()
    fold(state, journal[:target])
    assert lengths[-1] == sum(queue.ready for queue in state.queues.values())
    assert len(lengths) > 2
    assert lengths == sorted(lengths, reverse=True)


def test_a_file_that_cannot_be_folded_is_one_line_and_the_next_moment_is_shown(
    journal: list[Event], tmp_path: Path
) -> None:
    bad = written(tmp_path / "bad.db", journal[:1_500], [])
    edit(bad, "UPDATE journal SET body = '{}' WHERE seq = 1200")
    found = Asked(bad)

    found.brought(lambda: found.past.to_seq(1_300))
    assert "1200" in str(found.past.trouble)
    assert "\n" not in str(found.past.trouble)
    assert found.brought(lambda: found.past.to_seq(1_100)).seq == 1_100
    assert str(found.past.trouble) == "None"
    found.past.stop()


def test_a_file_that_is_gone_is_one_line(tmp_path: Path) -> None:
    found = Asked(tmp_path / "none.db")

    found.brought(lambda: found.past.to_seq(1))
    assert found.past.trouble is not None
    assert "none.db" in found.past.trouble
    found.past.stop()


def test_no_transaction_stays_open_between_two_moments(journal: list[Event], tmp_path: Path) -> None:
    file = written(tmp_path / "team.db", journal[:900], [])
    found = Asked(file)
    found.brought(lambda: found.past.to_seq(800))

    other = sqlite3.connect(file, isolation_level=None)
    other.execute("CREATE TABLE more (x)")
    (busy, _, _) = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    other.close()

    assert busy == 0
    found.past.stop()


def test_checkpoints_forget_what_was_not_used_for_longest_beyond_their_bound() -> None:
    bodies = {seq: bytes([seq]) * 5_000 for seq in range(1, 5)}
    kept = Checkpoints(max_bytes=2 * len(compress(bodies[1])) + 1)
    for seq in (3, 1):
        kept.add(seq, bodies[seq])
        assert kept.nearest(seq) == (seq, bodies[seq])
        kept.pack()
    assert kept.nearest(3) == (3, bodies[3])

    kept.add(4, bodies[4])
    kept.pack()

    assert kept.nearest(9) == (4, bodies[4])
    assert kept.nearest(3) == (3, bodies[3])
    assert kept.nearest(2) is None


def edit(path: Path, statement: str) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(statement)
    other.close()


def test_summaries_count_every_event_and_go_on_where_they_ended(journal: list[Event], tmp_path: Path) -> None:
    async def write(first: int, last: int) -> None:
        async with open_store(tmp_path / "team.db", durability="normal") as store:
            await store.journal.append(first, rows_of(journal[first - 1 : last]))

    found = Summaries()
    for first, last in ((1, 1_400), (1_401, 1_450), (1_451, 2_600), (2_601, len(journal))):
        anyio.run(write, first, last)
        with Reader(tmp_path / "team.db") as reader:
            found.read(reader, columns=50)
        spans = found.spans()

        assert [span.first_seq for span in spans] == [1, *(span.last_seq + 1 for span in spans[:-1])]
        assert sum(sum(span.counts.values()) for span in spans) == spans[-1].last_seq == last
    swapped = next(event for event in journal if event.type == "agent_swapped")
    from_ms, to_ms = journal[0].at_ms, journal[-1].at_ms
    bar = time_bar(spans, width=50)
    marked = (swapped.at_ms - from_ms) * 50 // (to_ms - from_ms + 1)
    assert [column for column, slot in enumerate(bar.slots) if slot.mark == "◆"] == [marked]


def test_summaries_go_on_with_the_newest_events_of_the_feed(asked: Asked) -> None:
    asked.brought(lambda: asked.past.to_seq(2_050))
    found = Summaries()
    found._spans = []  # nothing was read yet

    spans = found.spans(asked.past.recent)

    assert [span.first_seq for span in spans] == [entry.seq for entry in asked.past.recent]


def test_a_world_of_one_event_has_a_bar(tmp_path: Path) -> None:
    world = World()
    world.crash()
    file = written(tmp_path / "one.db", world.journal[:1], [])
    found = Summaries()
    with Reader(file) as reader:
        found.read(reader, columns=10)

    bar = time_bar(found.spans(), width=10)
    assert bar.seq_at(9) == 1


def test_the_first_summaries_of_a_long_history_are_no_finer_than_a_bar_shows(
    journal: list[Event], tmp_path: Path
) -> None:
    found = Summaries()
    with Reader(written(tmp_path / "long.db", journal, [])) as reader:
        found.read(reader, columns=50)
        blocks = len(reader.blocks())

    assert len(found.spans()) <= 50 + 2 * blocks


def test_a_moment_after_much_work_counts_what_failed_before_its_last_events(tmp_path: Path) -> None:
    work = team_world(agent("ada"))
    for place in range(400):
        submitted(work)
        key = attempt(work, "ada")
        spent = Usage(tokens_in=place, time_ms=3)
        work.fail(key, usage=spent) if place < 50 else work.succeed(key, usage=spent)
    assert len(work.journal) > RECENT + 500
    live = Activity.of(work.state, work.journal)
    asked = Asked(written(tmp_path / "team.db", work.journal, []))
    try:
        asked.brought(partial(asked.past.to_seq, len(work.journal)))
        then = asked.past.activity

        assert then.ends == live.ends
        for one, other in (
            (then.tokens, live.tokens),
            (then.attempts.team.failed, live.attempts.team.failed),
            (then.attempts.team.done, live.attempts.team.done),
        ):
            assert one.sums(work.now_ms, 60, 4) == other.sums(work.now_ms, 60, 4)
    finally:
        asked.past.stop()
