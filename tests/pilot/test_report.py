"""Markdown of a report: as many lines as it needs, and no colours that stand for failures."""

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.color import Color

from dashboard.user.theme import THEMES
from dashboard.widgets.report import Report
from dashboard.widgets.report_table import MIN_COLUMN_WIDTH, ReportTable, fit_widths
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio

TEXT = "Read `odd/hazards.py`\n\n| file | lines |\n|---|---|\n| a.py | 1 |\n| b.py | 2 |\n"


class ReportApp(App[None]):
    """A report and nothing else."""

    def __init__(self, *, dark: bool) -> None:
        self._own = THEMES["dark" if dark else "light"]
        super().__init__()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return self._own.variables

    def compose(self) -> ComposeResult:
        self.register_theme(self._own)
        self.theme = self._own.name
        yield Report(id="report")


@pytest.mark.parametrize("dark", [True, False])
async def test_a_table_takes_a_line_a_row_and_code_has_the_colour_of_tools(*, dark: bool) -> None:
    app = ReportApp(dark=dark)
    async with app.run_test(size=(80, 24)) as pilot:
        report = app.query_one(Report)
        report.show(TEXT)
        await app.workers.wait_for_complete()
        with anyio.fail_after(PATIENCE_S):
            while not (height := app.query_one(ReportTable).size.height):
                await pilot.pause()

        assert height == 4  # the headings, a line below them, two rows
        block = report.query("MarkdownParagraph").first()
        tool = Color.parse(app.theme_variables["tone-tool"])
        assert block.get_component_styles("code_inline").color == tool


async def test_a_table_is_one_widget_and_its_cells_wrap_in_their_columns() -> None:
    words = "many words of a finding that do not fit into one line of such a narrow window"
    app = ReportApp(dark=True)
    async with app.run_test(size=(50, 24)) as pilot:
        report = app.query_one(Report)
        report.show(f"| file | lines | about |\n|---|---:|---|\n| `a.py` | 7 | {words} |\n| b.py | 1,200 | short |\n")
        await app.workers.wait_for_complete()
        with anyio.fail_after(PATIENCE_S):
            while not app.query_one(ReportTable).size.height:
                await pilot.pause()
        shown = [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]

        assert not app.query_one(ReportTable).children
        assert shown[0] == "  file  lines  about"
        assert shown[2].startswith("  a.py      7  many words of a finding")
        assert shown[3].startswith(" " * 15)
        assert "  b.py  1,200  short" in shown
        assert " ".join(" ".join(line[15:] for line in shown[2:]).split()).startswith(words)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=8), st.integers(0, 120))
def test_the_widest_columns_give_way_and_none_more_than_it_has_to(needs: list[int], room: int) -> None:
    widths = fit_widths(needs, room)

    assert all(min(need, MIN_COLUMN_WIDTH) <= width <= need for need, width in zip(needs, widths, strict=True))
    assert sum(widths) <= max(room, sum(min(need, MIN_COLUMN_WIDTH) for need in needs))
    cut = [width for need, width in zip(needs, widths, strict=True) if width < need]
    assert all(width >= max(cut) - 1 for width in cut)
    assert not cut or all(width <= max(cut) + 1 for width in widths)
