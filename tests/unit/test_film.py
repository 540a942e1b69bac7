"""Recordings of the dashboard as an SVG that moves: each line is seen exactly as long as it was on the screen."""

import re

from hypothesis import given
from hypothesis import strategies as st

from screenshots.film import Frame, film

ROWS = 3
HEIGHT = 41 + ROWS * 24.4


def terminal(rows: list[str]) -> str:
    """A picture as Textual exports it, of rows that are one word each."""
    texts = "".join(
        f'<text class="t-r1" x="0" y="{20 + 24.4 * row:g}" textLength="12">{word}</text>'
        for row, word in enumerate(rows)
        if word
    )
    return (
        f'<svg viewBox="0 0 100 {HEIGHT:g}" xmlns="http://www.w3.org/2000/svg"><style>.t-r1 {{ fill: #fff }}</style>'
        f'<rect fill="#292929" x="1" y="1" width="98" height="40"/>'
        f'<g transform="translate(9, 41)"><g class="t-matrix">{texts}</g></g></svg>'
    )


def seen(svg: str, at_s: float) -> list[str]:
    """What a browser shows at a time: every group whose last step of the animation by then is visible."""
    whole = {name: float(length) for name, length in re.findall(r"\.(s\d+-\d+)\{animation:\S+ ([\d.]+)s", svg)}
    steps = {
        name: [(float(share), how) for share, how in re.findall(r"([\d.]+)%\{visibility:(\w+)\}", body)]
        for name, body in re.findall(r"@keyframes (s\d+-\d+)\{((?:[^{}]*\{[^{}]*\})*)\}", svg)
    }
    words = []
    for name, body in re.findall(r'<g class="(s\d+-\d+)">(.*?)</g>', svg):
        now = [how for share, how in steps.get(name, [(0.0, "visible")]) if share * whole.get(name, 1) / 100 <= at_s]
        if now[-1] == "visible":
            words += re.findall(r">([^<]+)</text>", body)
    return words


@given(st.lists(st.lists(st.sampled_from(["", "one", "two", "three"]), min_size=ROWS, max_size=ROWS), min_size=1))
def test_at_any_time_a_recording_shows_the_frame_of_then_and_nothing_else(screens: list[list[str]]) -> None:
    frames = [Frame(terminal(rows), f"step {number // 2}", 1.0) for number, rows in enumerate(screens)]
    svg = film(frames, fonts="monospace")

    for number, rows in enumerate(screens):
        assert seen(svg, number + 0.5) == [*(word for word in rows if word), f"step {number // 2}"]


def test_a_line_that_stays_is_drawn_once_and_text_cannot_become_markup() -> None:
    rows = ["&lt;b&gt;", "stays", ""]
    svg = film(
        [Frame(terminal(rows), "a < b", 1.0), Frame(terminal([*rows[:2], "new"]), "a < b", 1.0)], fonts="monospace"
    )

    assert svg.count(">stays<") == 1
    assert svg.count("&lt;b&gt;") == 1
    assert svg.count(">a &lt; b<") == 1
