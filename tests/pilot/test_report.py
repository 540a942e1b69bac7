"""Markdown of a report: as many lines as it needs, and no colours that stand for failures."""

import anyio
import pytest
from textual.app import App, ComposeResult
from textual.color import Color

from dashboard.theme import THEMES
from dashboard.widgets.report import Report
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
            while not (height := app.query_one("MarkdownTableContent").size.height):
                await pilot.pause()

        assert height == 4  # the headings, a line below them, two rows
        block = report.query("MarkdownParagraph").first()
        tool = Color.parse(app.theme_variables["tone-tool"])
        assert block.get_component_styles("code_inline").color == tool
