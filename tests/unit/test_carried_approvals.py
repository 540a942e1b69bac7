"""Archives and forks carry no rights to call tools, whatever was asked and answered, or claims to have been."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.archive.cutting import ArchivePart, pieces
from engine.archive.reading import complete_state, read_state
from engine.core.commands import Answer, Submit
from engine.core.documents.document import references_in
from engine.core.encoding.codec import decode_state
from engine.core.queries.team.code import unasked_in
from engine.core.signals import PersonAsked
from engine.core.specs.spec import AgentSpec, Escalate
from engine.core.state import State
from engine.core.transfer.approvals import forget_approvals
from tests.exports import exported
from tests.world import World, agent, team_world

KEYS = ("approve:pay:0123456789abcdef:1", "permission:0123456789abcdef:1", "ask:0123456789abcdef:1", "approved:0:1")
RIGHTS = frozenset(KEYS[:2])


@st.composite
def asking(draw: st.DrawFn) -> World:
    """Draw a team whose agent has recorded steps, and asked under keys that its question may lie about."""
    world = team_world(AgentSpec(name="ada", max_concurrency=3))
    for _ in range(draw(st.integers(1, 3))):
        world.order(Submit(request="go"))
    for task_id, attempt in [*world.started]:
        for key in draw(st.sets(st.sampled_from(KEYS))):
            kind: Any = draw(st.sampled_from(["ask", "approval", "permission"]))
            if draw(st.booleans()):
                world.record((task_id, attempt), key, "allow_once")
                continue
            world.say(
                PersonAsked(
                    task_id=task_id, attempt=attempt, generation=1, key=key, kind=kind, question="May it?",
                    options=["allow_once", "no"], default="allow_once", due_s=draw(st.sampled_from([None, 60.0])),
                    detail={"tool": "pay"},
                )
            )  # fmt: skip
    for question in draw(st.sets(st.sampled_from([*world.state.escalations, "none"]))) - {"none"}:
        world.order(Answer(escalation=question, answer="allow_once"))
    return world


def rights_in(state: State) -> set[str]:
    steps = {key for task in state.tasks.values() for key in (*task.steps, *task.asks)}
    kinds = {question.kind for question in state.escalations.values()} - {"ask"}
    return (steps & RIGHTS) | kinds


@given(asking())
def test_no_part_of_an_archive_brings_a_right_to_call(world: World) -> None:
    state, texts = exported(world)
    archive = read_state(complete_state(state, texts))
    others = {key for task in state.tasks.values() for key in task.steps} - RIGHTS

    for at_work in (False, True):
        parts = [
            decode_state(piece.state) for piece in pieces(archive, at_work=at_work) if isinstance(piece, ArchivePart)
        ]

        assert [rights_in(part) for part in parts if rights_in(part)] == []
        assert {key for part in parts for task in part.tasks.values() for key in task.steps} == others


@given(asking())
def test_a_state_without_rights_is_sound_and_all_else_stays(world: World) -> None:
    state, texts = exported(world)
    asked = {one.id for one in state.escalations.values() if one.kind == "ask" and one.detail["key"] not in RIGHTS}

    forget_approvals(state)

    assert rights_in(state) == set()
    assert set(state.escalations) == asked
    assert read_state(complete_state(state, texts)).state == state


@given(st.dictionaries(st.sampled_from(["pay", "files/write", "look"]), st.sampled_from(
    ["never", "always", {"contains": "x"}, {"json": "to", "equals": "main"}]
)))  # fmt: skip
def test_every_rule_that_lets_calls_pass_is_named_before_an_import(rules: dict[str, Any]) -> None:
    world = team_world(AgentSpec(name="ada", approve=rules))
    state, texts = exported(world)

    named = [one for one in references_in(read_state(complete_state(state, texts)).state) if "unasked" in one]

    weak = sorted(tool for tool, rule in rules.items() if rule != "always")
    assert [one.removeprefix("unasked: ada calls ").split()[0] for one in named] == weak


def test_a_rule_that_lets_calls_pass_is_named_with_its_agent_its_tool_and_what_it_asks_about() -> None:
    spec = AgentSpec(name="ada", approve={"files/write": {"contains": "x"}, "pay": "never", "look": "always"})

    assert unasked_in(spec) == [
        'unasked: ada calls files/write [approve only where {"contains":"x"}]',
        "unasked: ada calls pay [approve never]",
    ]


def test_what_was_answered_for_a_task_that_has_ended_stays_and_so_do_questions_about_no_call() -> None:
    world = team_world(agent("ada"), agent("bob", on_failure=[Escalate()]))
    world.order(Submit(request="go"))
    for end in (world.succeed, world.fail):
        (key,) = [key for key in world.started if world.state.tasks[key[0]].ended_ms is None]
        world.record(key, KEYS[0], "allow_once")
        end(key)
    ended, failed = [task for task in world.state.tasks.values() if task.steps]
    questions = dict(world.state.escalations)

    forget_approvals(world.state)

    assert [(task.ended_ms is None, [*task.steps]) for task in (ended, failed)] == [(False, [KEYS[0]]), (True, [])]
    assert world.state.escalations == questions
    assert [question.kind for question in questions.values()] == ["failure"]
