"""Where people type, what was pasted or stood there already is drawn as text, in the cells that it takes."""

import ast
import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, TextArea
from wcwidth import wcswidth

from dashboard.clean import MARKS
from dashboard.frame.frame import Frame
from dashboard.widgets.prompt import Prompt
from dashboard.widgets.typing import LineInput, TextBox
from dashboard.widgets.yaml_area import YamlArea
from engine.core.commands import Submit, SwapAgent
from tests.pilot.engines import until
from tests.pilot.hand import Hand, opened
from tests.pilot.poison import KINDS, hostile
from tests.pilot.test_hostile_terminal import strange

DASHBOARD = Path(__file__).resolve().parents[2] / "dashboard"


class Typing(App[None]):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield LineInput(self._text, id="line")
        yield TextBox(self._text, id="box")
        yield YamlArea(self._text, id="yaml")


def drawn(widget: Widget) -> Iterable[Strip]:
    return (widget.render_line(y) for y in range(widget.size.height))


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [*KINDS, hostile(0), hostile(4)], ids=range(len(KINDS) + 2))
async def test_what_is_typed_into_is_text_in_columns_and_stays_what_it_is(kind: str) -> None:
    text = f"a{kind}z"
    app = Typing(text)
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.pause()
        for widget in app.query("#line, #box, #yaml"):
            for strip in drawn(widget):
                assert strange(strip.text) == []
                assert wcswidth(strip.text) == strip.cell_length
        assert app.query_one(LineInput).value == text


@pytest.mark.anyio
async def test_letters_of_languages_are_drawn_as_they_are() -> None:
    text = "é " + "e\u0301" * MARKS + " שלום 漢字 ok"
    app = Typing(text)
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.pause()
        assert text in app.query_one(LineInput).render_line(0).text


@pytest.mark.parametrize(
    "path", sorted(DASHBOARD.rglob("*.py")), ids=lambda path: path.relative_to(DASHBOARD).as_posix()
)
def test_no_line_for_typing_is_made_without(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]

    assert not [one.id for one in calls if isinstance(one, ast.Name) and one.id in ("Input", "TextArea")]


async def at_once(hand: Hand, *keys: str) -> None:
    """Press keys of which each comes before anything was done for the one before it, as over a slow link."""
    for key in keys:
        hand.app.post_message(Key(_character_to_key(key), key) if len(key) == 1 else Key(key, None))
    for _ in keys:
        await hand.press()


@pytest.mark.anyio
async def test_keys_count_in_their_order_however_many_come_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon")
        await at_once(hand, *"theme licht", *["backspace"] * 3, *"ght", "enter", "5")
        await until(hand.pilot, lambda: hand.place == "tasks")
        assert hand.app.theme == "quarterdeck-light"
        await hand.press("colon")
        await at_once(hand, *"theme da", "tab", "enter")
        assert hand.app.theme == "quarterdeck"


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("keys", "pages"),
    [
        (("down", "enter", "d"), ["AgentScreen", "DescribeScreen"]),
        (("down", "down", "enter", "y", "escape", "escape", "5", "enter", "y"), ["TaskScreen", "RawScreen"]),
        (("enter", "escape", "colon", *"agents", "enter", "enter", "d"), ["AgentScreen", "DescribeScreen"]),
        (("down", "down", "enter", "7"), []),
        (("6", "enter", "y"), ["EventScreen", "RawScreen"]),
    ],
)  # fmt: skip
async def test_what_comes_behind_enter_is_for_the_page_that_it_opens(
    keys: tuple[str, ...], pages: list[str], tmp_path: Path
) -> None:
    async with opened(tmp_path) as hand:
        await at_once(hand, *keys)

        def opened_pages() -> list[str]:
            return [type(one).__name__ for one in hand.app.screen_stack if isinstance(one, Frame) and not one.PLACE]

        await until(hand.pilot, lambda: opened_pages() == pages)


