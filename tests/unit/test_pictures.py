"""Pictures of the documents: they fetch nothing, and only lines of what the screen shows anew differ."""

import io
import re

import pytest
from rich.console import Console

from screenshots.picture import standing_alone


def exported(*rows: str) -> str:
    """A picture as the exporter of Rich and Textual makes it."""
    console = Console(record=True, width=40, file=io.StringIO())
    for row in rows:
        console.print(row, highlight=False)
    return console.export_svg(title="quarterdeck demo")


def test_of_two_pictures_only_the_line_differs_that_the_screen_shows_anew() -> None:
    before, after = exported("scout at work", "writer idle"), exported("scout at work", "writer busy")
    assert set(re.findall(r"terminal-\d+", before)).isdisjoint(re.findall(r"terminal-\d+", after))

    lines = [standing_alone(svg, "agents", "no folder").splitlines() for svg in (before, after)]

    changed = [pair for pair in zip(*lines, strict=True) if pair[0] != pair[1]]
    assert [[word in line for line in pair] for pair in changed for word in ("idle", "busy")] == [
        [True, False],
        [False, True],
    ]


def test_each_id_and_class_of_a_picture_begins_with_its_name() -> None:
    svg = standing_alone(exported("scout at work", "writer idle"), "network-80x24", "no folder")

    ids = re.findall(r'id="([^"]+)"', svg)
    used = re.findall(r'url\(#([^)]+)\)|class="([\w-]+-r\d+)"', svg)
    assert len(ids) == len(set(ids)) > 1
    assert {name.rpartition("-r")[0] for _, name in used if name} == {"network-80x24"}
    assert [
        name for name in (*ids, *filter(None, (url for url, _ in used))) if not name.startswith("network-80x24-")
    ] == []


def test_a_picture_fetches_nothing_and_shows_a_home_in_place_of_the_folder_of_the_team() -> None:
    svg = standing_alone(exported("in /tmp/abcdefghijkl now"), "agents", "/tmp/abcdefghijkl")

    assert "//" not in svg.replace("http://www.w3.org/", "")
    assert "~/quarterdeck" in svg
    assert "abcdefghijkl" not in svg


def test_a_picture_that_would_fetch_something_is_refused() -> None:
    with pytest.raises(ValueError, match="@import"):
        standing_alone("<svg><style>@import 'x';</style></svg>", "agents", "no folder")
