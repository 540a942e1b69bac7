"""The counters behind meters and lanes agree with the spans that they sum."""

import gc
from decimal import Decimal
from weakref import ref

from hypothesis import given
from hypothesis import strategies as st

from dashboard.views.measures.activity import RETAINED_MS, SLOT_MS, SLOTS, Activity, ActivityMark
from dashboard.views.measures.attempts import AttemptCounter, Lane
from dashboard.views.measures.meters import Meters, Samples, meter_spans
from dashboard.views.words.glyphs import MARK_TONES
from engine.core.commands import Cancel
from engine.core.events import (
    AgentRemoved,
    AgentSwapped,
    AttemptDone,
    AttemptFailed,
    AttemptLost,
    AttemptParked,
    AttemptResumed,
    AttemptStarted,
    Discovered,
    EngineStarted,
    Event,
    StepRecorded,
    StrategySwitched,
    SupervisorRemoved,
    SwapRolledBack,
)
from engine.core.fold import fold
from engine.core.records.values import Usage
from engine.core.signals import PersonAsked
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from tests.pilot.scene import audit
from tests.story import attempt, attempts, member, submitted
from tests.world import agent, team_world

START_MS = 1_000_000
AGENT = "a1"


def started(at_ms: int, task: str = "t1") -> Event:
    return AttemptStarted(at_ms=START_MS + at_ms, task_id=task, attempt=1, agent_id=AGENT, generation=1)


def done(at_ms: int, task: str = "t1", duration_ms: int = 0) -> Event:
    return AttemptDone(
        at_ms=START_MS + at_ms, task_id=task, attempt=1, agent_id=AGENT, output=None, duration_ms=duration_ms,
        usage=Usage(time_ms=duration_ms),
    )  # fmt: skip


def busy_ms(activity: Activity, now_ms: int) -> int:
    return sum(activity.lane(AGENT).busy.sums(START_MS + now_ms, SLOTS, 1, until=activity.until_ms))


def both(lane: Lane, now_ms: int, samples: int, each: int) -> tuple[list[int], list[int]]:
    return lane.busy.sums(now_ms, samples, each), lane.waited.sums(now_ms, samples, each)


@given(st.lists(st.tuples(st.integers(0, 5_000), st.integers(1, 5_000)), max_size=12))
def test_all_time_at_work_is_counted_once(spans: list[tuple[int, int]]) -> None:
    moments = [(begin, 0, place) for place, (begin, _) in enumerate(spans)]
    moments += [(begin + took, 1, place) for place, (begin, took) in enumerate(spans)]
    activity = Activity()
    activity.count_events(
        [(done if ends else started)(at_ms, f"t{place}") for at_ms, ends, place in sorted(moments)],
    )

    assert busy_ms(activity, 10_000) == sum(took for _, took in spans)


