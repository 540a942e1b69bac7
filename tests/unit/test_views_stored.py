"""The rows of the State screen."""

from dashboard.views.changes.team_summary import MAX_MEMBERS, team_summary
from dashboard.views.drawing.lines import Line
from dashboard.views.past import fork_lines
from dashboard.views.stored import NEWEST, SiblingFile, StoredStates, describe_stored, stored_facts, stored_listing
from engine.core.commands import SupervisorSpec
from engine.core.state import State
from store.journals.records import SnapshotInfo
from tests.story import done, submitted
from tests.world import agent, team_world

NOW_MS = 1_763_720_671_000
FOUND = StoredStates(
    1,
    900,
    NOW_MS - 5_000,
    84_000,
    [SnapshotInfo(800, NOW_MS - 60_000, 4_000), SnapshotInfo(400, NOW_MS - 120_000, 3_000)],
    [SiblingFile("archive", "/data/team.zip", "team.zip", NOW_MS - 1_000, 12_000)],
)


def test_the_newest_comes_first_then_snapshots_then_files() -> None:
    assert list(stored_listing(FOUND, shown_seq=0, now_ms=NOW_MS).keys) == [NEWEST, "800", "400", "/data/team.zip"]


def test_the_snapshot_that_is_shown_says_so() -> None:
    rows = stored_listing(FOUND, shown_seq=400, now_ms=NOW_MS)

    assert [cell.text for cell in rows.cells(2)][-1] == "is shown"
    assert [cell.text for cell in rows.cells(1)][-1] == "go back to this moment"


def test_a_filter_leaves_what_matches() -> None:
    assert list(stored_listing(FOUND, shown_seq=0, now_ms=NOW_MS, needle="archive").keys) == ["/data/team.zip"]


def test_the_facts_fit_and_a_long_path_is_cut_in_front() -> None:
    lines = stored_facts(State(), FOUND, db="/data/of/a/team/a/very/long/way/down/to/team.db", width=40)

    text = "".join(span.text for span in lines[0].spans)
    assert text.endswith("team.db  84 kB")
    assert len(text) <= 40


def told(lines: list[Line]) -> list[str]:
    return ["".join(span.text for span in line.spans) for line in lines]


def test_members_are_listed_as_a_tree_with_what_each_is_at() -> None:
    world = team_world(SupervisorSpec(name="yard", members=[agent("bob")]), agent("ada"), participants=["ada"])
    submitted(world)
    lines = told(team_summary(world.state, working=True))

    chief, ada, yard, bob = (one.split() for one in lines[lines.index("members") + 1 :])
    assert (chief[1], ada[:2], yard[1], bob) == ("chief", ["●", "ada"], "yard", ["○", "bob", "idle"])
    assert any("‖ ada" in one for one in told(team_summary(world.state)))


def test_tasks_that_have_ended_are_not_counted_as_open() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada", "bob"], mode="sequential")
    submitted(world)
    done(world, "ada")

    lines = told(team_summary(world.state, working=True))

    open_tasks = next(line for line in lines if line.startswith("open tasks"))
    assert open_tasks.split() == ["open", "tasks", "1", "●", "1", "working"]


def test_the_facts_and_a_fork_count_the_same_tasks_as_open_as_what_the_state_holds() -> None:
    world = team_world(agent("ada"), agent("bob"), participants=["ada", "bob"], mode="parallel")
    submitted(world)  # two tasks of agents, and their join and graph beside them

    assert any("open tasks   2" in one for one in told(team_summary(world.state)))
    assert "2 open tasks" in told(stored_facts(world.state, FOUND, db="/team.db", width=120))[2]
    assert any("2 open tasks" in one.text for one in fork_lines(world.state, live_seq=world.state.seq, now_ms=NOW_MS))


def test_kinds_of_events_stand_beside_what_is_of_this_journal_alone() -> None:
    def below(key: str) -> str:
        more = describe_stored(FOUND, key, [], {"task_done": 3}, shown_seq=0, now_ms=NOW_MS, width=120, height=20)
        assert more is not None
        return "\n".join(told([*more.lines]))

    assert "EVENTS BY KIND" in below("800")
    assert "EVENTS BY KIND" not in below("/data/team.zip")


def test_of_many_members_the_first_are_listed_and_the_others_counted() -> None:
    world = team_world(*(agent(f"a{number}") for number in range(MAX_MEMBERS + 10)), max_agents=100)
    lines = told(team_summary(world.state))

    assert len(lines[lines.index("members") + 1 :]) == MAX_MEMBERS + 1
    assert lines[-1].strip() == "… 11 more members"
