"""The timeline under the hands of an operator, on a file that is read."""

import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from dashboard.screens.timeline import TimelineScreen
from dashboard.views.event_log import Entry
from dashboard.views.words.amounts import clock
from engine.core.events import AttemptDone
from tests.pilot.rest import at_rest
from tests.pilot.scene import NOW_MS, StillFeed, audit, write
from tests.world import World


@asynccontextmanager
async def timeline_on(
    folder: Path, work: World, clock: Callable[[], int] = lambda: NOW_MS, *, killed_ms: int | None = None
) -> AsyncIterator[tuple[Pilot[int], TimelineScreen]]:
    db = folder / "team.db"
    await write(db, work)
    feed = StillFeed(db, work)
    if killed_ms is not None and feed.engine is not None:
        feed.engine = dataclasses.replace(feed.engine, alive=False, heard_ms=killed_ms)
    app = QuarterdeckApp(db, feed=feed, clock=clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await press(pilot, "3")
        assert isinstance(app.screen, TimelineScreen)
        yield pilot, app.screen


async def press(pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await at_rest(pilot)


@pytest.mark.anyio
async def test_lanes_are_read_from_the_file(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (_, screen):
        lines = screen.board.text.splitlines()
        assert "▇▇▇▇" in next(line for line in lines if line.split()[:1] == ["scout"])
        assert "100%" in next(line for line in lines if line.split()[:1] == ["scout"])


@pytest.mark.anyio
async def test_zoom_shows_less_of_the_time_in_smaller_columns_and_says_which_key_shows_all(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, screen):
        whole = screen.board.text
        await press(pilot, *["plus"] * 6)
        assert "a column is 250 ms" in screen.board.text
        assert screen.facts()[0].text == "zoomed, home shows all"
        assert "▇▇▇▇" in next(line for line in screen.board.text.splitlines() if line.split()[:1] == ["scout"])
        await press(pilot, "home")
        assert screen.board.text == whole


@pytest.mark.anyio
async def test_the_cursor_goes_to_where_something_ended_and_says_what(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, screen):
        await press(pilot, *["down"] * 5, *["left"] * 80)
        assert "scout-thorough failed at lib" in screen.board.text
        assert screen.target() is not None
        await press(pilot, "escape")
        assert "at work" in screen.board.text


@pytest.mark.anyio
async def test_enter_opens_the_task_of_the_lane(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, _):
        await press(pilot, *["down"] * 4, "enter")
        assert type(pilot.app.screen).__name__ == "TaskScreen"


@pytest.mark.anyio
async def test_a_filter_leaves_the_lanes_that_match(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, screen):
        await press(pilot, "slash", *"agent:careful", "enter")
        assert "scout-careful" in screen.board.text
        assert "scout-thorough" not in screen.board.text.split("AT ")[0]


@pytest.mark.anyio
async def test_idle_time_is_unfolded_by_a_key(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, screen):
        before = screen.board.text
        await press(pilot, "g", "g")
        assert screen.board.text == before


@pytest.mark.anyio
async def test_b_goes_back_to_the_moment_under_the_cursor(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, screen):
        await press(pilot, *["left"] * 80, "b")
        past = pilot.app.view.past  # type: ignore[attr-defined]
        assert past is not None
        assert past.seq < len(screen.deck.feed.recent)
        assert "PAST" in "".join(
            segment.text for strip in pilot.app.screen._compositor.render_strips() for segment in strip
        )


@pytest.mark.anyio
async def test_a_team_without_history_says_what_would_be_here(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, World()) as (pilot, screen):
        await press(pilot, "left", "up", "plus", "enter", "b")
        assert "n  gives the team a request" in screen.board.text


@pytest.mark.anyio
async def test_what_happened_is_read_again_after_the_file_could_not_be_read_for_a_moment(tmp_path: Path) -> None:
    async with timeline_on(tmp_path, audit()) as (pilot, screen):
        db = tmp_path / "team.db"
        away = db.rename(tmp_path / "away.db")
        await press(pilot, "down", "left")
        away.rename(db)
        await press(pilot, *["down"] * 4, *["left"] * 80)
        assert "scout-thorough failed at lib" in screen.board.text


@pytest.mark.anyio
async def test_what_it_says_about_now_stands_until_newer_events_are_read(tmp_path: Path) -> None:
    now, work = [NOW_MS], audit()
    async with timeline_on(tmp_path, work, lambda: now[0]) as (_, screen):
        now[0] += 60_000
        ended: Any = next(one for one in reversed(work.journal) if isinstance(one, AttemptDone))
        later = replace(ended, at_ms=NOW_MS + 30_000)
        screen.deck.feed.recent.append(Entry(work.state.seq + 1, later.at_ms, "attempt_done", later))
        screen.deck.flush()
        assert f"AT {clock(now[0])}" in screen.board.text
        assert "reading" not in screen.board.text


@pytest.mark.anyio
async def test_what_a_killed_engine_worked_on_ends_at_its_last_sign_of_life(tmp_path: Path) -> None:
    work = audit()
    killed_ms = work.state.at_ms + 4_000
    async with timeline_on(tmp_path, work, lambda: NOW_MS + 60_000, killed_ms=killed_ms) as (_, screen):
        assert f"AT {clock(killed_ms)}" in screen.board.text
