"""A request with all that can be said of it."""

from decimal import Decimal
from pathlib import Path

import pytest
from rich.color import Color
from textual.strip import Strip
from textual.widgets import Input

from dashboard.dialogs.dialog import Dialog
from dashboard.dialogs.line import LineDialog
from dashboard.dialogs.request import RequestDialog
from dashboard.widgets.bar import Bar
from dashboard.widgets.fields import Picker
from dashboard.widgets.typing import LineInput
from engine.core.commands import HandOver, Submit, SwitchStrategy
from engine.core.specs.limits import Limits
from engine.supervisor.client import CommandReply
from store.journals.records import StandbyInfo
from tests.pilot.engines import until
from tests.pilot.hand import opened
from tests.pilot.trouble import trouble
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


async def test_a_request_is_sent_as_it_stands(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n", *"go", "enter")
        assert hand.ordered == Submit(request="go", supervisor="@s1")


async def test_an_input_method_composes_where_the_text_stands_although_the_dialog_has_moved(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n")
        line = hand.app.screen.query_one("#request")
        before = line.region
        assert before.contains_point(hand.app.cursor_position)
        await hand.press(*"go")  # what it would do makes the dialog higher
        assert line.region.y < before.y
        assert line.region.contains_point(hand.app.cursor_position)


@pytest.mark.parametrize("text", ["", "go", "漢字", "x" * 300])
async def test_an_input_method_composes_where_the_cursor_is_drawn(text: str, tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n")
        line = hand.app.screen.query_one("#request", LineInput)
        for key in ("left", "home", "end", "left", "right"):
            line.value = line.value or text
            await hand.press(key)
            cursor = line.get_component_rich_style("input--cursor").bgcolor
            drawn, x = line.render_line(0), line.content_region.x
            cells = [x + at for at in range(line.size.width) if _ground(drawn, at) == cursor]
            assert cells[:1] == [hand.app.cursor_position.x], key


def _ground(drawn: Strip, at: int) -> Color | None:
    style = next(iter(drawn.crop(at, at + 1))).style
    return style.bgcolor if style is not None else None


async def test_a_request_has_a_priority_a_category_a_deadline_limits_and_what_it_comes_after(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n", *"go", "tab", "tab", "left", "left", "tab", "right", "tab", "tab", *"5m", "tab")
        assert "coordinates it: parallel" in hand.told("details")
        assert "would do    submitted r5 to chief" in hand.told("would")
        shell = "quarterdeck run go --supervisor chief --priority 3 --deadline 300s --category audit"
        assert shell in " ".join(hand.told("would").split())
        await hand.press(*"tokens=900 cost_usd=0.5 then=ask", "tab", *"r1 r3", "tab", *"team=web 'by=me too'", "enter")
        limits = Limits(tokens=900, cost_usd=Decimal("0.5"), then="ask")
        assert hand.ordered == Submit(
            request="go",
            supervisor="@s1",
            priority=3,
            category="audit",
            deadline_s=300,
            limits=limits,
            after=["r1", "r3"],
            labels={"team": "web", "by": "me too"},
        )


async def test_a_request_may_go_to_another_supervisor(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n", *"go", "tab", "right", "right", "enter")
        assert isinstance(hand.ordered, Submit)
        assert hand.ordered.supervisor == "@s2"


async def test_a_request_says_for_whom_it_is_also_while_the_team_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n", "tab", "right", "right")
        title = hand.dialog.query_one("#title", Bar)
        assert title.text == "A request for books"
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press()
        assert title.text == "A request for books"


async def test_what_would_be_refused_is_said_as_it_is_typed_and_keeps_the_dialog_open(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n", *["tab"] * 5, *"25:00")
        assert hand.problem == "'25:00' is not a deadline; write 90s, 5m, 2h, 14:30, 2026-01-31T12:04 or none"
        await hand.press(*["backspace"] * 5, "shift+tab", "left")
        assert hand.problem.startswith("strategy graph: graph needs its nodes")
        await hand.press("right", "tab", "tab", *"tokens=few")
        assert hand.problem == "limits: tokens must be a whole number, 1 to 1,000,000,000,000, or None, not 'few'"
        await hand.press(*["backspace"] * 10, "tab", *"r77")
        assert hand.problem.startswith("would be refused: ")
        await hand.press("enter")
        assert not hand.app.orders


async def test_that_no_agent_matches_is_said_of_words_that_were_typed_alone(tmp_path: Path) -> None:
    async with opened(tmp_path, work=team_world(agent("ada", "parsing"), auto_discover=True)) as hand:
        await hand.press("n")
        assert hand.problem == ""
        await hand.press(*"dance")
        assert "no agent can 'dance'" in hand.problem


async def test_one_run_may_have_a_strategy_of_its_own(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("n", *"go", *["tab"] * 4, "right", "right")
        mode = hand.app.screen.query_one("#mode", Picker).chosen
        assert f"from the outset rewired to {mode}" in " ".join(hand.told("details").split())
        dialog = hand.app.screen
        assert isinstance(dialog, RequestDialog)
        await hand.press("enter")
        dialog.handle_outcome(CommandReply(command_id="c", status="applied", result={"run_id": "r5"}))
        assert hand.app.orders == [
            Submit(request="go", supervisor="@s1"),
            SwitchStrategy(supervisor="@s1", mode=mode, scope="run", run="r5"),
        ]


async def test_who_leads_is_shown_and_hands_over_to_one_that_stands_by(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("E")
        assert "leads       engine 4211 on deck" in hand.told("details")
        assert "none; start one: quarterdeck engine --standby" in hand.told("details")
        await hand.press("escape")
        hand.app.feed.standbys = [StandbyInfo(pid=77, since_ms=1, beat_ms=10)]
        hand.clock[0] += 1_000
        hand.app.flush()
        await hand.press("colon", *"hand-over --grace 1h", "enter", "enter")
        assert hand.problem == "the engine waits for 600 s at most before it hands over"
        await hand.press("escape", "colon", *"hand-over --grace 5s", "enter")
        assert "engine 77" in hand.told("details")
        await hand.press("enter")
        assert hand.ordered == HandOver(token=1, grace_s=5.0)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("audit csv", Submit(request="audit csv")),
        ("what does --force do in it's code", Submit(request="what does --force do in it's code")),
        ("say 'boo' to --priority 3", Submit(request="say 'boo' to --priority 3")),
        ("'audit csv'", Submit(request="audit csv")),
        (
            "'audit csv' --supervisor metrics --priority 2 --deadline 10m --category docs --after r1",
            Submit(
                request="audit csv", supervisor="metrics", priority=2, deadline_s=600.0, category="docs", after=["r1"]
            ),
        ),
        (
            '"audit re" --max-attempts 400 --max-tokens=9000 --max-cost 0.5',
            Submit(request="audit re", limits=Limits(attempts=400, tokens=9000, cost_usd=Decimal("0.5"))),
        ),
        (
            "audit --label team=web --after r1 --label 'env=a b' --after r3",
            Submit(request="audit", labels={"team": "web", "env": "a b"}, after=["r1", "r3"]),
        ),
        ("audit --label web", "'web' is not a label; write key=text, such as team=web"),
        (
            "'audit re' --detach",
            "run: no option --detach here; there are --supervisor, --priority, --deadline, --category, --after, "
            "--conversation, --label, --max-attempts, --max-tokens, --max-cost",
        ),
        (
            "audit --max-tokens many",
            "limits: tokens must be a whole number, 1 to 1,000,000,000,000, or None, not 'many'",
        ),
        ("audit --priority urgent", "'urgent' is not a priority; write 0, the most urgent, to 9"),
        ("audit --deadline soon", "'soon' is not a deadline; write 90s, 5m, 2h, 14:30, 2026-01-31T12:04 or none"),
    ],
)
async def test_a_request_on_the_command_line_takes_the_options_of_a_shell(
    tmp_path: Path, line: str, meant: Submit | str
) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *f"run {line}", "enter")

        assert (hand.said if isinstance(meant, str) else hand.ordered) == meant


@pytest.mark.parametrize(("keys", "dialog", "line"), [("n", RequestDialog, "#request"), ("5s", LineDialog, "#line")])
async def test_a_text_is_kept_until_it_was_taken(keys: str, dialog: type[Dialog], line: str, tmp_path: Path) -> None:
    def text() -> str:
        assert isinstance(hand.app.screen, dialog)
        return hand.app.screen.query_one(line, Input).value

    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press(*keys, *"go", "escape", *keys[-1])
        assert text() == ""  # it was not sent, by choice
        refusal = CommandReply(command_id="c", status="refused", reason="it has left the team")
        hand.app.commands._perform = lambda command: refusal  # type: ignore[method-assign]
        await hand.press(*"go on", "enter")
        await until(hand.pilot, lambda: hand.said.startswith("refused"))
        assert hand.said == "refused: it has left the team; the text is kept"
        await hand.press(keys[-1])
        assert text() == "go on"
        applied = CommandReply(command_id="c", status="applied", seq=9)
        hand.app.commands._perform = lambda command: applied  # type: ignore[method-assign]
        await hand.press(*", now", "enter")
        await until(hand.pilot, lambda: "applied at seq 9" in hand.said)
        await hand.press(keys[-1])
        assert text() == ""


async def test_a_text_that_could_not_be_sent_is_kept(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        inbox = tmp_path / "team.db-inbox"
        inbox.unlink(missing_ok=True)
        inbox.write_text("this is no database, and long enough to be seen as none " * 10)
        await hand.press("n", *"go", "enter")
        await until(hand.pilot, lambda: hand.said.startswith("not sent: "))
        await hand.press("n")
        assert hand.app.screen.query_one("#request", Input).value == "go"
