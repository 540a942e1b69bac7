"""The Network screen and the page of a supervisor under a hand on the keys and on the mouse."""

from collections import Counter
from pathlib import Path

import pytest

from dashboard.frame.frame import Frame
from dashboard.frame.member_pane import MemberPane
from dashboard.pages.supervisor import SupervisorScreen
from dashboard.screens.network import NetworkScreen
from dashboard.views.arrangement import Arrangement
from dashboard.views.drawing.lines import Line
from dashboard.views.view_state import ViewState
from dashboard.widgets.lines import Lines
from dashboard.widgets.picks import Picks
from dashboard.widgets.table import HEADINGS
from engine.core.commands import Pause, RemoveMember, SwitchStrategy
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import audit
from tests.pilot.trouble import trouble
from tests.world import World, agent, team_world

pytestmark = pytest.mark.anyio


def pane(hand: Hand) -> str:
    return hand.app.screen.query_one("#pane", Picks).text


async def test_the_pane_follows_the_cursor_and_goes_away_and_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        assert "MEMBERS" in pane(hand)
        await hand.press("j", "j", "j")
        assert "scout" in pane(hand)
        assert "OUTPUT" in pane(hand)

        await hand.press("v")
        assert hand.app.screen.query_one("#pane").size.width == 0
        await hand.press("v")
        assert hand.app.screen.query_one("#pane").size.width == 43


async def test_the_pane_is_not_drawn_for_every_part_that_got_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[ViewState] = []
    lines = MemberPane.lines

    def counted(
        pane: MemberPane, view: ViewState, key: str, found: Arrangement, height: int, *, calm: bool
    ) -> list[Line]:
        drawn.append(view)
        return lines(pane, view, key, found, height, calm=calm)

    monkeypatch.setattr(MemberPane, "lines", counted)
    async with opened(tmp_path, size=(120, 40)) as hand:
        assert "MEMBERS" in pane(hand)

    # Before it has its room and after that, and again where the tree got another width. How often the team is looked at
    # meanwhile depends on the machine.
    assert 1 <= max(Counter(map(id, drawn)).values()) <= 5


