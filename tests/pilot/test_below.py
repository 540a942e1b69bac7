"""The pane below a table, which tells more of the row under the cursor where the screen is tall."""

from pathlib import Path

import pytest

from dashboard.widgets.lines import Lines
from engine.core.commands import Pause
from engine.core.encoding.codec import encode_state
from store import open_store
from store.journals.records import StandbyInfo
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.kept import led
from tests.pilot.scene import NOW_MS, audit
from tests.pilot.talking import asking, talking
from tests.pilot.trouble import trouble
from tests.story import attempt, submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


def below(hand: Hand) -> str:
    return hand.app.screen.query_one("#below", Lines).text


async def test_a_question_stands_whole_below_with_what_each_answer_means(tmp_path: Path) -> None:
    work, _ = asking()
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        await hand.press("8", "down", "down")
        told = below(hand)

    assert "may it call files/write?" in told
    assert 'text: "# Tides"' in told
    assert "1  allow once          this call may happen" in told


async def test_the_pane_follows_the_cursor_and_goes_where_there_is_no_room(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40), work=trouble()) as hand:
        await hand.press("8")
        first = below(hand)
        await hand.press("down")

        assert below(hand) != first
        await hand.pilot.resize_terminal(120, 12)
        await hand.press()
        assert not hand.app.screen.query_one("#below").display


