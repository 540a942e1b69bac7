"""What the screens say about a team: why a task waits, who is folded, what the header warns of."""

from dataclasses import replace

import pytest

from dashboard.actions import WORDS
from dashboard.actions.command_line import InvalidCommandLine, completions, parse_line
from dashboard.views.changes.outcomes import describe_outcome
from dashboard.views.changes.targets import find_target, receiver, supervisor_behind
from dashboard.views.facts.agent import MIN_SHOWN_MS
from dashboard.views.facts.now import now_of_task
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.header import banner, engine_cell, engine_time_ms, gone_since_ms
from dashboard.views.measures.digest import make_digest
from dashboard.views.network import MAX_IDLE_SHOWN, Folding, Measures, network
from dashboard.views.situation import Situation
from dashboard.views.words.glyphs import ACTIVITY, RUN, TASK
from engine.core.activities import ACTIVITY_KINDS
from engine.core.commands import Pause, RegisterSpec, Submit, SupervisorSpec, SwapAgent
from engine.core.errors import Refused
from engine.core.queries.people.needs import needs_person
from engine.core.queries.team.replacements import replacements
from engine.core.signals import AgentUnusable
from engine.core.specs.spec import Retry
from engine.core.state import RunStatus, Task, TaskStatus
from store import EngineInfo, StandbyInfo
from tests.world import World, agent, team_world


def mapped(*names: str, items: int = 3, max_parallel: int = 10, **fields: object) -> World:
    """A planner that has handed out work which the others can do."""
    world = team_world(
        agent("planner", "plan"),
        SupervisorSpec(
            name="below", members=[agent(name, "scan", **fields) for name in names], max_parallel=max_parallel
        ),
        participants=["planner"],
    )
    world.order(Submit(request="scan it all"))
    world.ask(next(iter(world.started)), "scan", [f"file {number}" for number in range(items)])
    return world


def reason(world: World, title: str) -> str:
    task = task_named(world, title)
    return now_of_task(task, make_digest(world.state, now_ms=world.now_ms), world.now_ms).text


def task_named(world: World, title: str) -> Task:
    return next(task for task in world.state.tasks.values() if task.title == title and task.kind != "group")


def agent_id(world: World, name: str) -> str:
    return next(one.id for one in world.state.agents.values() if one.name == name)


def test_a_waiting_task_says_its_place_in_the_queue() -> None:
    world = mapped("scout")

    assert reason(world, "file 0") == "file 0"
    assert reason(world, "file 1") == "next in scout's queue"
    assert reason(world, "file 2") == "behind 1 in scout's queue"
    assert reason(world, "planner") == "waits for 3 delegated tasks"


def test_a_waiting_task_says_which_queue_several_agents_take_from() -> None:
    assert reason(mapped("ada", "bob", items=4), "file 3") == "behind 1 in the scan queue"


def test_a_waiting_task_says_who_is_paused_in_error_or_full() -> None:
    world = mapped("scout")
    world.order(Pause(target="scout"))
    assert reason(world, "file 1") == "scout is paused"

    world.order(Pause(target="below"))
    assert reason(world, "file 1") == "supervisor below is paused"

    world = mapped("ada", "bob")
    world.order(Pause(target="ada"))
    world.say(AgentUnusable(agent_id=agent_id(world, "bob"), generation=1, error="gone"))
    assert reason(world, "file 2") == "none of 2 agents takes tasks: ada is paused"

    assert reason(mapped("ada", "bob", max_parallel=1), "file 2") == "supervisor below is full: 1 of 1 at work"


def test_what_waits_for_a_team_is_counted_in_the_rows_of_all_above_it() -> None:
    world = team_world(SupervisorSpec(name="yard", members=[agent("bob")], max_parallel=1), agent("ada"))
    world.order(Pause(target="bob"))
    for request in ("one", "two"):
        world.order(Submit(request=request, supervisor="yard"))
    state = world.state
    found = make_digest(state)

    assert [found.waiting_of[one.id] for one in state.supervisors.values()] == [found.waiting] * 2
    assert found.waiting == 2


def test_a_task_in_back_off_says_for_how_long() -> None:
    world = mapped("scout", on_failure=[Retry(retries=3, base_s=6.0)])
    key = next(key for key in world.started if key[0] == task_named(world, "file 0").id)
    world.fail(key)

    assert reason(world, "file 0") == "backing off  3 s"


def test_a_task_says_which_one_it_comes_after_and_that_its_run_is_paused() -> None:
    world = team_world(agent("ada", "a"), agent("bob", "b"))
    world.order(Submit(request="do it"))
    assert reason(world, "bob") == "waits for ada"

    world.order(Pause(target=next(iter(world.state.runs))))
    assert reason(world, "bob") == "its run is paused"


