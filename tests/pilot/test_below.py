"""The pane below a table, which tells more of the row under the cursor where the screen is tall."""

from pathlib import Path

import pytest

from dashboard.screens.inbox import InboxScreen
from dashboard.widgets.lines import Lines
from tests.pilot.hand import Hand, opened
from tests.pilot.talking import asking
from tests.pilot.trouble import trouble
from tests.story import submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


def below(hand: Hand) -> str:
    return hand.app.screen.query_one("#below", Lines).text


async def test_a_question_stands_whole_below_with_what_each_answer_means(tmp_path: Path) -> None:
    work, _ = asking()
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        await hand.press("8", "down", "down")
        told = below(hand)

    assert "seeker wants to call files/write" in told
    assert '"text": "# Tides"' in told
    assert "allow_once     this call may happen" in told


async def test_the_pane_follows_the_cursor_and_goes_where_there_is_no_room(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40), work=trouble()) as hand:
        await hand.press("8")
        first = below(hand)
        await hand.press("down")

        assert below(hand) != first
        await hand.pilot.resize_terminal(120, InboxScreen.BELOW_FROM - 1)
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


async def test_a_task_says_why_it_waits_and_its_error_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 50), work=trouble()) as hand:
        await hand.press("5")
        told = []
        for _ in hand.table.rows.keys:
            told.append(below(hand))
            await hand.press("down")

    assert any("waits: " in one for one in told)
    assert any("KeyError: 'total'" in one for one in told)