async def test_a_click_on_a_task_of_a_run_opens_it(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("7", "down")
        row = next(at for at, line in enumerate(below(hand).splitlines()) if " ● lib/" in line)
        await hand.pilot.click("#below", offset=(8, row))
        await hand.press()

        assert type(hand.app.screen).__name__ == "TaskScreen"


async def test_the_output_of_a_run_that_has_ended_is_read_from_the_journal(tmp_path: Path) -> None:
    work = team_world(agent("writer", "write"))
    submitted(work)
    work.succeed(next(iter(work.started)), "# Tides\n\n" + "The moon does it. " * 900)
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        await hand.press("7")
        await hand.press()

        assert "Tides" in below(hand)
        assert "The moon does it." in below(hand)


async def test_a_table_in_which_nothing_passes_the_filter_has_room_to_say_so(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("0")
        await hand.press("slash", *"zebra", "enter")
        await hand.press()

        assert "no agent matches 'zebra'" in "".join(hand.line(y) for y in range(hand.table.size.height))


async def test_an_agent_says_what_it_is_and_does_and_what_it_did_last(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("0", "down")
        beside = below(hand)
        await hand.pilot.resize_terminal(200, 60)
        await hand.press()
        wide = below(hand)

    for text in ("Reads one file", "2 of 2 slots", "lib/glob.py", "LAST TASKS", "OUTPUT"):
        assert text in beside
    for text in ("TIME A TASK", "SPEC", "EVENTS", "✓ finished lib/getopt.py "):
        assert text in wide
    assert "scout finished" not in wide


async def test_the_pane_takes_what_few_rows_leave_until_it_is_sized_by_hand(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("0")
        await hand.press()
        pane, table = hand.app.screen.query_one("#below"), hand.table
        assert table.size.height == len(table.rows.keys) + 2
        await hand.press("ctrl+down", "ctrl+down")
        await hand.press()
        assert table.size.height == len(table.rows.keys) + 4
        assert pane.size.height + table.size.height == hand.app.size.height - 6


@pytest.mark.parametrize("key", ["0", "7", "8", "9", "f4", "f7", "f9"])
async def test_on_a_low_screen_the_pane_has_what_few_rows_leave(tmp_path: Path, key: str) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await hand.press(key)
        await hand.press()
        rows = len(hand.table.rows.keys)

        assert 0 < rows == hand.table.size.height - 2
        assert below(hand)


async def test_on_a_low_screen_many_rows_keep_all_of_it(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24), work=audit(idle=9)) as hand:
        await hand.press("0")
        await hand.press()

        assert not hand.app.screen.query_one("#below").display


@pytest.mark.parametrize("key", ["0", "9", "f4", "f7", "f9"])
async def test_where_there_is_no_room_there_is_no_pane(tmp_path: Path, key: str) -> None:
    async with opened(tmp_path, size=(120, 12)) as hand:
        await hand.press(key)

        assert not hand.app.screen.query_one("#below").display


async def test_a_change_is_told_whole_with_what_came_with_it_and_whether_it_can_be_undone(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("f4")
        told = []
        for _ in hand.table.rows.keys:
            await hand.press()
            told.append(below(hand))
            await hand.press("down")

    paused = next(one for one in told if "quarterdeck pause grapher" in one)
    assert "grapher  " in paused.split("EVENTS WITH IT")[1]
    assert ":undo c" in paused
    swapped = next(one for one in told if "quarterdeck swap scout-thorough --with scout-fast" in one)
    assert ":undo c" in swapped
    assert "swapped to g2" in swapped
    asked = next(one for one in told if "Audit the standard library and report what is risky" in one)
    assert "no command can undo it" in asked


async def test_what_the_newest_state_and_a_snapshot_hold_is_told(tmp_path: Path) -> None:
    work = trouble()
    state = encode_state(work.state)
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        async with open_store(tmp_path / "team.db") as store:
            await store.snapshots.save(work.state.seq, state)
        await hand.press("9")
        newest = below(hand)
        hand.clock[0] += 3_000
        hand.app.flush()
        await hand.press("down")
        await hand.press()
        stored = below(hand)

    for text in ("3 working", "✕ 1 error", "Read every ledger", "1/16 ended", "$0.31", "attempt started"):
        assert text in newest
    assert f"the team after seq {work.state.seq}" in stored
    assert "working" in stored  # as at that moment
    assert "Read every ledger" in stored


async def test_an_engine_says_who_led_when(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("f7")
        await hand.press()
        told = below(hand)

    assert "engine 4211 on deck" in told
    assert "none; start one" in told
    assert "━" in told.split("WHO LED WHEN")[1]


async def test_a_team_says_what_runs_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with opened(tmp_path, size=(120, 40), work=trouble()) as hand:
        await hand.press("f9")
        await hand.press()
        told = below(hand)
        row = next(at for at, line in enumerate(told.splitlines()) if " r1 " in line and "Read every" in line)
        await hand.pilot.click("#below", offset=(8, row))
        await hand.press()

        assert hand.place == "teams", "a run of another file has no page here"
    assert "enter goes to its network" in told
    assert "✕ 1 error" in told


async def test_a_task_says_why_it_waits_and_its_error_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 50), work=trouble()) as hand:
        await hand.press("5")
        told = []
        for _ in hand.table.rows.keys:
            told.append(below(hand))
            await hand.press("down")

    assert any("next in reader's queue" in one for one in told)
    assert any("KeyError: 'total'" in one for one in told)


async def test_enter_opens_the_beginning_of_an_engine_once_and_nothing_of_one_that_stands_by(tmp_path: Path) -> None:
    async with opened(tmp_path, work=led()) as hand:
        hand.app.feed.standbys = [StandbyInfo(pid=4302, since_ms=NOW_MS, beat_ms=40)]
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press("f7")
        assert hand.table.select("standby:4302")
        await hand.press("enter")
        assert hand.place == "engines"
        await hand.press("down", "enter")
        assert type(hand.app.screen).__name__ == "EventScreen"
        await hand.press("escape")

        assert hand.place == "engines"


async def test_the_events_of_a_command_are_told_from_others_of_its_millisecond(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"), agent("writer", "write"))
    submitted(work)
    work.succeed(attempt(work, "scout"))
    work.order(Pause(target="scout"))
    work.order(Pause(target="writer"))
    assert len({event.at_ms for event in work.journal}) == 1
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        await hand.press(*":audit", "enter")
        await hand.press("home", "down")  # once there are rows
        _, _, told = below(hand).partition("EVENTS WITH IT")
        caused, _, later = told.partition("WHAT CAME NEXT")

    assert [line.split(maxsplit=2)[2] for line in caused.splitlines()[1:-1]] == [
        "scout    paused: it starts nothing new"
    ]
    assert "writer" in later


async def test_in_the_past_a_team_is_told_about_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("f9")
        await hand.press("left_square_bracket", "left_square_bracket")
        await until(hand.pilot, lambda: hand.app.view.past is not None)

        assert "an event now" not in below(hand)


async def test_a_long_error_stands_whole_below_its_task(tmp_path: Path) -> None:
    work = team_world(agent("ada"), agent("bob"), mode="parallel")
    submitted(work)
    work.fail(attempt(work, "ada"), f"begins here {'and goes on ' * 20}to its end")
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        await hand.press("8")
        told = below(hand)

        assert told.count("error       begins here") == 1
        assert "and goes on to its end" in " ".join(told.split())


async def test_the_pane_below_few_tasks_takes_the_free_lines_for_what_was_said_and_done(tmp_path: Path) -> None:
    work, _ = talking()
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        await hand.press("5", "down")
        await hand.press()
        said = below(hand)

        assert "⚙ search query spring tides  limit 3" in said
        assert "tides.org/spring" in said
        assert hand.app.screen.query_one("#below").size.height > 20