@pytest.mark.anyio
async def test_letters_keep_their_order_while_the_line_for_them_opens(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        text = "metrician"
        for among in range(len(text)):
            for place, key in enumerate("/" + text):
                hand.app.post_message(Key(_character_to_key(key), key))
                if place >= among:  # some are on their way to the table already, some are not
                    await asyncio.sleep(0)
            for _ in text:
                await hand.press()
            await until(hand.pilot, lambda: len(hand.app.screen.query_one(Prompt).text) == len(text))
            assert hand.app.screen.query_one(Prompt).text == text, among
            await hand.press("escape")


@pytest.mark.anyio
@pytest.mark.parametrize("kind", [LineInput, TextBox, YamlArea])
async def test_what_is_pasted_where_one_types_is_in_it_once(
    tmp_path: Path, kind: type[LineInput | TextBox | YamlArea]
) -> None:
    async with opened(tmp_path) as hand:
        widget = kind("", id="typed")
        await hand.app.screen.mount(widget)
        widget.focus()
        await until(hand.pilot, lambda: hand.app.focused is widget)

        hand.app.post_message(Paste("scout"))
        hand.app.post_message(Key("exclamation_mark", "!"))

        await until(hand.pilot, lambda: "!" in held(widget))
        assert held(widget) == "scout!"


def held(widget: Widget) -> str:
    return widget.value if isinstance(widget, Input) else widget.text if isinstance(widget, TextArea) else ""


@pytest.mark.anyio
@pytest.mark.parametrize("between", range(8))
async def test_what_is_pasted_while_the_line_for_it_opens_is_in_it(tmp_path: Path, between: int) -> None:
    async with opened(tmp_path) as hand:
        hand.app.post_message(Key("slash", "/"))
        for _ in range(between):
            await asyncio.sleep(0)
        hand.app.post_message(Paste("scout"))

        await until(hand.pilot, lambda: hand.app.screen.query_one(Prompt).text == "scout")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("line", "key", "place"),
    [
        (":priority r9 2", "0", "agents"),
        (":agents", "5", "tasks"),
        (":at 60", "0", "agents"),
        ("/scout", "0", "agents"),
    ],
)
async def test_what_follows_a_line_that_came_whole_is_for_the_screen(
    tmp_path: Path, line: str, key: str, place: str
) -> None:
    async with opened(tmp_path) as hand:
        await at_once(hand, *line, "enter", key)
        await until(hand.pilot, lambda: hand.place == place)
        assert not hand.app.screen.query_one(Prompt).is_open


@pytest.mark.anyio
async def test_a_line_that_came_whole_is_mended_and_completed_in_its_order(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await at_once(
            hand, *":theme cntr", *["backspace"] * 3, *"on", "tab", "enter", *":theme li", "tab", "enter", "5"
        )
        await until(hand.pilot, lambda: hand.place == "tasks")
        assert hand.app.theme == "quarterdeck-light"


@pytest.mark.anyio
async def test_what_is_typed_behind_a_field_is_for_the_next_one_and_what_is_typed_behind_a_dialog_for_the_screen(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("n")
        await at_once(hand, *"audit ast", *["backspace"] * 3, *"csv", "enter", "5")
        assert isinstance(hand.ordered, Submit)
        assert hand.ordered.request == "audit csv"
        assert hand.place == "tasks"


@pytest.mark.anyio
async def test_a_text_of_several_lines_is_sent_with_all_that_was_typed_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "j", "j", "e")
        await at_once(hand, "ctrl+end", *"weight: 9", "backspace", "2", "enter", *"timeout_s: 7", "left", "1")
        assert hand.app.screen.query_one(YamlArea).text.endswith("weight: 2\ntimeout_s: 17")
        await at_once(hand, *"5", "ctrl+s")
        assert isinstance(hand.ordered, SwapAgent)
        assert hand.ordered.spec is not None
        assert hand.ordered.spec.timeout_s == 157.0
