"""The counter of attempts equals a recount from the journal, and everything that shows attempts agrees with it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.deck import timelines
from dashboard.views.event_log import Entry
from dashboard.views.measures.activity import SLOT_MS, SLOTS, Activity
from dashboard.views.measures.attempts import AttemptCounter, Lane, SlotCounts, parts_of
from dashboard.views.measures.metric_rows import count_figures
from dashboard.views.measures.metrics import Window
from dashboard.views.timeline import Lanes
from engine.core import events as on
from engine.core.events import Event
from engine.core.records.values import Usage
from tests.chance import worlds
from tests.depth import examples
from tests.world import World

START_MS = 1_763_720_000_000
AGENTS = ("a1", "a2", "a3")


class Recount(NamedTuple):
    """Milliseconds by task, added up between every two events."""

    busy: Counter[str]
    waited: Counter[str]


def recounted(journal: Sequence[Event], now_ms: int) -> Recount:
    busy, waited, running, parked = Counter[str](), Counter[str](), set[str](), set[str]()
    for event, after in zip(journal, [*journal[1:], None], strict=True):
        task_id = getattr(event, "task_id", "")
        if isinstance(event, (on.AttemptStarted, on.AttemptResumed, on.AttemptParked, *on.ATTEMPT_ENDS)):
            running.discard(task_id)
            parked.discard(task_id)
        if isinstance(event, on.AttemptStarted | on.AttemptResumed):
            running.add(task_id)
        elif isinstance(event, on.AttemptParked):
            parked.add(task_id)
        span_ms = (now_ms if after is None else after.at_ms) - event.at_ms
        waited.update(dict.fromkeys(parked, span_ms))
        if not isinstance(after, on.EngineStarted | on.EngineSlept):
            busy.update(dict.fromkeys(running, span_ms))
    return Recount(busy, waited)


def by_agent(times_ms: Counter[str], journal: Sequence[Event]) -> Counter[str]:
    sums_ms = Counter[str]()
    for event in journal:
        if isinstance(event, on.AttemptStarted):
            sums_ms[str(event.agent_id)] += times_ms[event.task_id]
    return sums_ms


def attempt_event(
    kind: str, at_ms: int, task_id: str, agent_id: str, *, worked_ms: int, took_ms: int, parked: bool
) -> Event:
    """Return an event of an attempt, which parks and resumes with the same kind."""
    shared: dict[str, Any] = {"at_ms": at_ms, "task_id": task_id, "attempt": 1, "agent_id": agent_id}
    took: dict[str, Any] = {"duration_ms": took_ms, "usage": Usage(time_ms=worked_ms)}
    if kind == "wait":
        return on.AttemptResumed(**shared, call_keys=[]) if parked else on.AttemptParked(**shared)
    if kind == "step":
        return on.StepRecorded(**shared, name="s", key="s", output=None, duration_ms=1)
    if kind == "done":
        return on.AttemptDone(**shared, output=None, **took)
    if kind == "failed":
        return on.AttemptFailed(**shared, error="no", error_type="E", **took)
    return on.AttemptCancelled(**shared, partial=None, **took)


@st.composite
def journals(draw: st.DrawFn) -> list[Event]:
    """Draw two minutes at most of attempts, waits, engines that end, and sleep."""
    journal, at_ms, number = list[Event](), START_MS, 0
    task_ids: dict[str, tuple[str, bool, int]] = {}
    for _ in range(draw(st.integers(1, 30))):
        at_ms += draw(st.one_of(st.integers(0, 600), st.integers(0, 3_900)))
        task_id = draw(st.sampled_from(["", *task_ids, *task_ids]))
        if not task_id:
            number += 1
            task_id, agent_id = f"t{number}", draw(st.sampled_from(AGENTS))
            task_ids[task_id] = agent_id, False, at_ms
            journal.append(on.AttemptStarted(at_ms=at_ms, task_id=task_id, attempt=1, agent_id=agent_id, generation=1))
            continue
        agent_id, parked, since_ms = task_ids[task_id]
        kind = draw(st.sampled_from(["wait", "done", "failed", "cancelled", "step", "step", "slept", "killed"]))
        if kind == "killed":
            journal.append(on.EngineStarted(at_ms=at_ms, pid=2, token=2, version="0"))
            for lost_id in [key for key, (_, waits, _) in task_ids.items() if not waits]:
                journal.append(
                    on.AttemptLost(at_ms=at_ms, task_id=lost_id, attempt=1, agent_id=task_ids.pop(lost_id)[0])
                )
            continue
        if kind == "slept":
            journal.append(on.EngineSlept(at_ms=at_ms, slept_ms=at_ms - journal[-1].at_ms))
            continue
        worked_ms = recounted(journal, at_ms).busy[task_id]
        journal.append(
            attempt_event(kind, at_ms, task_id, agent_id, worked_ms=worked_ms, took_ms=at_ms - since_ms, parked=parked)
        )
        if kind == "wait":
            task_ids[task_id] = agent_id, not parked, since_ms
        elif kind != "step":
            del task_ids[task_id]
    return journal


def entries_of(journal: Sequence[Event]) -> list[Entry]:
    return [Entry(seq, event.at_ms, event.type, event) for seq, event in enumerate(journal, 1)]


def lanes_of(journal: Sequence[Event], *, read: int) -> Lanes:
    """Return the lanes of a journal that was read in pieces, and drawn right before each of them."""
    lanes, entries = Lanes(), entries_of(journal)
    for first in range(0, len(entries), read):
        lanes.advance(entries[first].at_ms)
        assert timelines.catch_up(lanes, entries[: first + read])
    return lanes


def times_of(lane: Lane, now_ms: int) -> tuple[int, int]:
    return sum(lane.busy.sums(now_ms, SLOTS, 1)), sum(lane.waited.sums(now_ms, SLOTS, 1))


@given(journals(), st.integers(1, 5), st.integers(0, 2_000))
def test_time_at_work_and_waits_are_those_that_the_journal_has(journal: list[Event], pieces: int, later: int) -> None:
    now_ms = journal[-1].at_ms + later
    activity = Activity()
    for first in range(0, len(journal), pieces):
        activity.count_events(journal[first : first + pieces])

    recount = recounted(journal, now_ms)
    busy, waited = by_agent(recount.busy, journal), by_agent(recount.waited, journal)
    for agent_id in AGENTS:
        assert times_of(activity.lane(agent_id), now_ms) == (busy[agent_id], waited[agent_id])
    assert times_of(activity.attempts.team, now_ms) == (busy.total(), waited.total())


@given(journals(), st.integers(1, 5), st.integers(0, 2_000))
def test_lanes_of_a_timeline_have_the_time_at_work_that_the_meters_have(
    journal: list[Event], pieces: int, later: int
) -> None:
    now_ms = journal[-1].at_ms + later
    lanes, activity = lanes_of(journal, read=pieces), Activity()
    activity.count_events(journal)
    at = lanes.advance(now_ms)

    for agent_id, lane in [*lanes.lanes.items(), ("", lanes.team)]:
        other = activity.lane(agent_id) if agent_id else activity.attempts.team
        assert sum(lane.busy.until(at)) == times_of(other, now_ms)[0]


@given(journals())
def test_ends_and_time_at_work_are_the_same_in_lanes_in_rates_in_plots_and_in_figures(journal: list[Event]) -> None:
    lanes, activity, now_ms = lanes_of(journal, read=len(journal)), Activity(), journal[-1].at_ms
    activity.count_events(journal)
    window = Window(200_000, 50, now_ms)
    window.add(activity.ends)
    figures, series, team = count_figures(activity.ends, 0), window.series(now_ms), activity.attempts.team
    done = Counter(event.agent_id for event in journal if isinstance(event, on.AttemptDone))
    failed = Counter(event.agent_id for event in journal if isinstance(event, on.AttemptFailed))

    for agent_id in AGENTS:
        lane, of_agent = lanes.lanes.get(agent_id, Lane(1, 1)), figures.get(agent_id)
        assert sum(lane.done.values) == done[agent_id] == (of_agent.done if of_agent else 0)
        assert sum(lane.failed.values) == failed[agent_id] == (of_agent.failed if of_agent else 0)
    for counts, samples, number in (
        (team.done, series.done, sum(done.values())), (team.failed, series.failed, sum(failed.values()))
    ):  # fmt: skip
        assert sum(counts.sums(now_ms, SLOTS, 1)) == sum(samples) == number
    unreported_ms = recounted(journal, now_ms).busy
    for end in activity.ends:
        del unreported_ms[end.task_id]
    worked_ms = times_of(team, now_ms)[0] - unreported_ms.total()
    assert sum(of_agent.time_ms for of_agent in figures.values()) == worked_ms
    assert round(sum(series.busy[:-1]) * series.each_ms) <= worked_ms <= round(sum(series.busy) * series.each_ms)


@settings(max_examples=examples(10), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(worlds())
def test_meters_and_timeline_agree_on_whatever_happened(world: World) -> None:
    now_ms = world.now_ms
    lanes, activity = lanes_of(world.journal, read=25), Activity()
    activity.attempts = AttemptCounter(SLOT_MS, now_ms // SLOT_MS + 2)
    activity.count_events(world.journal)
    at = lanes.advance(now_ms)

    for agent_id in activity.attempts.lanes.keys() & lanes.lanes.keys():
        busy = activity.lane(agent_id).busy
        assert sum(lanes.lanes[agent_id].busy.until(at)) == sum(busy.until(now_ms)), agent_id


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 700))
def test_a_period_is_divided_into_its_slots(begin: int, length: int, slot_ms: int) -> None:
    parts = parts_of(begin, begin + length, slot_ms)

    recount = Counter(at // slot_ms for at in range(begin, begin + length))
    assert {slot: part_ms for slot, part_ms in parts if part_ms} == recount


@given(st.lists(st.tuples(st.integers(0, 3_000), st.sampled_from([1, -1])), max_size=20), st.sampled_from([2, 5]))
def test_what_lasts_is_counted_alike_before_and_after_slots_are_merged(
    changes: list[tuple[int, int]], each: int
) -> None:
    counts, level, expected, merged_at = SlotCounts(10, 400), 0, 0, len(changes) // 2
    changes.sort()
    for place, (at, by) in enumerate(changes):
        by = 1 if level == 0 else by
        expected += level * (at - (changes[place - 1][0] if place else 0))
        level += by
        if place == merged_at:
            counts.merge(each)
        counts.change(at, by)
    end = 3_500
    expected += level * (end - (changes[-1][0] if changes else 0))

    assert sum(counts.until(end)) == expected
    assert sum(counts.sums(end, 400, 1)) == expected
