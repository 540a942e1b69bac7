"""No screen of a small team leaves much of its body blank while text on it is cut."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.frame.frame import Frame
from tests.pilot.hand import Hand, opened
from tests.pilot.scene import audit
from tests.pilot.talking import talking
from tests.pilot.trouble import trouble
from tests.world import World

pytestmark = pytest.mark.anyio

CUT = re.compile(r"(\S[^│]{0,11}\S)…(?:\s|$)")
MAX_BLANK = 0.4
"""Largest share of blank lines below the last text, where text is cut."""
WORLDS: dict[str, Callable[[], World]] = {"talking": lambda: talking()[0], "trouble": trouble, "audit": audit}
PLACES = ("costs", "audit", "teams", "engines", "log")
"""Screens that are opened by their name."""
SCREENS = {key: (key,) for key in "1234567890"} | {
    "supervisor": ("1", "enter"),
    "agent": ("0", "enter"),
    "task": ("5", "enter"),
    "run": ("7", "enter"),
    **{place: (":", *place, "enter") for place in PLACES},
}


def body_of(hand: Hand) -> list[str]:
    """Return the lines between the tabs and the time bar."""
    screen = hand.app.screen
    assert isinstance(screen, Frame)
    lines = ["".join(segment.text for segment in strip) for strip in screen._compositor.render_strips()]
    bottom = next(y for y, line in enumerate(lines) if "◆ swap" in line or " LIVE ▕" in line)
    return lines[3:bottom]


def blank_share(body: list[str]) -> float:
    filled = [y for y, line in enumerate(body) if line.strip(" │▕▏▁▂▃▄▅▆▇█")]
    return 1 - (filled[-1] + 1) / len(body) if filled else 1.0


def cut_texts(body: list[str]) -> list[str]:
    """Return the ends of texts that are cut and stand nowhere whole, as in the pane about their row."""
    whole = " ".join(" ".join(body).split())
    ends = [" ".join(match[1].split()) for line in body for match in CUT.finditer(line)]
    return [end for end in ends if not re.search(re.escape(end) + "(?!…)", whole)]


@pytest.mark.parametrize("size", [(120, 40), (200, 60)], ids=["120x40", "200x60"])
@pytest.mark.parametrize("world", WORLDS)
async def test_room_below_the_last_text_is_used_before_text_is_cut(
    tmp_path: Path, world: str, size: tuple[int, int]
) -> None:
    wasted = {}
    async with opened(tmp_path, work=WORLDS[world](), size=size) as hand:
        for name, keys in SCREENS.items():
            await hand.press(*keys)
            assert name not in PLACES or hand.place == name
            body = body_of(hand)
            share = blank_share(body)
            cut = cut_texts(body)
            if share > MAX_BLANK and cut:
                wasted[name] = f"{share:.0%} blank, cut: {cut}"
            while isinstance(hand.app.screen, Frame) and not hand.place:
                await hand.press("escape")

    assert wasted == {}
