"""Teams that are one row: which ones, and what that row says of their members."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dashboard.frame.folded_teams import MAX_SCREENS, FoldedTeams
from dashboard.views.facts.member_states import bar_of_kinds
from dashboard.views.facts.supervisor import now_of_supervisor, supervisor_mark, urgent_words
from dashboard.views.measures.digest import make_digest
from dashboard.views.network import MAX_IDLE_SHOWN, Folding, Measures, network
from dashboard.views.timeline.rows import rows_of
from engine.core.activities import ACTIVITY_KINDS, ActivityKind
from engine.core.commands import Pause, SupervisorSpec
from engine.core.signals import PersonAsked
from tests.story import applied, attempt, submitted
from tests.world import World, agent, team_world

kinds = st.sampled_from(ACTIVITY_KINDS)


def teams(number: int, members: int) -> World:
    """Return a chief with some teams of as many agents."""
    return team_world(
        *(
            SupervisorSpec(name=f"team-{team}", members=[agent(f"a-{team}-{each}", "x") for each in range(members)])
            for team in range(number)
        )
    )


@given(st.dictionaries(kinds, st.integers(1, 400), min_size=1), st.integers(1, 60))
def test_a_bar_fits_and_has_every_state_of_the_team(numbers: dict[ActivityKind, int], width: int) -> None:
    bar = bar_of_kinds(Counter(numbers), width)

    assert all(span.text for span in bar)
    assert sum(len(span.text) for span in bar) <= max(width, len(numbers))


def test_forty_teams_are_forty_rows_and_one_unfolds_without_the_others() -> None:
    world, folded = teams(40, 25), FoldedTeams()
    state, room = world.state, 50
    supervisors = [supervisor_id for supervisor_id in state.supervisors if state.supervisors[supervisor_id].parent_id]

    def keys() -> list[str]:
        folding = Folding(2_000, teams=folded.of(state, room))
        return [*network(state, make_digest(state), {}, now_ms=0, folding=folding).keys]

    assert keys() == [state.roots[0].id, *supervisors]
    folded.toggle(supervisors[3])
    assert len(keys()) == 1 + 40 + 25
    member = state.supervisors[supervisors[7]].members[0]
    folded.show_member(state, member, room)
    assert member in keys()
    assert len(keys()) == 1 + 40 + 2 * 25
    assert folded.toggle_all(state, room)
    assert not folded.toggle_all(state, room)
    assert len(keys()) == 1 + 40 * 26


def test_whether_teams_start_folded_is_decided_once_and_when_the_size_is_known() -> None:
    state, few, many = teams(8, 20).state, FoldedTeams(), FoldedTeams()
    lines = 1 + 8 * (1 + MAX_IDLE_SHOWN + 1)

    assert not few.of(state, 0)
    assert not few.of(state, -(-lines // MAX_SCREENS))
    assert not few.of(state, 5)
    assert len(many.of(state, lines // MAX_SCREENS - 1)) == 8
    assert len(many.of(state, 100)) == 8


def test_the_row_of_a_folded_team_says_what_is_most_urgent_before_it_shows_how_many_are_idle() -> None:
    work = team_world(*(agent(name, "x") for name in ("ada", "bob", "cyd", "dan")), mode="parallel")
    submitted(work)
    for name in ("ada", "bob", "cyd"):
        key = attempt(work, name)
        asked = PersonAsked(
            task_id=key[0], attempt=key[1], generation=1, key="ask:1", kind="ask", question="Which?", options=[]
        )
        work.say(asked)
        work.rest(key, why="ask")
    state, counts = work.state, make_digest(work.state)
    chief = state.roots[0]

    assert counts.kinds_of(chief.id) == {"person": 3, "working": 1}
    assert urgent_words(counts.kinds_of(chief.id), 40) == ("⚑ 3 agents wait for you", "attention")
    listing = network(state, counts, {}, now_ms=0, folding=Folding(9, teams={chief.id}), measures=Measures(76))
    assert list(listing.keys) == [chief.id]
    now = listing.cells(0)[[column.title for column in listing.columns].index("NOW")]
    assert "⚑ 3" in "".join(span.text for span in now.spans)


def test_as_many_urgent_states_are_said_as_there_is_room_for() -> None:
    kinds: Counter[ActivityKind] = Counter({"person": 1, "silent": 2, "idle": 5})

    assert urgent_words(kinds, 40) == ("⚑ 1 agent waits for you, ⋯ 2 silent", "attention")
    assert urgent_words(kinds, 27) == ("⚑ 1 agent waits for you ⋯ 2", "attention")
    assert urgent_words(kinds, 16) == ("⚑ 1 ⋯ 2", "attention")
    assert urgent_words(Counter({"idle": 5}), 40) is None


def test_a_folded_team_has_one_lane_with_the_share_of_its_members_at_work() -> None:
    work = teams(3, 4)
    state = work.state
    team_id = next(supervisor_id for supervisor_id in state.supervisors if state.supervisors[supervisor_id].parent_id)
    whole = rows_of(state, (), names=str, needle="", available=50)
    folded = rows_of(state, (), names=str, needle="", available=50, folded={team_id})

    assert len(whole) == len(folded) + 4
    row = next(row for row in folded if row.id == team_id)
    assert (row.name, row.is_folded, len(row.members)) == ("+team-0", True, 4)
    assert rows_of(state, (), names=str, needle="a-0", available=50, folded={team_id})[-1].name.startswith("a-0")


def test_a_paused_supervisor_still_shows_who_waits_for_a_person_and_who_is_pausing() -> None:
    world = team_world(agent("ada", "x"), agent("bob", "x"), mode="parallel")
    submitted(world)
    task_id, number = attempt(world, "ada")
    applied(world, Pause(target="/chief"))
    chief = world.state.supervisors[world.state.roots[0].id]

    def shown() -> tuple[str, str]:
        counts = make_digest(world.state)
        return supervisor_mark(chief, counts).word, now_of_supervisor(world.state, chief, counts).text

    assert shown() == ("pausing", "◐ 2 pausing, supervisor chief is paused")
    world.say(
        PersonAsked(task_id=task_id, attempt=number, generation=1, key="ask", kind="ask", question="may I?", options=[])
    )
    assert shown() == ("asks", "⚑ 1 agent waits for you, ◐ 1 pausing, supervisor chief is paused")
    assert supervisor_mark(chief, make_digest(world.state, working=False)).word == "paused"
