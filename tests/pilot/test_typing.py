"""Where people type, what was pasted or stood there already is drawn as text, in the cells that it takes."""

import ast
from collections.abc import Iterable
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.strip import Strip
from textual.widget import Widget
from wcwidth import wcswidth

from dashboard.clean import MARKS
from dashboard.widgets.typing import TextBox, TextLine
from dashboard.widgets.yaml_area import YamlArea
from tests.pilot.poison import KINDS, hostile
from tests.pilot.test_hostile_terminal import strange

DASHBOARD = Path(__file__).resolve().parents[2] / "dashboard"


class Typing(App[None]):
    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield TextLine(self._text, id="line")
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
        assert app.query_one(TextLine).value == text


@pytest.mark.anyio
async def test_letters_of_languages_are_drawn_as_they_are() -> None:
    text = "é " + "e\u0301" * MARKS + " שלום 漢字 ok"
    app = Typing(text)
    async with app.run_test(size=(200, 40)) as pilot:
        await pilot.pause()
        assert text in app.query_one(TextLine).render_line(0).text


@pytest.mark.parametrize(
    "path", sorted(DASHBOARD.rglob("*.py")), ids=lambda path: path.relative_to(DASHBOARD).as_posix()
)
def test_no_line_for_typing_is_made_without(path: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]

    assert not [one.id for one in calls if isinstance(one, ast.Name) and one.id in ("Input", "TextArea")]
