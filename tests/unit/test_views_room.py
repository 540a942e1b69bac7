"""What dialogs and the inbox say of a team, before anything is done."""

import pytest

from dashboard.cli.work import describe_trouble
from dashboard.views.answers import WITH_OUTPUT, meaning_of
from dashboard.views.changes.members import assignable_agents, possible_parents
from dashboard.views.changes.outcomes import UNDO_HINT, can_be_undone, describe_outcome, rehearse
from dashboard.views.changes.swaps import attempt_lines, candidate_line, mode_lines, refusal_of, split_candidates
from dashboard.views.changes.switching import has_settings, settings_hint, strategies
from dashboard.views.drawing.rows import fit_columns
from dashboard.views.facts.now import now_of_agent
from dashboard.views.facts.spec_fields import spec_changes
from dashboard.views.inbox import inbox, question_lines
from dashboard.views.measures.digest import make_digest
from dashboard.views.words.field_names import FIELDS
from dashboard.views.words.keyed import fill_keys
from engine.core.activities import Activities
from engine.core.commands import (
    Cancel,
    Pause,
    Reassign,
    RegisterSpec,
    Resume,
    SetPriority,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
)
from engine.core.decide.people import escalations
from engine.core.decide.work import failing
from engine.core.encoding.codec import encode_state
from engine.core.events import CommandApplied
from engine.core.queries.people.needs import needs_person
from engine.core.records.records import field_names
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Escalate
from engine.core.strategies import STRATEGIES
from tests.story import applied, attempt, member, submitted, task_of
from tests.world import agent, team_world


def test_what_becomes_of_work_is_said_for_one_attempt_with_its_steps() -> None:
    world = team_world(agent("ada", "sum"))
    submitted(world)
    world.record(attempt(world, "ada"), "open")
    world.record(attempt(world, "ada"), "read")

    said = dict(mode_lines(world.state, [member(world, "ada").id]))

    assert said == {
        "drain": "the attempt ends on g1; what comes goes to g2",
        "migrate": "the attempt goes on with g2 from step 3; its 2 finished steps are kept",
        "abort": "the attempt starts again on g2; 2 finished steps are thrown away",
    }
    assert [line.text for line in attempt_lines(world.state, [member(world, "ada").id], "drain")] == ["ada  ends on g1"]


def test_a_swap_that_drains_nothing_says_that_it_takes_what_is_still_on_the_generation_before() -> None:
    world = team_world(agent("ada", "sum", max_concurrency=2))
    submitted(world)
    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sum", timeout_s=9, max_concurrency=2)))
    submitted(world)
    ada = member(world, "ada").id

    assert dict(mode_lines(world.state, [ada])) == {
        "drain": "2 attempts end on the old; what comes goes to g3",
        "migrate": "2 attempts go on with g3 at their next step",
        "abort": "2 attempts start again on g3; nothing was finished",
    }
    assert [line.text for line in attempt_lines(world.state, [ada], "abort")] == [
        "ada  is stopped now and begins again from its input",
        "ada  is stopped now and begins again from its input",
    ]


def test_a_way_back_says_of_what_is_still_on_the_generation_before_that_it_is_left_alone() -> None:
    world = team_world(agent("ada", "sum", max_concurrency=2))
    submitted(world)
    applied(world, SwapAgent(agent="ada", spec=agent("ada", "sum", timeout_s=9, max_concurrency=2)))
    submitted(world)
    ada = member(world, "ada").id

    assert dict(mode_lines(world.state, [ada], is_rollback=True)) == {
        "drain": "2 attempts end on the old; what comes goes to g3",
        "migrate": "the attempt goes on with g3 from step 1; the attempt ends on g1",
        "abort": "the attempt starts again on g3; nothing was finished; the attempt ends on g1",
    }
    assert [line.text for line in attempt_lines(world.state, [ada], "abort", is_rollback=True)] == [
        "ada  ends on g1", "ada  is stopped now and begins again from its input",
    ]  # fmt: skip


def test_a_swap_shows_every_field_in_which_two_specs_differ() -> None:
    shown = {field for _, field in FIELDS} | {"name"}
    before, after = AgentSpec(name="ada", model="fast"), AgentSpec(name="ada", model="fast", approve={"send": "never"})

    assert shown == set(field_names(AgentSpec))
    assert [cell.text for cell in spec_changes(before, after)][-1] == "never"


def test_an_agent_at_rest_has_nothing_to_lose() -> None:
    world = team_world(agent("ada", "sum"))
    ada = member(world, "ada").id

    assert mode_lines(world.state, [ada]) == [
        ("drain", "nothing is under way; the next task goes to g2"),
        ("migrate", "the same as drain, because nothing is under way"),
        ("abort", "the same as drain, because nothing is under way"),
    ]
    assert attempt_lines(world.state, [ada], "abort") == []
    assert (refusal_of(world.state, [ada], "drain"), refusal_of(world.state, ["a9"], "drain")) == (
        "",
        "this agent has left the team",
    )