def test_idle_agents_are_folded_only_where_the_tree_has_no_room() -> None:
    state = team_world(*(agent(f"idle-{number}", "x") for number in range(30))).state
    counts = make_digest(state)

    whole = network(state, counts, {}, now_ms=0, folding=Folding(31))
    folded = network(state, counts, {}, now_ms=0, folding=Folding(20))

    assert len(whole.keys) == 31
    assert len(folded.keys) == 1 + MAX_IDLE_SHOWN + 1
    assert folded.cells(MAX_IDLE_SHOWN + 1)[0].text == "+27 idle"
    laned = network(state, counts, {}, now_ms=0, folding=Folding(20), measures=Measures(150, lane=24))
    for listing in (folded, laned):
        titles = [column.title for column in listing.columns]
        assert listing.cells(MAX_IDLE_SHOWN + 1)[titles.index("NOW")].text == ". shows them"
    opened = Folding(20, frozenset({state.roots[0].id}))
    assert len(network(state, counts, {}, now_ms=0, folding=opened).keys) == 31


def test_an_agent_that_was_at_work_stays_for_a_while() -> None:
    state = team_world(*(agent(f"idle-{number}", "x") for number in range(30))).state
    last = list(state.agents)[-1]

    def shown(now_ms: int) -> bool:
        folding = Folding(20, active_ms={last: 1_000})
        return last in network(state, make_digest(state), {}, now_ms=now_ms, folding=folding).keys

    assert shown(1_000 + MIN_SHOWN_MS - 1)
    assert not shown(1_000 + MIN_SHOWN_MS)


def test_a_filter_keeps_what_is_above_what_it_finds() -> None:
    state = mapped("scout", "parser").state

    found = network(state, make_digest(state), {}, now_ms=0, folding=Folding(50), needle="parser")

    assert [found.cells(index)[0].text for index in range(len(found.keys))] == ["chief", "below", "parser"]
    nothing = network(state, make_digest(state), {}, now_ms=0, folding=Folding(50), needle="no such")
    assert nothing.keys == []
    assert "nothing matches" in nothing.empty[0]


def test_every_status_has_a_glyph_a_word_and_a_tone() -> None:
    assert (tuple(ACTIVITY), set(TASK), set(RUN)) == (ACTIVITY_KINDS, set(TaskStatus), set(RunStatus))


def situation(info: EngineInfo | None, *, trouble: str | None = None) -> Situation:
    return Situation(db="team.db", engine=info, now_ms=9_000, events_per_s=0, trouble=trouble)


def info(*, alive: bool, ended_ms: int | None = None, heartbeat_age_ms: int | None = 100) -> EngineInfo:
    return EngineInfo(
        pid=4211, alive=alive, since_ms=1_000, token=1, heartbeat_age_ms=heartbeat_age_ms, loop_age_ms=100, host="deck",
        started="", boot_id="", ended_ms=ended_ms,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("told", "in_header", "in_banner"),
    [
        (None, "no engine yet", "start one: E or quarterdeck engine --db team.db"),
        (info(alive=False), "✕ engine 4211 gone since", "continue: E or quarterdeck engine --db team.db"),
        (info(alive=False, ended_ms=5), "■ engine 4211 stopped", "continue: E or quarterdeck engine --db team.db"),
        (
            info(alive=True, heartbeat_age_ms=8_000),
            "has not answered for 8 s",
            "E or quarterdeck engine --takeover --db team.db",
        ),
    ],
)
def test_an_engine_that_does_not_work_is_said_with_what_to_do(
    told: EngineInfo | None, in_header: str, in_banner: str
) -> None:
    state = World().state
    line = banner(state, situation(told), None)

    assert in_header in engine_cell(state, situation(told)).text
    assert line is not None
    assert in_banner in line.text


def test_a_killed_engine_is_gone_since_its_last_heartbeat_however_long_ago_its_last_event_was() -> None:
    state = World().state
    killed = replace(info(alive=False), since_ms=state.at_ms - 1_000, heard_ms=state.at_ms + 8 * 3_600_000)

    assert gone_since_ms(state, killed) == state.at_ms + 8 * 3_600_000
    assert gone_since_ms(state, replace(killed, heard_ms=None)) == state.at_ms
    assert gone_since_ms(state, replace(killed, ended_ms=5)) == 5


def test_what_is_journaled_is_judged_by_the_time_of_the_engine_that_wrote_it() -> None:
    ahead = replace(info(alive=True), ahead_ms=5_000)

    assert engine_time_ms(0, None, 1_000) == 1_000
    assert engine_time_ms(0, ahead, 1_000) == 6_000
    assert engine_time_ms(0, replace(ahead, alive=False), 1_000) == 1_000
    assert engine_time_ms(9_000, ahead, 1_000) == 9_000


def test_who_stands_by_is_said_beside_the_engine() -> None:
    state, told = World().state, situation(info(alive=True))
    ready, still = StandbyInfo(pid=4712, since_ms=0, beat_ms=10), StandbyInfo(pid=4713, since_ms=0, beat_ms=9_000)

    assert engine_cell(state, told).text == "● engine 4211  00:00:08"
    assert engine_cell(state, replace(told, standbys=[still])).text == "● engine 4211  00:00:08"
    assert engine_cell(state, replace(told, standbys=[ready, still])).text.endswith("  4712 stands by")
    assert engine_cell(state, replace(told, standbys=[ready, ready])).text.endswith("  2 stand by")