async def test_tab_goes_to_the_pane_and_enter_opens_what_is_chosen_there(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("j", "j", "j")
        await hand.press("tab")
        if not hand.app.screen.query_one("#pane").has_focus:  # the tail stands between them
            await hand.press("tab")
        await hand.press("j", "enter")

        assert isinstance(hand.app.screen, Frame)
        assert hand.place == ""
        target = hand.app.screen.target()
        assert target is not None
        assert target.kind == "task"
        await hand.press("escape")
        assert hand.place == "network"


async def test_enter_goes_down_from_a_team_to_a_member_and_escape_back_level_by_level(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("j", "j", "enter")
        assert isinstance(hand.app.screen, SupervisorScreen)
        assert "survey" in hand.app.screen.query_one("#facts", Lines).text
        names = [str(hand.table.rows.cells(row)[0].text) for row in range(len(hand.table.rows.keys))]
        assert names == ["scout", "scout-thorough", "scout-careful"]

        await hand.press("j", "enter")
        target = hand.app.screen.target() if isinstance(hand.app.screen, Frame) else None
        assert target is not None
        assert target.name == "scout-thorough"
        await hand.press("escape")
        assert isinstance(hand.app.screen, SupervisorScreen)
        await hand.press("escape")
        assert hand.place == "network"


async def test_the_page_of_a_supervisor_says_how_it_was_coordinated(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        await hand.press("j", "j", "enter")

        side = hand.app.screen.query_one("#side", Picks).text

        assert "never switched" in side
        assert "SETTINGS" in side


async def test_clicks_on_a_heading_sort_the_members_turn_them_round_and_take_it_back(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        seen, headings = [list(hand.table.rows.keys)], [hand.line(0)]
        place = (headings[0].index("DONE") + 1, 0)
        for _ in range(3):
            await hand.pilot.click("#body", offset=place)
            await hand.press()
            seen.append(list(hand.table.rows.keys))
            headings.append(hand.line(0))

        assert len({tuple(keys) for keys in seen[:3]}) == 3
        assert seen[3] == seen[0]
        assert [("▾DONE" in one, "▴DONE" in one) for one in headings] == [
            (False, False), (True, False), (False, True), (False, False)
        ]  # fmt: skip


async def test_a_double_click_on_a_line_of_the_pane_opens_it(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        lines = pane(hand).splitlines()
        members = next(place for place, text in enumerate(lines) if "MEMBERS" in text)
        y = next(place for place, text in enumerate(lines) if "survey" in text and place > members)

        await hand.pilot.click("#pane", offset=(6, y), times=2)
        await hand.press()

        assert isinstance(hand.app.screen, SupervisorScreen)


async def test_a_small_terminal_an_empty_file_and_a_team_of_one_have_their_screens(tmp_path: Path) -> None:
    for place, work in enumerate((World(), team_world(agent("ada", "a")), trouble())):
        folder = tmp_path / str(place)
        folder.mkdir()
        for size in ((40, 12), (80, 24), (200, 60)):
            each = folder / f"{size[0]}"
            each.mkdir()
            async with opened(each, size=size, work=work) as hand:
                assert hand.table.size.height > HEADINGS
                if work.state.supervisors:
                    assert "AGENT" in hand.line(0)
                    await hand.press("enter")
                    assert isinstance(hand.app.screen, SupervisorScreen)
                else:
                    assert "no team here yet" in "".join(hand.line(y) for y in range(hand.table.size.height))


async def test_a_filter_puts_the_cursor_on_the_first_that_matches(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("slash", *"scout-thorough", "enter")

        assert hand.chosen == "scout-thorough"
        assert len(hand.table.rows.keys) > 1
        await hand.press("escape")
        assert hand.chosen == "scout-thorough"


async def test_the_strategies_of_a_supervisor_are_read_again_after_the_file_could_not_be_read(tmp_path: Path) -> None:
    work = audit()
    work.order(SwitchStrategy(supervisor="survey", mode="sequential"))
    supervisor = next(one.id for one in work.state.supervisors.values() if one.name == "survey")
    async with opened(tmp_path, size=(120, 40), work=work) as hand:
        away = hand.app.path.rename(tmp_path / "away.db")
        hand.app.open("supervisor", supervisor)
        await hand.press()
        assert "team.db" in hand.said
        away.rename(hand.app.path)
        hand.clock[0] += 60_000
        hand.app.flush()
        await hand.press()
        assert "never switched" not in hand.app.screen.query_one("#side", Picks).text


async def test_nothing_is_kept_of_agents_that_have_left_the_team(tmp_path: Path) -> None:
    async with opened(tmp_path, idle=3) as hand:
        screen = hand.app.screen
        assert isinstance(screen, NetworkScreen)
        idle = [one.id for one in hand.work.state.agents.values() if one.status == "idle"]
        screen.folds.active_ms |= dict.fromkeys(hand.work.state.agents, 1)
        for agent_id in idle:
            assert agent_id in screen._meters._history
            await hand.meanwhile(RemoveMember(target=f"@{agent_id}", mode="abort"))

        assert not set(idle) & (screen.folds.active_ms.keys() | screen._meters._history.keys())


async def test_what_stands_still_rests_while_only_the_clock_moves_and_what_happens_is_shown_at_once(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, work=team_world(agent("writer", "write")), size=(120, 40)) as hand:
        hand.clock[0] += 600_000
        hand.app.flush()
        shown = [hand.table.rows]
        for _ in range(20):
            hand.clock[0] += 1_000
            hand.app.flush()
            if hand.table.rows is not shown[-1]:
                shown.append(hand.table.rows)
        assert 4 <= len(shown) <= 10

        await hand.meanwhile(Pause(target="writer"))

        assert hand.table.rows is not shown[-1]
        assert "paused" in hand.app.screen.query_one("#tail", Picks).text


async def test_rows_and_what_stands_beside_them_take_the_width_that_they_have_got(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(140, 40)) as hand:
        pane = hand.app.screen.query_one("#pane")
        for cells in (60, 40):
            pane.styles.width = cells
            await hand.pilot.pause()  # and nothing tells that the team has changed
            drawn = picture(hand)
            hand.app.screen.due_ms = 0  # type: ignore[attr-defined]
            hand.app.screen.update_view(hand.app.view)  # type: ignore[attr-defined]
            await hand.pilot.pause()
            assert picture(hand) == drawn


def picture(hand: Hand) -> list[str]:
    return [line.text for line in hand.app.screen._compositor.render_strips()]


async def test_a_team_folds_under_the_cursor_and_what_is_hidden_in_it_is_found(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(120, 40)) as hand:
        before = list(hand.table.rows.keys)
        await hand.press("j", "j", "j", "f")
        assert hand.chosen == "survey"
        assert len(hand.table.rows.keys) == len(before) - 3
        assert "├+survey" in hand.line(hand.table.line + 1)

        hidden = next(one.id for one in hand.work.state.agents.values() if one.name == "scout-careful")
        screen = hand.app.screen
        assert isinstance(screen, NetworkScreen)
        assert screen.select_row(hidden)
        assert list(hand.table.rows.keys) == before

        await hand.press("A")
        assert hand.chosen == "survey"
        await hand.press("A")
        assert list(hand.table.rows.keys) == before