def test_candidates_for_several_share_a_specialty_with_each() -> None:
    world = team_world(agent("ada", "sum", "read"), agent("bob", "read"))
    for name, can in (("reader", "read"), ("adder", "sum")):
        world.order(RegisterSpec(spec=agent(name, can)))
    ada, bob = member(world, "ada"), member(world, "bob")

    assert "adder" in split_candidates(world.state, [ada])[0]
    likely, others = split_candidates(world.state, [ada, bob])
    assert "reader" in likely
    assert "adder" in others


def test_candidates_stand_in_the_order_in_which_the_engine_would_give_them_the_work() -> None:
    world = team_world(agent("ada", "log parsing"), agent("bob", "sum"))
    for name, can in (("alien", "dance"), ("claims", "parsing logs"), ("names", "log parsing"), ("one", "parsing")):
        world.order(RegisterSpec(spec=agent(name, can)))
    ada = member(world, "ada")

    likely, others = split_candidates(world.state, [ada])

    assert likely == ["names", "claims"]
    assert [candidate_line(world.state, [ada], one) for one in likely] == ["matches log parsing"] * 2
    assert others == ["alien", "bob", "one"]


def test_of_candidates_for_several_those_that_fit_any_of_them_come_first() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "read"))
    for name, can in (("alien", "dance"), ("reader", "read")):
        world.order(RegisterSpec(spec=agent(name, can)))

    _, others = split_candidates(world.state, [member(world, "ada"), member(world, "bob")])

    assert others == ["reader", "alien"]


def test_a_rehearsal_says_what_the_engine_would_and_changes_nothing() -> None:
    world = team_world(agent("ada"))
    run_id = submitted(world)
    before = encode_state(world.state)

    found = rehearse(world.state, SetPriority(target=run_id, priority=1), world.now_ms)
    refused = rehearse(world.state, SetPriority(target=run_id, priority=11), world.now_ms)

    assert found.summary == f"run {run_id} has priority 1, before 5: 0 waiting, 1 at work"
    assert refused.refusal == "set_priority: priority must be a whole number from 0, the most urgent, to 9, not 11"
    assert encode_state(world.state) == before
    told = [event for event in world.order(SetPriority(target=run_id, priority=1)) if isinstance(event, CommandApplied)]
    assert [event.summary for event in told] == [found.summary]


def test_every_answer_that_is_offered_says_what_it_means() -> None:
    offered = {("failure", one) for one in failing.FAILURE_OPTIONS} | {
        ("doubt", one) for one in escalations.DOUBT_OPTIONS
    }

    assert all(meaning_of(kind, option) for kind, option in offered | WITH_OUTPUT)


def test_a_question_is_a_row_and_a_page() -> None:
    world = team_world(agent("ada", on_failure=[Escalate(after_s=60, default="skip")]))
    submitted(world)
    world.fail(attempt(world, "ada"), "no paper")
    world.now_ms += 20_000

    listing = inbox(world.state, now_ms=world.now_ms)

    assert needs_person(world.state) == list(listing.keys) == ["e1"]
    assert [cell.text for cell in listing.cells(0)][:5] == [
        "a failure", "ada", "ada failed: no paper; what should happen to it?", "skip in 40 s", "20 s",
    ]  # fmt: skip
    assert "no paper" in [
        cell.text for cell in question_lines(world.state, world.state.escalations["e1"], world.now_ms)
    ]
    assert inbox(world.state, now_ms=0, needle="paper").keys
    assert not inbox(world.state, now_ms=0, needle="ink").keys


def test_a_question_of_a_paused_run_says_how_long_it_waits_afterwards() -> None:
    world = team_world(agent("ada", on_failure=[Escalate(after_s=60, default="skip")]))
    run_id = submitted(world)
    world.fail(attempt(world, "ada"), "no paper")
    world.now_ms += 20_000
    world.order(Pause(target=run_id))

    listing = inbox(world.state, now_ms=world.now_ms + 3_600_000)

    assert listing.cells(0)[3].text == "skip, 40 s after its run is resumed"
    assert listing.cells(0)[2].text.endswith(" (its run is paused)")
    (question,) = world.state.escalations.values()
    assert any("its run is paused" in cell.text for cell in question_lines(world.state, question, world.now_ms))
    activity = Activities(world.state, {}, world.now_ms).of_run(world.state.runs[run_id])
    assert (activity.kind, activity.words.startswith("paused, ada: ")) == ("person", True)


def test_a_task_that_failed_is_named_once_in_its_row() -> None:
    world = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(world)
    world.fail(attempt(world, "ada"), "ada: no paper")
    (task,) = [task for task in world.state.tasks.values() if task.title == "ada"]

    listing = inbox(world.state, now_ms=world.now_ms)

    assert [cell.text for cell in listing.cells([*listing.keys].index(task.id))][:3] == [
        "a task", "ada", "ada has failed: no paper",
    ]  # fmt: skip


