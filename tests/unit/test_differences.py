"""Differences of two states: nothing of the same one, everything that happened between two moments, and never more."""

from typing import Any

from hypothesis import given

from dashboard.views.changes.differences import MAX_SHOWN, difference_lines
from engine.core.commands import ChangeSupervisor, Move, Pause, Reassign, RemoveMember, Submit, SwapAgent
from engine.core.encoding.codec import decode_state, encode_state
from engine.core.queries.differences import Difference, differences
from engine.core.signals import AgentUnusable
from engine.core.specs.spec import Retry
from engine.core.state import State
from tests.chance import worlds
from tests.story import applied, attempt, submitted
from tests.world import LONG, World, agent, team_world


def copy(world: World) -> State:
    return decode_state(encode_state(world.state))


def told(found: list[Difference]) -> list[tuple[Any, ...]]:
    return [(one.subject, one.id, one.change, one.field, one.a, one.b) for one in found]


@given(worlds(max_turns=60))
def test_a_state_does_not_differ_from_itself_and_is_left_as_it_was(world: World) -> None:
    before = encode_state(world.state)

    assert differences(world.state, copy(world)) == []
    assert encode_state(world.state) == before


@given(worlds(max_turns=60), worlds(max_turns=60))
def test_the_way_back_is_the_same_turned_round(one: World, other: World) -> None:
    there, back = differences(one.state, other.state), differences(other.state, one.state)
    turn = {"added": "removed", "removed": "added", "changed": "changed"}

    def known(found: list[Difference]) -> list[str]:
        # Of members that are the same in two teams, the ids need not be.
        return sorted(f"{d.subject} {d.change} {d.field} {d.a!r} {d.b!r}" for d in found)

    turned = [
        Difference(subject=d.subject, id=d.id, name=d.name, change=turn[d.change], field=d.field, a=d.b, b=d.a)  # type: ignore[arg-type]
        for d in back
    ]
    assert known(there) == known(turned)


def test_what_an_operator_changed_is_told_by_subject() -> None:
    world = team_world(agent("ada", "parse"), agent("bob", "write"))
    before = copy(world)
    world.order(SwapAgent(agent="ada", spec=agent("ada", "parse", timeout_s=9.0)))
    world.order(Pause(target="bob"))
    world.order(ChangeSupervisor(supervisor="chief", max_parallel=3))

    found = told(differences(before, world.state))

    assert ("agent", "a1", "changed", "spec.timeout_s", None, 9.0) in found
    assert ("agent", "a1", "changed", "generation", 1, 2) in found
    assert ("agent", "a2", "changed", "status", "idle", "paused") in found
    assert ("settings", "s1", "changed", "max_parallel", 10, 3) in found
    assert ("spec", "ada", "changed", "timeout_s", None, 9.0) in found
    assert {one[0] for one in found} == {"agent", "settings", "spec"}


def test_a_pause_is_told_of_an_agent_in_error_and_of_a_task_who_takes_it_now() -> None:
    world = team_world(agent("ada", "parse", on_failure=[Retry(3)]), agent("bob", "parse"), participants=["ada"])
    submitted(world)
    world.fail(attempt(world, "ada"))
    world.say(AgentUnusable(agent_id="a1", generation=1, error="no code"))
    before = copy(world)
    applied(world, Pause(target="ada"))
    applied(world, Pause(target="bob"))
    applied(world, Reassign(task="t2", agent="bob"))

    found = told(differences(before, world.state))

    assert ("agent", "a1", "changed", "status", "error", "error, paused") in found
    assert ("task", "t2", "changed", "agent", "ada", "bob") in found


def test_who_came_who_went_and_who_moved() -> None:
    from engine.core.commands import SupervisorSpec

    world = team_world(agent("ada", "parse"), agent("bob", "write"), SupervisorSpec(name="below", members=[]))
    before = copy(world)
    world.order(RemoveMember(target="ada"))
    world.order(Move(target="bob", parent="below"))

    found = told(differences(before, world.state))

    assert ("agent", "a1", "removed", None, "chief/ada", None) in found
    assert ("agent", "a2", "changed", "supervisor", "chief", "below") in found
    assert ("supervisor", "s1", "changed", "members", ["ada", "bob", "below"], ["below"]) in found


def test_work_that_goes_on_and_work_that_ended() -> None:
    world = team_world(agent("ada", "parse"))
    world.order(Submit(request="first"))
    before = copy(world)
    world.settle()
    world.order(Submit(request="second"))

    found = told(differences(before, world.state))

    assert ("run", "r1", "changed", "status", "running", "done") in found
    assert ("run", "r1", "changed", "output", None, "done") in found
    assert ("run", "r2", "added", None, None, "second") in found
    assert ("team", "", "changed", "tasks_done", 0, 1) in found
    assert not [one for one in found if one[:2] == ("run", "r1") and one[3] == "priority"]
    assert not [one for one in found if one[0] == "task" and one[2] == "removed"]


