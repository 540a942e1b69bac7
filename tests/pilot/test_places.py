"""Places without a number key: the audit, engines, the log, the teams of this machine."""

import json
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from dashboard.app.navigation import place_of, read_place, visit
from dashboard.reading.databases import DatabaseInfo
from dashboard.reading.team_databases import team_of
from dashboard.screens.log import LogScreen, tail
from dashboard.widgets.lines import Lines
from dashboard.widgets.table import HEADINGS
from engine.core.commands import Submit
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from store import EngineInfo, Reader, open_store
from store.layout.files import file_size
from tests.bench.histories import rows_of
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import NOW_MS
from tests.story import attempt, submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


async def go(hand: Hand, place: str) -> None:
    await hand.press("colon", *place, "enter")
    for _ in range(3):
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press()
    assert hand.place == place


def rows(hand: Hand) -> list[str]:
    return [hand.line(HEADINGS + y) for y in range(len(hand.table.rows.keys))]


async def test_the_audit_shows_who_did_what_as_a_command_line_to_copy(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 36)) as hand:
        await go(hand, "audit")
        shown = rows(hand)
        assert "run 'Which modules are never imported?' --" in shown[0]
        assert "pause grapher" in shown[1]
        assert "✓ paused grapher" in shown[1]

        await hand.press("j", "Y")
        assert hand.said == "copied: quarterdeck pause grapher"
        assert hand.app.clipboard == "quarterdeck pause grapher"

        await hand.press("slash", *"swap", "enter")
        assert len(rows(hand)) == 1


