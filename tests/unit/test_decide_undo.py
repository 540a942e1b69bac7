"""Taking commands back: each brings back what was, and is refused where that has changed since."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from engine.core.commands import (
    ChangeCapabilities,
    ChangeSupervisor,
    Command,
    Move,
    Order,
    Pause,
    RemoveMember,
    Resume,
    Rollback,
    SetDeadline,
    SetPriority,
    Submit,
    SupervisorSpec,
    SwapAgent,
    SwapAgents,
    Undo,
)
from engine.core.events import CommandApplied, CommandRefused
from engine.core.queries.people.inverses import current_value_of
from engine.core.specs.discovery import DiscoveryChange
from engine.core.specs.limits import Limits
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import Circuit, Restart, spec_hash
from engine.core.state import MAX_UNDOABLE
from tests.depth import examples
from tests.legal import assert_legal
from tests.story import applied, attempt, member, refused, submitted
from tests.world import World, agent, team_world

OTHER = agent("ada", "sum", timeout_s=9)


def team() -> World:
    """A team of two levels, with a run at work, whose limits are set."""
    options = SupervisorOptions(limits=Limits(cost_usd="2"))
    world = team_world(
        agent("ada", "sum", "count"), agent("bob", "dig"), SupervisorSpec(name="books", members=[agent("eve", "read")]),
        options=options, participants=["ada"],
    )  # fmt: skip
    world.order(Submit(request="go", deadline_s=600))
    return world


def what_was(world: World) -> Any:
    """Return all that an undo has to bring back: members in their places, settings, specs, pauses, runs."""
    state = world.state
    return to_builtins(
        {
            "teams": [
                (one.id, one.parent_id, one.members, one.options, one.max_parallel, one.max_agents, one.auto_discover,
                 one.paused)
                for one in state.supervisors.values()
            ],
            "agents": [
                (one.id, one.name, one.supervisor_id, state.spec_of(one).specialties, one.paused,
                 state.spec_of(one).timeout_s)
                for one in state.agents.values()
            ],
            "runs": [(one.id, one.priority, one.deadline_ms, one.paused) for one in state.runs.values()],
            "tasks": [(one.id, one.priority, one.deadline_ms) for one in state.tasks.values()],
        }
    )  # fmt: skip


CHANGES: list[tuple[Command, list[Command]]] = [
    (SwapAgent(agent="bob", spec=agent("bob", "dig", timeout_s=5)), []),
    (SwapAgents(swaps=[SwapAgent(agent="bob", spec=agent("bob", "dig", timeout_s=5))]), []),
    (Rollback(agent="bob"), [SwapAgent(agent="bob", spec=agent("bob", "dig", timeout_s=5))]),
    (Pause(target="bob"), []),
    (Pause(target="books"), []),
    (Pause(target="r1"), []),
    (Resume(target="bob"), [Pause(target="bob")]),
    (SetPriority(target="r1", priority=1), []),
    (SetDeadline(target="r1", deadline_s=60), []),
    (SetDeadline(target="r1"), []),
    (SetDeadline(target="r1", deadline_s=60), [SetDeadline(target="r1")]),
    (Move(target="ada", parent="books"), []),
    (Move(target="eve", parent="chief"), []),
    (ChangeSupervisor(supervisor="chief", max_parallel=3), []),
    (ChangeSupervisor(supervisor="chief", auto_discover=True), []),
    (ChangeSupervisor(supervisor="chief", discovery=DiscoveryChange(max_new=1, evict=True)), []),
    (ChangeSupervisor(supervisor="chief", options=SupervisorOptions(limits=Limits(attempts=7))), []),
    (ChangeSupervisor(supervisor="books", options=SupervisorOptions(limits=Limits(attempts=7), grace_s=3)), []),
    (ChangeCapabilities(agent="ada", add=["read", "SUM"], remove=["count"]), []),
    (ChangeCapabilities(agent="ada", remove=["count"]), [ChangeCapabilities(agent="ada", add=["read"])]),
    (ChangeCapabilities(agent="ada", remove=["READ"]), [ChangeCapabilities(agent="ada", add=["Read"])]),
]


@pytest.mark.parametrize(("change", "before"), CHANGES, ids=[f"{n}-{c.type}" for n, (c, _) in enumerate(CHANGES)])
def test_an_undo_brings_back_what_was_and_another_takes_that_back(change: Command, before: list[Command]) -> None:
    world = team()
    for command in before:
        applied(world, command)
    was = what_was(world)
    applied(world, change)
    became = what_was(world)
    assert became != was

    applied(world, Undo())
    assert what_was(world) == was
    applied(world, Undo())
    assert what_was(world) == became
    assert_legal(world.state)


def made(draw: st.DrawFn) -> Command:
    """Return a change of the agent ada, of her team or of the run, that has one inverse where it is applied."""
    word, number = draw(st.sampled_from(["sum", "count", "Read", "dig"])), draw(st.integers(1, 3))
    changes: list[Command] = [
        SwapAgent(agent="ada", spec=agent("ada", "sum", "count", timeout_s=number)),
        SwapAgents(swaps=[SwapAgent(agent="ada", spec=agent("ada", word, timeout_s=number), mode="migrate")]),
        Rollback(agent="ada"),
        ChangeCapabilities(agent="ada", add=[word]),
        ChangeCapabilities(agent="ada", remove=[word]),
        Pause(target="ada"),
        Resume(target="ada"),
        Move(target="ada", parent=draw(st.sampled_from(["chief", "books"]))),
        ChangeSupervisor(supervisor="chief", max_parallel=number),
        ChangeSupervisor(supervisor="chief", discovery=DiscoveryChange(max_new=number)),
        ChangeSupervisor(supervisor="chief", options=SupervisorOptions(limits=Limits(attempts=number))),
        SetPriority(target="r1", priority=number),
        SetDeadline(target="r1", deadline_s=600 + number),
    ]
    return draw(st.sampled_from(changes))


@settings(max_examples=examples(60))
@given(st.lists(st.none() | st.composite(made)(), min_size=2, max_size=9))
def test_changes_that_are_undone_the_newest_first_lead_back_step_by_step(changes: list[Command | None]) -> None:
    world, befores = team(), list[tuple[str, Any]]()

    def undo_newest() -> None:
        command_id, was = befores.pop()
        applied(world, Undo(command_id=command_id))
        assert what_was(world) == was

    for change in changes:
        was = what_was(world)
        if change is not None:
            done = [one.command_id for one in world.order(change) if isinstance(one, CommandApplied)]
            befores += [(one, was) for one in done if one in world.state.undoable]
        elif befores:  # between two changes as well as after all of them
            undo_newest()
    while befores:
        undo_newest()
    assert_legal(world.state)


def test_a_swap_is_undone_after_a_later_swap_of_the_same_agent_was() -> None:
    world = team()
    specs = [agent("bob", "dig", timeout_s=seconds) for seconds in (5, 6)]
    ids = [one.command_id for spec in specs for one in world.order(SwapAgent(agent="bob", spec=spec))
           if isinstance(one, CommandApplied)]  # fmt: skip
    first = world.state.spec_of(member(world, "bob"))
    assert first == specs[1]

    applied(world, Undo(command_id=ids[1]))
    assert world.state.spec_of(member(world, "bob")) == specs[0]
    applied(world, Undo(command_id=ids[0]))
    assert world.state.spec_of(member(world, "bob")).timeout_s is None
    for spec in specs:  # the two undos are undone, the newest first, by what they brought back
        assert spec_hash(spec) in world.state.specs


def test_specs_are_known_as_long_as_a_change_can_be_undone_to_them() -> None:
    world = team_world(agent("ada", timeout_s=1))
    for number in range(MAX_UNDOABLE + 20):
        applied(world, SwapAgent(agent="ada", spec=agent("ada", timeout_s=number + 2)))

    assert len(world.state.specs) <= MAX_UNDOABLE + 3
    assert "not known any more" in refused(world, Rollback(agent="ada", to="0123456789abcdef"))


@pytest.mark.parametrize(
    ("change", "since"),
    [
        (SwapAgent(agent="ada", spec=OTHER), Rollback(agent="ada")),
        (Pause(target="ada"), Resume(target="ada")),
        (SetPriority(target="r1", priority=1), SetPriority(target="r1", priority=2)),
        (SetDeadline(target="r1", deadline_s=60), SetDeadline(target="r1")),
        (Move(target="bob", parent="books"), Move(target="bob", parent="chief")),
        (ChangeSupervisor(supervisor="chief", max_parallel=3), ChangeSupervisor(supervisor="chief", max_parallel=9)),
        (ChangeCapabilities(agent="bob", add=["read"]), ChangeCapabilities(agent="bob", remove=["Read"])),
    ],
    ids=lambda one: str(one.type),
)
def test_what_has_changed_since_is_not_undone(change: Command, since: Command) -> None:
    world = team()
    first = world.order(change)[-1]
    assert isinstance(first, CommandApplied)
    applied(world, since)

    assert "has changed since" in refused(world, Undo(command_id=first.command_id))


VALUES: dict[str, list[Any]] = {
    "max_parallel": [2, 3], "max_agents": [20, 30], "ageing_s": [5.0, 9.0], "balance": ["weight", "least_load"],
    "limits": [Limits(attempts=7), Limits(tokens=9)], "track_record": [True, False], "grace_s": [1.0, 2.0],
    "lead": ["ada", "bob"], "strategies": [{"dig": "parallel"}, {"read": "map"}],
}  # fmt: skip
"""Values of settings that differ from those of the team."""


def settings_of(world: World) -> dict[str, Any]:
    """Return the settings and the specialties of the team, each by its name."""
    one = world.state.supervisors["s1"]
    values = {name: getattr(one.options if hasattr(one.options, name) else one, name) for name in VALUES}
    return {**values, **{f"can {word}": True for word in world.state.spec_of(member(world, "ada")).specialties}}


def setting_of(values: dict[str, Any]) -> ChangeSupervisor:
    own = {name: values[name] for name in ("max_parallel", "max_agents") if name in values}
    options = {name: value for name, value in values.items() if name not in own}
    return ChangeSupervisor(supervisor="chief", options=SupervisorOptions(**options) if options else None, **own)


@st.composite
def disjoint_changes(draw: st.DrawFn) -> tuple[Command, list[Command]]:
    """Return a change of several settings, or words, and later changes of others."""
    if draw(st.booleans()):
        words = draw(st.permutations(["sum", "count", "read", "dig", "write"]))
        cut = draw(st.integers(1, 4))
        before, after = ([one for one in words if one in part] for part in (words[:cut], words[cut:]))
        has = ("sum", "count")
        first, later = (
            ChangeCapabilities(
                agent="ada", add=[one for one in part if one not in has], remove=[one for one in part if one in has]
            )
            for part in (before, after)
        )
        return first, [later]
    names = draw(st.permutations(sorted(VALUES)))
    cut = draw(st.integers(1, len(names) - 1))
    change = setting_of({name: draw(st.sampled_from(VALUES[name])) for name in names[:cut]})
    later_names = draw(st.lists(st.sampled_from(names[cut:]), min_size=1, max_size=3, unique=True))
    return change, [setting_of({name: draw(st.sampled_from(VALUES[name]))}) for name in later_names]


@settings(max_examples=examples(40))
@given(disjoint_changes())
def test_a_change_is_undone_after_another_of_other_settings_which_stays(changes: tuple[Command, list[Command]]) -> None:
    first, later = changes
    world = team()
    at_first = settings_of(world)
    applied(world, first)
    command_id, became = next(reversed(world.state.undoable)), settings_of(world)
    for change in later:
        applied(world, change)
    now = settings_of(world)

    undo = world.order(Undo(command_id=command_id))[-1]

    if isinstance(undo, CommandRefused):
        # A word goes back before the next one, so that both are taken back, or none of them.
        assert isinstance(first, ChangeCapabilities)
        assert "has changed since" in undo.reason
        return
    changed_names = {name for name in {*at_first, *became} if at_first.get(name) != became.get(name)}
    expected = {name: at_first.get(name) if name in changed_names else now.get(name) for name in {*at_first, *now}}
    assert settings_of(world) == {
        name: value for name, value in expected.items() if value is not None or name in VALUES
    }
    assert_legal(world.state)


def test_what_was_done_to_five_hundred_marked_agents_is_undone_for_each() -> None:
    world = team_world(*(agent(f"scout-{number}") for number in range(500)), max_agents=500)
    for number in range(500):
        applied(world, Pause(target=f"scout-{number}"))

    for command_id in reversed([*world.state.undoable]):
        applied(world, Undo(command_id=command_id))

    assert not any(one.paused for one in world.state.agents.values())


def test_what_is_gone_is_not_undone() -> None:
    world = team()
    (pause,) = [one for one in world.order(Pause(target="r1")) if isinstance(one, CommandApplied)]
    applied(world, Resume(target="r1"))
    world.settle()

    assert not world.state.runs
    assert "has changed since" in refused(world, Undo(command_id=pause.command_id))


def test_what_cannot_be_undone_is_said_with_what_can() -> None:
    world = team_world(agent("ada"))
    assert refused(world, Undo()).startswith("there is nothing to undo; swaps, rollbacks, pause")
    assert "no command 'c99' is known" in refused(world, Undo(command_id="c99"))
    (submitted,) = [one for one in world.order(Submit(request="go")) if isinstance(one, CommandApplied)]
    assert "cannot be undone" in refused(world, Undo(command_id=submitted.command_id))
    assert member(world, "ada").generation == 1


def test_a_command_is_undone_by_the_beginning_of_its_id_where_no_other_begins_so() -> None:
    world = team()
    for an_id, target in (("5f3a9c01", "ada"), ("5f3ab200", "r1")):
        world.say(Order(id=an_id, command=Pause(target=target), sender="test"))

    assert "2 commands have an id that begins with '5f3a'" in refused(world, Undo(command_id="5f3a"))
    assert "no command '5f3' is known" in refused(world, Undo(command_id="5f3"))
    applied(world, Undo(command_id="5f3a9"))
    assert not member(world, "ada").paused
    assert world.state.runs["r1"].paused
    assert "was already" in refused(world, Undo(command_id="5f3a9"))


def test_an_undone_pause_mends_nothing_that_has_failed() -> None:
    world = team_world(
        agent("ada", circuit=Circuit(failures=1, cool_s=10.0)), agent("bob"), mode="parallel",
        options=SupervisorOptions(restart=Restart("one_for_one", 0, 60.0)),
    )  # fmt: skip
    submitted(world)
    applied(world, Pause(target="chief"))
    world.fail(attempt(world, "ada"))
    world.fail(attempt(world, "bob"), "segmentation fault", crashed=True)
    applied(world, Pause(target="ada"))
    failed = world.state.supervisors["s1"].error
    assert (member(world, "ada").circuit, failed) == ("open", "supervisor chief failed: 1 restart in 60 s")

    for command_id in reversed([*world.state.undoable]):
        applied(world, Undo(command_id=command_id))
    assert (member(world, "ada").paused, member(world, "ada").circuit) == (False, "open")
    assert (world.state.supervisors["s1"].paused, world.state.supervisors["s1"].error) == (False, failed)
    applied(world, Undo())
    assert world.state.supervisors["s1"].paused


def test_the_priority_of_a_run_is_not_undone_over_another_that_part_of_it_has_got_since() -> None:
    world = team()
    applied(world, SetPriority(target="r1", priority=1))
    applied(world, SetPriority(target="t2", priority=8))

    assert "has changed since" in refused(world, Undo(command_id="c3"))


def test_the_priority_of_a_run_is_not_undone_where_a_team_in_it_had_another() -> None:
    books = SupervisorSpec(name="books", members=[agent("eve")])
    world = team_world(agent("ada"), books, participants=["ada", "books"])
    submitted(world)
    (of_books,) = [one for one in world.state.tasks.values() if one.title == "books"]
    applied(world, SetPriority(target=of_books.id, priority=2))
    applied(world, SetPriority(target="r1", priority=1))

    assert next(reversed(world.state.undoable)) != next(reversed(world.state.commands))


def test_limits_on_slots_are_undone_where_who_leads_has_left() -> None:
    world = team_world(
        agent("ada"), agent("bob"), mode="delegate", options=SupervisorOptions(lead="ada"),
    )  # fmt: skip
    applied(world, RemoveMember(target="ada", mode="abort"))
    applied(world, ChangeSupervisor(supervisor="chief", max_parallel=7))

    applied(world, Undo())
    assert world.state.supervisors["s1"].max_parallel != 7
    applied(world, Undo())
    assert world.state.supervisors["s1"].max_parallel == 7


def test_a_deadline_that_has_passed_is_not_brought_back() -> None:
    world = team()
    applied(world, SetDeadline(target="r1", deadline_s=100_000))
    world.now_ms += 700_000

    assert "has passed" in refused(world, Undo())


def test_a_word_goes_back_to_its_place_after_words_further_on_have_gone() -> None:
    world = team_world(agent("ada", "sum", "count", "dig", "read"))
    applied(world, ChangeCapabilities(agent="ada", remove=["Sum"]))
    first = next(reversed(world.state.undoable))
    applied(world, ChangeCapabilities(agent="ada", remove=["read"], add=["write"]))

    applied(world, Undo(command_id=first))

    assert world.state.spec_of(member(world, "ada")).specialties == ("sum", "count", "dig", "write")


def test_a_setting_that_a_change_leaves_as_it_was_may_change_before_the_undo() -> None:
    world = team()
    applied(world, ChangeSupervisor(supervisor="chief", max_parallel=3, max_agents=20))
    same = SupervisorOptions(grace_s=3, limits=Limits(cost_usd="2"))
    applied(world, ChangeSupervisor(supervisor="chief", max_parallel=3, max_agents=30, options=same))
    first = next(reversed(world.state.undoable))
    later = SupervisorOptions(limits=Limits(attempts=7))
    applied(world, ChangeSupervisor(supervisor="chief", max_parallel=9, options=later))

    applied(world, Undo(command_id=first))

    chief = world.state.supervisors["s1"]
    assert (chief.max_parallel, chief.max_agents, chief.options.grace_s) == (9, 20, None)
    assert chief.options.limits == Limits(attempts=7)


@pytest.mark.parametrize("since", [{"max_parallel": 9}, {"max_agents": 90}, {"options": SupervisorOptions(grace_s=9)}])
def test_an_inverse_of_all_settings_that_an_earlier_version_wrote_looks_at_each(since: dict[str, Any]) -> None:
    world = team()
    chief = world.state.supervisors["s1"]
    inverse = ChangeSupervisor(
        supervisor="@s1", options=chief.options, max_parallel=chief.max_parallel, max_agents=chief.max_agents,
        exactly=True,
    )  # fmt: skip
    before = current_value_of(world.state, inverse)

    applied(world, ChangeSupervisor(supervisor="chief", **since))
    assert current_value_of(world.state, inverse) != before
    applied(world, inverse)
    assert current_value_of(world.state, inverse) == before


def test_an_undo_stops_at_what_cannot_be_undone_and_names_what_is_before() -> None:
    world = team()
    world.order(Pause(target="bob"))
    world.now_ms += 21_000
    world.order(RemoveMember(target="eve"))
    command_id = next(iter(world.state.undoable))

    assert refused(world, Undo()) == (
        f"removing eve (drain) cannot be taken back; before it: paused bob, 21 s ago; "
        f"to take that back: undo {command_id[:8]}"
    )
    assert member(world, "bob").paused
    applied(world, Undo(command_id=command_id))
    assert not member(world, "bob").paused


def test_what_is_changed_after_it_is_undone_as_ever() -> None:
    world = team()
    world.order(RemoveMember(target="eve"))
    world.order(Pause(target="bob"))

    applied(world, Undo())
    applied(world, Undo())

    assert member(world, "bob").paused


def test_requests_and_answers_stop_no_undo() -> None:
    world = team()
    world.order(Pause(target="bob"))
    submitted(world)

    applied(world, Undo())

    assert not member(world, "bob").paused