def test_texts_of_two_files_are_compared_by_what_they_say() -> None:
    def ended(output: str) -> World:
        world = team_world(agent("ada", "parse"))
        world.order(Submit(request="go"))
        world.succeed(next(iter(world.started)), output)
        return world

    one, same, other = ended(LONG), ended(LONG), ended(LONG + "!")

    def between(a: World, b: World) -> list[Difference]:
        from engine.reading.texts import walk

        def read(world: World) -> Any:
            return lambda ref: walk(world.journal[ref.seq - 1], ref.path)

        return differences(a.state, b.state, read_a=read(a), read_b=read(b), one_file=False)

    assert between(one, same) == []
    assert [(d.subject, d.field) for d in between(one, other)] == [("run", "output")]


def test_lines_are_short_and_of_many_things_only_some_are_shown() -> None:
    world = team_world(*(agent(f"worker{number}", "parse") for number in range(40)))
    before = copy(world)
    for number in range(40):
        world.order(Pause(target=f"worker{number}"))

    lines = [cell.text for cell in difference_lines(differences(before, world.state))]

    assert lines[0] == "agents: 40 changed"
    assert lines[1] == "chief/worker0 (a1)  status idle → paused"
    assert len(lines) == MAX_SHOWN + 2
    assert lines[-1] == f"and {40 - MAX_SHOWN} more: idle → paused {40 - MAX_SHOWN}"
    assert [cell.text for cell in difference_lines([])] == ["no difference"]


def test_of_lists_and_mappings_only_what_differs_is_shown() -> None:
    one = Difference(
        subject="supervisor", id="s1", name="chief", change="changed", field="members", a=["x", "y"], b=["y", "z"]
    )
    other = Difference(
        subject="settings",
        id="s1",
        name="chief",
        change="changed",
        field="settings",
        a={"k": 1, "m": 2},
        b={"k": 3, "m": 2},
    )

    assert [cell.text for cell in difference_lines([one, other])] == [
        "supervisors: 1 changed", "chief (s1)  members +z -x", "settings: 1 changed", "chief (s1)  settings k 1 → 3",
    ]  # fmt: skip


def test_fields_are_called_as_on_the_screens_and_amounts_have_their_unit() -> None:
    def changed(field: str, was: Any, now: Any) -> Difference:
        return Difference(subject="agent", id="a1", name="ann", change="changed", field=field, a=was, b=now)

    found = [
        changed("spec.max_concurrency", 2, 4),
        changed("spec.timeout_s", 5.0, 90.0),
        changed("aggregation", "concat", "vote"),
        changed("max_parallel", 4, 8),
        changed("leaving", False, True),
        changed("cost_usd", "0.3100", None),
        changed("time_ms", 53_342, 114_661),
        changed("status", "in_doubt", "done"),
        changed("limits", {"time_s": 5}, {"time_s": 6}),
    ]

    assert difference_lines(found)[1].text == (
        "ann (a1)  spec at once 2 → 4, spec timeout 5 s → 90 s, joined by concat → vote, at once 4 → 8, "
        "leaving no → yes, cost $0.31 → –, time at work 53.3 s → 1 min 55 s, status in doubt → done, "
        "limits time 5 s → 6 s"
    )


def test_a_hash_is_as_short_as_tells_two_apart() -> None:
    one = Difference(
        subject="code", id="crew:scan", name="crew:scan", change="changed", field="sha256", a="ab" * 32, b="cd" * 32
    )

    assert difference_lines([one])[1].text == "crew:scan  hash abababababab → cdcdcdcdcdcd"


def test_two_long_values_are_shown_from_where_they_differ() -> None:
    one = Difference(
        subject="agent", id="a1", name="ann", change="changed", field="spec.instructions", a="word " * 40 + "one",
        b="word " * 40 + "two",
    )  # fmt: skip
    policies: Any = ({"type": "retry", "retries": 1, "base_s": 0.5, "cap_s": 30.0, "never": ["PermissionError"]},)
    more: Any = (*policies, {"type": "failover"})
    two = Difference(
        subject="agent", id="a1", name="ann", change="changed", field="spec.on_failure", a=policies, b=more,
    )  # fmt: skip

    assert difference_lines([one, two])[1].text == (
        "ann (a1)  spec instructions …word word word one → …word word word two, spec on failure +type: failover"
    )