async def test_a_task_whose_run_is_over_is_a_place_to_come_back_to(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"))
    work.order(Submit(request="look at it"))
    key = attempt(work, "scout")
    work.succeed(key, "all is well")
    work.settle()
    assert key[0] not in work.state.tasks
    async with opened(tmp_path, work=work) as hand:
        visit(hand.app, read_place(f"task/{key[0]}"))
        await hand.press()
        assert str(place_of(hand.app)) == f"task/{key[0]}"
        assert hand.said == ""
        await hand.press("r")
        assert hand.said == "this task is over with its run; on Runs r submits the request again"
        await hand.press("escape", "P")
        assert (hand.place, hand.said) == (
            "tasks",
            "this task is over with its run; on Runs r submits the request again",
        )

        for nothing in ("t999999", "t", "t²", "t0", "t" + "9" * 60):
            visit(hand.app, read_place(f"task/{nothing}"))
            await hand.press()
            assert hand.said == f"no task {nothing} is here any more"


async def test_a_line_that_would_do_something_else_is_not_copied(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"))
    work.order(Submit(request="look at it " * 100))
    async with opened(tmp_path, size=(160, 50), work=work) as hand:
        await go(hand, "audit")
        await hand.press("Y")
        assert hand.said == "there is no command line to copy: the journal keeps only a part of what was given"
        assert hand.app.clipboard == ""
        assert "not in it" in hand.app.screen.query_one("#below", Lines).text


async def test_a_command_that_was_applied_meanwhile_comes_on_top(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 36)) as hand:
        await go(hand, "audit")
        before = len(rows(hand))
        assert before > 3
        await hand.press("enter")
        assert "command_applied" in hand.told("body")


async def test_engines_are_listed_with_how_long_they_led(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await go(hand, "engines")
        assert "● leads" in rows(hand)[0]


async def test_the_log_is_read_from_its_end(tmp_path: Path) -> None:
    (tmp_path / "team.db.log").write_text("one\ntwo\x1b[31m\nquarterdeck: Error: three\n")
    async with opened(tmp_path, size=(120, 19)) as hand:
        await go(hand, "log")
        screen = hand.app.screen
        assert isinstance(screen, LogScreen)
        assert screen.pane.text.splitlines() == ["one", r"two\x1b[31m", "quarterdeck: Error: three"]


async def test_the_log_has_the_filter_of_every_list(tmp_path: Path) -> None:
    (tmp_path / "team.db.log").write_text("INFO began at seq 1\nERROR scout failed\nINFO began at seq 17\n")
    async with opened(tmp_path, size=(120, 19)) as hand:
        await go(hand, "log")
        screen = hand.app.screen
        assert isinstance(screen, LogScreen)
        await hand.press("slash", *"began -17", "enter")
        assert screen.pane.text.splitlines() == ["INFO began at seq 1"]
        await hand.press("escape", "slash", *"/seq (/", "enter")
        assert screen.pane.text.splitlines()[1] == "esc shows all"


async def test_the_log_is_read_on_after_the_clock_of_the_computer_was_set_back(tmp_path: Path) -> None:
    log = tmp_path / "team.db.log"
    log.write_text("one\n")
    async with opened(tmp_path, size=(120, 19)) as hand:
        await go(hand, "log")
        screen = hand.app.screen
        assert isinstance(screen, LogScreen)
        log.write_text("one\ntwo\n")
        hand.clock[0] -= 3_600_000
        hand.app.flush()
        await until(hand.pilot, lambda: screen.pane.text.splitlines() == ["one", "two"])


async def test_the_room_that_a_short_log_leaves_tells_what_went_wrong_by_the_journal(tmp_path: Path) -> None:
    log = tmp_path / "team.db.log"
    log.write_text("one\n")
    async with opened(tmp_path, size=(120, 40)) as hand:
        await go(hand, "log")
        await hand.press()
        screen = hand.app.screen
        assert isinstance(screen, LogScreen)
        lines = screen.pane.text.splitlines()
        assert lines[0] == "one"
        assert "engine 1 started" in lines[3]
        assert any("failed at lib/copy.py" in line for line in lines[3:])
        assert len(lines) <= screen.pane.size.height
        await hand.press("slash", "o", "enter")
        assert screen.pane.text.splitlines() == ["one"]


def test_the_tail_of_a_long_log_begins_with_a_whole_line(tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    log.write_text("".join(f"line {number}\n" for number in range(50_000)))

    lines = tail(log)

    assert lines[-1] == "line 49999"
    assert lines[0].startswith("line ")
    assert tail(tmp_path / "none.log") == []


async def test_another_team_of_this_machine_is_shown_in_place_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    folder = tmp_path / "data" / "quarterdeck"
    folder.mkdir(parents=True)
    async with opened(tmp_path):
        pass
    (tmp_path / "team.db").rename(folder / "other.db")
    monkeypatch.chdir(folder)  # no folder of this repository is searched
    here = tmp_path / "here"
    here.mkdir()
    async with opened(here) as hand:
        await go(hand, "teams")
        assert {Path(key).name for key in hand.table.rows.keys} >= {"other.db", "team.db"}
        hand.table.select(str(folder / "other.db"))
        await hand.pilot.press("enter")
        await hand.pilot.pause()
        assert hand.app.next_path == folder / "other.db"


async def test_a_team_that_rests_is_not_folded_again(tmp_path: Path) -> None:
    world, file = team_world(agent("ada", "a")), DatabaseInfo(tmp_path / "team.db")
    rows = rows_of(world.journal)
    async with open_store(file.path) as store:
        await store.journal.append(1, rows[:-1])
        first = team_of(file, None, NOW_MS, is_shown=False)
        again = team_of(file, first, NOW_MS, is_shown=False)
        await store.journal.append(len(rows), rows[-1:])
        later = team_of(file, again, NOW_MS, is_shown=False)

    assert again == first
    assert all(one is before for one, before in zip(again.holds, first.holds, strict=True))
    assert later.last[-1].seq == len(rows)
    assert later.holds[0] is not first.holds[0]


async def test_the_figures_of_another_team_follow_the_clock_while_it_is_at_work(tmp_path: Path) -> None:
    critic = AgentSpec(name="critic", agent_type="ReactAgent", model="fake")
    models = {"fake": ModelSpec(replies=[{"text": "so"}])}
    world = team_world(critic, agent("ada"), options=SupervisorOptions(models=models))
    submitted(world)
    file = DatabaseInfo(tmp_path / "team.db", EngineInfo(1, True, 0, 1, 0, 0, "host"))
    async with open_store(file.path) as store:
        await store.journal.append(1, rows_of(world.journal))
        store.live.put(f"pulse:{attempt(world, 'critic')[0]}", json.dumps({"chunk_ms": world.now_ms}))
        with Reader(file.path) as reader, anyio.fail_after(PATIENCE_S):
            while not await anyio.to_thread.run_sync(reader.live):
                await anyio.lowlevel.checkpoint()
        at_work = team_of(file, None, world.now_ms + 1_000, is_shown=False)
        stuck = team_of(file, at_work, world.now_ms + 900_000, is_shown=False)
        stopped = team_of(replace(file, engine=None), stuck, world.now_ms + 900_000, is_shown=False)

    assert [team.figures[:3] for team in (at_work, stuck, stopped)] == [(0, 1, 2), (1, 1, 2), (0, 0, 2)]


async def test_a_team_is_as_large_in_the_list_of_teams_as_on_its_state_screen(tmp_path: Path) -> None:
    db = tmp_path / "team.db"
    async with open_store(db) as store:
        await store.journal.append(1, rows_of(team_world(agent("ada")).journal))
        with Reader(db) as reader:
            kept = reader.size_bytes()

        assert team_of(DatabaseInfo(db), None, NOW_MS, is_shown=False).size_bytes == kept > file_size(db)