def test_without_open_questions_the_problem_gets_the_width_of_their_columns() -> None:
    world = team_world(agent("ada", on_failure=[Escalate(after_s=60, default="skip")]), agent("bob"), mode="parallel")
    submitted(world)
    world.fail(attempt(world, "bob"), "no paper")
    titles = [column.title for column in inbox(world.state, now_ms=world.now_ms).columns]
    world.fail(attempt(world, "ada"), "no paper")

    assert titles == ["ABOUT", "FROM", "QUESTION OR PROBLEM", "DEFAULT", "AGE", "SAID BEFORE"]
    assert [column.drop for column in inbox(world.state, now_ms=world.now_ms).columns] == [0, 0, 0, 0, 2, 3]


@pytest.mark.parametrize("width", [100, 108, 117, 126, 150])
def test_a_question_is_cut_only_where_what_can_fall_away_has(width: int) -> None:
    world = team_world(agent("ada", on_failure=[Escalate(after_s=60, default="skip")]))
    submitted(world)
    world.fail(attempt(world, "ada"), "no paper today")
    listing = inbox(world.state, now_ms=world.now_ms)
    rooms = {listing.columns[place].title: room for place, room in fit_columns(listing.columns, width)}
    question, default = (cell.text for cell in listing.cells(0)[2:4])

    assert 50 < len(question) <= 56
    assert "SAID BEFORE" not in rooms or len(question) <= rooms["QUESTION OR PROBLEM"]
    assert len(question) <= rooms["QUESTION OR PROBLEM"] or "AGE" not in rooms
    assert len(default) <= rooms["DEFAULT"]


def test_a_task_is_offered_first_to_those_who_can_do_it() -> None:
    world = team_world(agent("ada", "sum"), agent("bob", "read"), agent("cyd", "sum"), participants=["ada"])
    submitted(world)
    task = task_of(world, "ada")

    offered = [choice.name for choice in assignable_agents(world.state, task, make_digest(world.state))]

    assert offered == ["cyd", "bob"]
    assert not rehearse(world.state, Reassign(task=task.id, agent=member(world, "bob").id), world.now_ms).refusal


def test_a_supervisor_is_never_offered_what_is_below_it() -> None:
    lower = SupervisorSpec(name="lower", members=[agent("bob")])
    world = team_world(agent("ada"), SupervisorSpec(name="upper", members=[lower]), SupervisorSpec(name="side"))
    ids = {one.name: one.id for one in world.state.supervisors.values()}

    assert [choice.name for choice in possible_parents(world.state, ids["upper"])] == ["side"]
    above_ada = [choice.name for choice in possible_parents(world.state, member(world, "ada").id)]
    assert above_ada == ["upper", "lower", "side"]


def test_every_strategy_says_what_it_does_and_what_it_asks_for() -> None:
    assert {choice.name for choice in strategies("parallel")} == set(STRATEGIES)
    assert strategies("parallel")[-1].id == "parallel"
    assert all(choice.about for choice in strategies())
    assert not has_settings("sequential")
    assert settings_hint("iterative_refinement").startswith("author, critics, until")


def test_a_swap_is_told_with_the_key_that_takes_it_back() -> None:
    swap = SwapAgent(agent="a1", registered="x")
    assert can_be_undone(swap)
    assert can_be_undone(SwapAgents(swaps=[swap]))
    assert not can_be_undone(Cancel(target="r1"))
    assert describe_outcome(
        swap, "applied", 7, summary="swapped ada to g2", way_back=fill_keys(UNDO_HINT)
    ).text.endswith("at seq 7 · u undo")


def test_an_agent_under_a_paused_supervisor_says_who_is_paused() -> None:
    world = team_world(SupervisorSpec(name="books", members=[agent("ada")], options=SupervisorOptions()))
    world.order(Pause(target="books"))
    state = world.state

    assert now_of_agent(member(world, "ada"), make_digest(state), world.now_ms).text == "supervisor books is paused"
    world.order(Resume(target="books"))
    world.order(Pause(target="ada"))
    assert now_of_agent(member(world, "ada"), make_digest(state), world.now_ms + 9_000).text == "paused  9 s"


def test_a_problem_in_a_shell_names_whose_it_is_once() -> None:
    failed = {"of": "chief/ada", "problem": "ada has failed: no paper", "command": "quarterdeck retry t3"}
    stuck = {"of": "ada", "problem": "is stuck: silent", "command": "quarterdeck cancel @a1"}

    assert describe_trouble(failed) == "ada has failed: no paper (quarterdeck retry t3)"
    assert describe_trouble(stuck) == "ada is stuck: silent (quarterdeck cancel @a1)"
