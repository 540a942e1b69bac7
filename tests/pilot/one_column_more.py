"""Where a column is seen that one line of its list declares; `test_one_column_more` runs this where that line is."""

from pathlib import Path

import pytest

from dashboard.views.drawing.sorting import DOWN
from dashboard.widgets.bar import Bar
from dashboard.widgets.table import HEADINGS
from tests.databases import write_database
from tests.pilot.hand import opened
from tests.pilot.scene import audit
from tests.runtime.shell import shell_on

pytestmark = pytest.mark.anyio


async def test_it_stands_on_the_screen_sorts_the_rows_and_is_explained(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(160, 200)) as hand:
        await hand.press("0")
        place = hand.line(0).index("LETTERS")
        await hand.pilot.click(hand.table, offset=(place, 0))
        await hand.press()

        assert f"{DOWN}LETTERS" in hand.line(0)
        assert hand.line(HEADINGS).split()[0] == "scout-thorough"
        assert "sorted: letters" in hand.app.screen.query_one("#tabs", Bar).text
        await hand.press("question_mark")
        assert "how many letters a name has" in hand.told("details")


def test_it_stands_in_the_table_of_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = shell_on(write_database(tmp_path / "team.db", audit().journal), capsys)("agents")
    assert (status, err) == (0, "")
    heads, first, *_ = out.splitlines()
    end = heads.index("LETTERS") + len("LETTERS")

    assert (first.split()[0], first[:end].split()[-1]) == ("planner", "7")