def test_a_file_in_trouble_is_said_before_anything_else() -> None:
    line = banner(World().state, situation(None, trouble="the journal is damaged at seq 7"), "disk full")

    assert line is not None
    assert line.text == "✕ the journal is damaged at seq 7"
    assert banner(World().state, situation(info(alive=True)), None) is None


def test_agents_in_error_need_a_person_and_failures_that_their_asker_has_taken_do_not() -> None:
    world = mapped("scout")
    assert needs_person(world.state) == []

    world.fail(next(key for key in world.started if key[0] == task_named(world, "file 0").id))
    world.say(AgentUnusable(agent_id=agent_id(world, "scout"), generation=1, error="gone"))

    assert needs_person(world.state) == [agent_id(world, "scout")]


def test_specs_are_offered_by_likeness_and_compared_field_by_field() -> None:
    world = mapped("scout")
    for spec in (agent("other", "x"), agent("scout-fast", "scan", timeout_s=5.0)):
        world.order(RegisterSpec(spec=spec))
    scout = world.state.agents[agent_id(world, "scout")]

    assert replacements(world.state, [scout])[0] == "scout-fast"
    new = world.state.specs[world.state.registry["scout-fast"]]
    told = [f"{cell.lead.strip()} {cell.text}" for cell in spec_changes(world.state.spec_of(scout), new)]
    assert told == ["type function", "- run crew:scout", "+ run crew:scout-fast", "+ timeout 5 s"]


def test_a_word_means_one_object_or_none() -> None:
    state = team_world(agent("ada", "a"), SupervisorSpec(name="below", members=[agent("bob", "b")])).state

    found = find_target(state, "below/bob")
    assert found.label == "agent bob"
    assert supervisor_behind(state, found) == state.agents[found.id].supervisor_id
    for word in ("chief/bob", "nobody"):
        with pytest.raises(Refused):
            find_target(state, word)


def test_a_request_goes_to_the_supervisor_under_the_cursor_and_else_to_the_top() -> None:
    state = team_world(agent("ada", "a"), SupervisorSpec(name="below", members=[agent("bob", "b")])).state
    top = state.roots[0].id

    assert receiver(state, None) == top
    assert receiver(state, find_target(state, "bob")) == top
    below = find_target(state, "below")
    assert below is not None
    assert receiver(state, below) == below.id


def test_a_command_line_is_understood_or_refused_in_one_line() -> None:
    assert parse_line("sw scout --with scout-fast")[1].options == {"with": "scout-fast"}
    assert parse_line("run what's the  matter?")[1].words == ("what's the  matter?",)
    assert parse_line("q")[0].name == "quit"
    for line in ("fly", "s x", "export 'a"):
        with pytest.raises(InvalidCommandLine, match=r"^[^\n]+$"):
            parse_line(line)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "swap scout --with scout-fast --deadline 5m",
            "swap: no option --deadline here; there are --with, --model, --mode",
        ),
        ("rollback scout --generation 2", "rollback: no option --generation here; there is --mode"),
        (
            "strategy chief parallel --aggregation concat",
            "strategy: no option --aggregation here; there are --lead, --run",
        ),
        ("cancel r1 --reason late", "cancel: no option --reason here"),
        ("remove scout --mode abort", "remove: no option --mode here"),
    ],
)
def test_an_option_that_would_be_passed_over_is_refused(line: str, said: str) -> None:
    with pytest.raises(InvalidCommandLine) as misspoken:
        parse_line(line)
    assert str(misspoken.value) == said


def test_what_follows_as_a_line_of_its_own_keeps_its_options() -> None:
    assert parse_line("set chief --max-parallel 3")[1].rest_as_line() == "--max-parallel 3"
    assert parse_line("steer r1 use --fast")[1].rest_as_line() == "use --fast"


def test_the_line_completes_words_names_and_modes() -> None:
    state = team_world(agent("ada", "a")).state

    assert completions("str", state) == ["strategy"]
    assert completions("strategy chief p", state) == [
        "strategy chief parallel", "strategy chief parallel_then_synthesis"
    ]  # fmt: skip
    assert completions("swap a", state) == ["swap ada"]
    assert completions("swap ada --with ", state) == ["swap ada --with ada"]
    assert len(completions("", state)) == len(WORDS)


def test_an_outcome_is_said_with_its_seq_or_its_reason() -> None:
    command = SwapAgent(agent="a1", registered="x")

    assert (
        describe_outcome(command, "applied", 18_231, summary="swapped a to g3").text
        == "✓ swapped a to g3, applied at seq 18,231"
    )
    assert describe_outcome(command, "refused", 7, reason="no agent").text == "refused: no agent"
    assert describe_outcome(command, "pending", None).text.startswith("queued: swap agent")
