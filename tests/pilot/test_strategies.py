"""Switching strategies by keys: every one is there, its settings are checked while they are typed."""

from pathlib import Path

import pytest

from dashboard.dialogs.dialog import Choices
from dashboard.widgets.bar import Bar
from dashboard.widgets.fields import Picker
from dashboard.widgets.pane import Pane
from engine.core.commands import RemoveMember, Submit, SupervisorSpec, SwitchStrategy
from engine.core.strategies import STRATEGIES
from tests.pilot.hand import opened
from tests.pilot.trouble import trouble
from tests.story import applied
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


async def test_every_strategy_is_offered_and_both_graphs_are_drawn(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        hand.table.select("s3")
        await hand.press("S")
        choices = hand.dialog.query_one(Choices)
        assert {choices.get_option_at_index(place).id for place in range(choices.option_count)} == set(STRATEGIES)
        await hand.press("down", "down")
        assert "join (concat)" in hand.told("before")
        assert "approved?" in hand.told("after")
        assert "added       approved?" in hand.told("consequence")
        assert "left out    join (concat)" in hand.told("consequence")


async def test_settings_that_a_strategy_does_not_know_are_said_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"strategy audit iterative_refinement", "enter", "tab", *"round=3")
        assert hand.problem.endswith("has no setting 'round'; did you mean rounds?")
        await hand.press("enter")
        assert not hand.app.orders
        await hand.press("backspace", "backspace", *"s=3", "enter")
        assert hand.ordered == SwitchStrategy(supervisor="@s3", mode="iterative_refinement", settings={"rounds": 3})


async def test_a_lead_is_asked_for_where_one_leads(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"strategy audit delegate", "enter")
        assert "has no lead to delegate" in hand.problem
        lead = hand.dialog.query_one("#lead", Picker)
        lead.focus()
        await hand.press("right")
        assert (lead.chosen, hand.problem) == ("auditor", "")
        assert "--lead auditor" in hand.told("shell")


async def test_one_run_alone_is_switched_and_not_where_nothing_of_it_would_be_left(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"strategy audit sequential --run r3", "enter")
        hand.dialog.query_one("#preserve", Picker).focus()
        await hand.press("right")
        assert "auditor, writer, which would be stopped" in hand.problem
        await hand.press("left")
        assert "go on       auditor, writer" in hand.told("consequence")
        await hand.press("enter")
        assert hand.ordered == SwitchStrategy(supervisor="@s3", mode="sequential", scope="run", run="r3")


async def test_a_run_is_switched_alone_from_its_own_row(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("7", "S")
        assert hand.dialog.query_one("#scope", Picker).chosen == "run:r3"


async def test_a_run_that_was_switched_alone_is_named_with_its_own_strategy(tmp_path: Path) -> None:
    work = trouble()
    applied(work, SwitchStrategy(supervisor="@s3", mode="sequential", scope="run", run="r3"))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("7", "S")
        title = hand.dialog.query_one("#title", Bar)
        assert "in r3, now sequential" in title.text
        hand.dialog.query_one("#scope", Picker).focus()
        await hand.press("left")
        assert "in r3" not in title.text
        assert f"now {work.state.supervisors['s3'].mode}" in title.text


async def test_a_chain_that_is_too_long_for_half_of_the_dialog_is_one_line_above_the_other(tmp_path: Path) -> None:
    crew = [agent(name, name) for name in ("cartographer", "interpreter", "statistician", "correspondent")]
    work = team_world(*crew, mode="sequential")
    work.order(Submit(request="go"))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("S")
        above, below = (hand.app.screen.query_one(f"#{name}", Pane) for name in ("before", "after"))
        assert hand.told("before").splitlines()[1].count("──▶") == 3
        assert above.region.x == below.region.x
        assert above.region.bottom <= below.region.y


async def test_what_was_wrong_with_settings_is_said_no_longer_once_they_are_right_again(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"strategy audit iterative_refinement", "enter", "tab", "x")
        assert hand.problem == "'x' is not a setting; write key=value"
        await hand.press("backspace")
        assert hand.problem == ""


async def test_a_supervisor_that_left_meanwhile_gets_no_other_strategy(tmp_path: Path) -> None:
    work = team_world(agent("scout", "scan"), SupervisorSpec(name="crew"))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("colon", *"strategy crew parallel", "enter")
        await hand.meanwhile(RemoveMember(target="crew"))
        assert hand.problem == "this supervisor has left the team"
        await hand.press("enter")
        assert not hand.app.orders


async def test_a_switch_by_somebody_else_is_shown_in_an_open_dialog_and_not_reverted_by_it(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"strategy audit parallel", "enter")
        await hand.meanwhile(SwitchStrategy(supervisor="@s3", mode="sequential", aggregation="vote"))
        assert "now sequential, joined by vote" in hand.dialog.query_one("#title", Bar).text
        await hand.press("enter")
        assert hand.ordered == SwitchStrategy(supervisor="@s3", mode="parallel")


@pytest.mark.parametrize(("rows", "whole"), [(40, False), (60, True)])
async def test_a_tall_window_shows_more_of_both_graphs(tmp_path: Path, rows: int, whole: bool) -> None:
    work = team_world(*(agent(f"ada-{number}") for number in range(9)), mode="parallel")
    work.order(Submit(request="go"))
    async with opened(tmp_path, work=work, size=(120, rows)) as hand:
        await hand.press("S")
        assert ("+4 more" not in hand.told("before")) is whole
        assert ("ada-8" in hand.told("before")) is whole