@given(st.integers(0, 3_000), st.integers(0, 3_000), st.integers(0, 3_000))
def test_nothing_is_at_work_while_there_is_no_engine(worked: int, gone: int, after: int) -> None:
    lives = Activity()
    last = AttemptParked(at_ms=START_MS + worked // 2, task_id="of another", attempt=1, agent_id="a9")
    lives.count_events([started(0), last])
    lives.until_ms = START_MS + worked

    assert busy_ms(lives, worked + gone) == worked

    again: list[Event] = [
        EngineStarted(at_ms=START_MS + worked + gone, pid=2, token=2, version="0", last_ms=START_MS + worked),
        AttemptLost(at_ms=START_MS + worked + gone, task_id="t1", attempt=1, agent_id=AGENT),
        started(worked + gone),
    ]
    lives.count_events(again)
    lives.until_ms = None

    assert busy_ms(lives, worked + gone + after) == worked + after


@given(st.integers(0, 3_000), st.integers(0, 3_000), st.integers(0, 3_000))
def test_a_parked_attempt_is_not_at_work(before: int, parked: int, after: int) -> None:
    activity = Activity()
    activity.count_events([started(0)])
    activity.count_events([AttemptParked(at_ms=START_MS + before, task_id="t1", attempt=1, agent_id=AGENT)])
    back_ms = START_MS + before + parked
    activity.count_events([AttemptResumed(at_ms=back_ms, task_id="t1", attempt=1, agent_id=AGENT, call_keys=[])])
    activity.count_events([done(before + parked + after)])

    waited = activity.lane(AGENT).waited.sums(START_MS + 10_000, SLOTS, 1)
    assert busy_ms(activity, 10_000) == before + after
    assert sum(waited) == parked


def test_an_attempt_that_began_before_what_is_known_has_waited_until_it_went_on() -> None:
    resumed = AttemptResumed(at_ms=START_MS + 5_000, task_id="t1", attempt=1, agent_id=AGENT, call_keys=[])
    activity = Activity()
    activity.count_events([resumed, done(5_100)])
    busy, waited = both(activity.lane(AGENT), START_MS + 6_000, SLOTS, 1)

    assert sum(busy) == 100
    assert sum(waited[-SLOTS // 2 :]) > 50 * SLOT_MS


def test_what_waits_since_before_what_is_known_was_not_at_work_though_later_work_is_known() -> None:
    world = team_world(agent("ada"))
    for _ in range(2):  # the second begins because the first waits for a person, without a slot
        submitted(world)
        key = attempts(world, "ada")[-1]
        world.say(
            PersonAsked(task_id=key[0], attempt=1, generation=1, key="ask:1", kind="ask", question="go on?", options=[])
        )
        world.rest(key, why="ask")
        world.now_ms += RETAINED_MS
    known = len(world.journal)
    submitted(world)

    found = Activity.of(world.state, world.journal[known:])
    busy, waited = both(found.lane(world.state.roots[0].members[0]), world.now_ms, SLOTS, 1)

    assert sum(busy) == 0
    assert sum(waited) > RETAINED_MS


def test_at_every_moment_of_a_takeover_the_counters_of_a_past_moment_are_those_that_were_shown_live() -> None:
    world, live, state = team_world(agent("ada", max_concurrency=3)), Activity(), State()
    for _ in range(2):
        submitted(world)
        world.now_ms += 3_000
    world.crash()

    for place, event in enumerate(world.journal, 1):
        fold(state, [event])
        live.count_events([event])
        found = Activity.of(state, world.journal[:place])
        assert both(found.attempts.team, state.at_ms, 30, 4) == both(live.attempts.team, state.at_ms, 30, 4), event


def test_the_tokens_of_a_search_for_agents_count_though_no_agent_used_them() -> None:
    activity, usage = Activity(), Usage(tokens_in=40, tokens_out=2)

    activity.count_events(
        [Discovered(at_ms=START_MS, task_id="t1", supervisor_id="s1", matches=[], chosen=[], modes=[], usage=usage)]
    )

    assert sum(activity.tokens.sums(START_MS, 1, SLOTS)) == 42


def test_an_attempt_that_was_cut_off_with_its_engine_is_no_failure() -> None:
    activity = Activity()
    activity.count_events([started(0), AttemptLost(at_ms=START_MS + 900, task_id="t1", attempt=1, agent_id=AGENT)])

    assert (activity.ended_count, len(activity.ends)) == (0, 0)
    assert sum(activity.attempts.team.failed.sums(START_MS + 10_000, 10, 1)) == 0
    assert busy_ms(activity, 10_000) == 900


def test_an_attempt_whose_start_is_not_known_counts_by_its_length() -> None:
    activity = Activity()
    activity.count_events([done(4_000, duration_ms=1_500)])

    assert busy_ms(activity, 4_000) == 1_500
    assert activity.ends[-1].at_work_ms == 1_500


def test_an_attempt_under_way_grows_until_now() -> None:
    activity = Activity()
    activity.count_events([started(0)])

    assert busy_ms(activity, 2_000) == 2_000
    assert busy_ms(activity, 3_000) == 3_000
    assert activity.shares(AGENT, START_MS + 3_999, samples=4, each=4) == [1.0, 1.0, 1.0, 0.999]


def test_an_event_that_comes_late_is_counted_where_it_happened() -> None:
    activity = Activity()
    activity.count_events([started(0), started(4_500, "t3")])

    activity.count_events([started(4_000, "t2")])

    assert busy_ms(activity, 5_000) == 5_000 + 500 + 1_000


def test_what_ended_before_it_was_looked_at_was_at_work_no_longer() -> None:
    activity = Activity()
    activity.count_events([started(0)])
    assert busy_ms(activity, 5_000) == 5_000

    activity.count_events([done(4_000), started(4_000, "t2")])

    assert busy_ms(activity, 5_000) == 5_000


def test_what_is_older_than_the_counters_is_forgotten() -> None:
    activity = Activity()
    activity.count_events([started(0), done(1_000), started(RETAINED_MS + 60_000, "t2")])

    assert busy_ms(activity, RETAINED_MS + 61_000) == 1_000


def test_failures_are_counted_beside_what_ended_well() -> None:
    failed = AttemptFailed(
        at_ms=START_MS + 900, task_id="t2", attempt=1, agent_id=AGENT, error="no", error_type="E", duration_ms=100
    )
    activity = Activity()
    activity.count_events([started(0), done(800), failed])

    assert sum(activity.attempts.team.done.sums(START_MS + 1_000, 8, 1)) == 1
    assert sum(activity.attempts.team.failed.sums(START_MS + 1_000, 8, 1)) == 1


def test_a_roll_back_is_the_last_swap_of_an_agent() -> None:
    activity = Activity()
    spec = AgentSpec(name="a", run="hands:echo")
    swapped = AgentSwapped(at_ms=START_MS + 100, agent_id=AGENT, generation=2, spec=spec, mode="drain")
    back = SwapRolledBack(
        at_ms=START_MS + 900, agent_id=AGENT, generation=3, spec=spec, mode="drain", why="an operator"
    )
    activity.count_events([swapped, back])

    assert activity.swapped_ms == {AGENT: START_MS + 900}
    assert [mark.glyph for mark in activity.marks] == ["◆", "◆"]


def test_of_two_marks_in_a_cell_the_one_that_asks_a_person_is_drawn() -> None:
    work = audit()
    (scout,) = [one for one in work.state.agents.values() if one.name == "scout-thorough"]
    activity, meters = Activity(), Meters()
    for glyph in ("⚑", "✕", "◆"):
        activity.marks.append(ActivityMark(work.now_ms, glyph, scout.id))
    meters.update(activity, work.state, work.now_ms)

    marks = [span.text for span in meters.spans_of(scout.id) if span.text in MARK_TONES]
    assert marks == ["⚑"]


def test_an_agent_that_has_left_is_forgotten() -> None:
    activity = Activity()
    activity.count_events([started(0), done(900)])
    activity.count_events([AgentRemoved(at_ms=START_MS + 1_000, agent_id=AGENT)])

    assert activity.lane(AGENT) is activity.lane("one that never was")
    assert AGENT not in activity.started_ms


def test_nothing_is_kept_of_a_supervisor_that_is_gone() -> None:
    activity = Activity()
    switched = StrategySwitched(
        at_ms=START_MS, supervisor_id="s1", mode="parallel", previous="map", aggregation="first", aggregator=None,
        scope="new",
    )  # fmt: skip
    activity.count_events([switched])
    assert activity.switched_ms
    activity.count_events([SupervisorRemoved(at_ms=START_MS + 1_000, supervisor_id="s1")])

    assert not activity.switched_ms


def test_samples_lie_on_the_clock_so_that_bars_keep_their_shape() -> None:
    counter = AttemptCounter(SLOT_MS, SLOTS)
    counter.start("t1", AGENT, 0)
    counter.end("t1", SLOT_MS * 3)

    early = counter.team.busy.sums(SLOT_MS * 8, 4, 2)
    late = counter.team.busy.sums(SLOT_MS * 9, 4, 2)

    assert early == late


def test_a_state_is_taken_up_where_its_events_are_not_known() -> None:
    work = audit()
    whole, cold = Activity.of(work.state, work.journal), Activity.of(work.state, ())
    for one in work.state.agents.values():
        lane = cold.lane(one.id)
        assert (lane.busy.level, lane.waited.level) == (len(one.running), len(one.parked))
        assert whole.lane(one.id).busy.level == len(one.running)


@given(st.lists(st.tuples(st.sampled_from(["step", "done", "failed", "stopped"]), st.integers(0, 50)), max_size=12))
def test_all_that_a_team_has_spent_is_counted_when_it_is_reported(reports: list[tuple[str, int]]) -> None:
    world = team_world(agent("ada"))
    for place, (what, tokens) in enumerate(reports):
        if not world.started:
            submitted(world)
        key = attempt(world, "ada")
        spent = Usage(tokens_in=tokens, tokens_out=1, cost_usd=Decimal(tokens))
        if what == "step":
            world.record(key, f"step {place}", usage=spent, duration_ms=1)
        elif what == "done":
            world.succeed(key, usage=spent)
        elif what == "failed":
            world.fail(key, usage=spent, duration_ms=1)
        else:
            world.order(Cancel(target=key[0]))
            world.stop(key, usage=spent, duration_ms=1)
    activity = Activity.of(world.state, world.journal)
    (root,) = world.state.roots
    tokens = (root.usage.tokens_in or 0) + (root.usage.tokens_out or 0)

    assert sum(activity.tokens.sums(world.now_ms, SLOTS, 1)) == tokens


def test_tokens_of_a_search_for_agents_count_though_no_agent_spent_them() -> None:
    activity, usage = Activity(), Usage(tokens_in=3, tokens_out=4)
    search = Discovered(at_ms=START_MS, task_id="t1", supervisor_id="s1", matches=[], chosen=[], modes=[], usage=usage)
    activity.count_events([search])

    assert activity.tokens.sums(START_MS, 1, 1) == [7]


def test_more_tokens_than_a_counter_holds_are_counted_as_the_most_that_it_holds() -> None:
    activity = Activity()
    spent = StepRecorded(
        at_ms=START_MS, task_id="t1", attempt=1, agent_id=AGENT, name="s", key="s", output=None, duration_ms=1,
        usage=Usage(tokens_out=2**63 - 1),
    )  # fmt: skip
    activity.count_events([spent, spent, spent])

    assert activity.tokens.sums(START_MS, 1, 1) == [2**64 - 1]


@given(
    st.lists(
        st.one_of(st.integers(0, 3 * SLOT_MS), st.integers(RETAINED_MS - 2 * SLOT_MS, 2 * RETAINED_MS)), max_size=12
    )
)
def test_events_of_the_last_two_minutes_are_counted_and_no_others(gaps_ms: list[int]) -> None:
    times = [sum(gaps_ms[:place]) for place in range(1, len(gaps_ms) + 1)] or [0]
    activity = Activity()
    activity.count_events([started(at_ms, f"t{place}") for place, at_ms in enumerate(times)])

    newest = (START_MS + times[-1]) // SLOT_MS
    kept = [at_ms for at_ms in times if newest - (START_MS + at_ms) // SLOT_MS < SLOTS]
    assert sum(activity.events.sums(START_MS + times[-1], SLOTS, 1)) == len(kept)


def test_an_agent_that_only_waits_for_what_it_delegated_is_not_drawn_as_one_at_rest() -> None:
    waits = Samples([0.01, 0.0], [0.99, 1.0])

    assert [span.text for span in meter_spans(waits, {})] == ["⠒"]
    assert [span.text for span in meter_spans(Samples([0.9, 0.0], [0.1, 1.0]), {})] != ["⠒"]


def test_a_team_whose_leads_wait_for_one_at_work_is_not_drawn_as_one_that_waits() -> None:
    idle = [agent(f"idle{number}") for number in range(16)]
    work = team_world(
        agent("ada"), agent("bob"), agent("cyd", "sum"), *idle, mode="parallel", participants=["ada", "bob"]
    )
    submitted(work)
    for lead in ("ada", "bob"):
        work.ask(attempt(work, lead), "sum", ["x"])
    meters = Meters()
    meters.update(Activity.of(work.state, work.journal), work.state, work.now_ms + 5_000)
    (chief,) = work.state.supervisors

    assert "⠒" in "".join(span.text for span in meters.spans_of(member(work, "ada").id))
    assert "⠒" not in "".join(span.text for span in meters.spans_of(chief))


def test_counters_that_are_replaced_are_freed_without_a_garbage_collection() -> None:
    activity = Activity.of(audit().state, [started(0), done(1_000)])
    left = ref(activity)
    gc.disable()
    try:
        del activity
        assert left() is None
    finally:
        gc.enable()
