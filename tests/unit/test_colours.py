"""The colour sets, computed: what can be read, and which states people tell apart who see fewer colours.

Sources: G. M. Machado, M. M. Oliveira, L. A. F. Fernandes, "A Physiologically-based Model for Simulation of Color
Vision Deficiency", IEEE TVCG 15(6), 2009, severity 1.0; CIE 142-2001 (ΔE 2000); WCAG 2.1 (contrast ratio).
"""

from itertools import combinations
from math import atan2, cos, degrees, dist, exp, hypot, radians, sin, sqrt

import pytest
from rich.color import Color, ColorSystem
from rich.terminal_theme import TerminalTheme

from dashboard.user.theme import NAMES, THEMES, coarse

EYES = {
    "usual": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.01182, 0.04294, 0.968881)),
    "no blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.3039)),
}
TERMINAL = TerminalTheme(
    (0, 0, 0), (170, 170, 170),
    [(0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170), (170, 170, 170)],
    [(85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255), (255, 85, 255), (85, 255, 255),
     (255, 255, 255)],
)  # fmt: skip
"""The 16 colours of the console of Linux."""
STATES = ("busy", "done", "waiting", "idle", "paused", "draining", "error", "attention")
CALM = ("idle", "draining")
"""States that are dim on the row of the cursor: there their glyph and word tell them."""
Lab = tuple[float, float, float]


def linear(colour: str) -> list[float]:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in shares]


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, eye: str) -> Lab:
    """Return a colour as somebody sees it, in CIELAB."""
    rgb = linear(colour)
    red, green, blue = (min(1.0, max(0.0, sum(a * b for a, b in zip(row, rgb, strict=True)))) for row in EYES[eye])
    xyz = (
        (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047,
        0.2126729 * red + 0.7151522 * green + 0.072175 * blue,
        (0.0193339 * red + 0.119192 * green + 0.9503041 * blue) / 1.08883,
    )
    x, y, z = (one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116 for one in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one: Lab, other: Lab) -> float:
    """Return ΔE 2000."""
    mean = (hypot(*one[1:]) + hypot(*other[1:])) / 2
    more = 1.5 - 0.5 * sqrt(mean**7 / (mean**7 + 25**7))
    (c1, h1), (c2, h2) = ((hypot(a * more, b), degrees(atan2(b, a * more)) % 360) for _, a, b in (one, other))
    turn = (h2 - h1 + 180) % 360 - 180 if c1 * c2 else 0.0
    hue = h1 + h2 if not c1 * c2 else (h1 + turn / 2) % 360
    light, chroma = (one[0] + other[0]) / 2, (c1 + c2) / 2
    shape = (
        1
        - 0.17 * cos(radians(hue - 30))
        + 0.24 * cos(radians(2 * hue))
        + 0.32 * cos(radians(3 * hue + 6))
        - 0.2 * cos(radians(4 * hue - 63))
    )
    by_light = (other[0] - one[0]) / (1 + 0.015 * (light - 50) ** 2 / sqrt(20 + (light - 50) ** 2))
    by_chroma = (c2 - c1) / (1 + 0.045 * chroma)
    by_hue = 2 * sqrt(c1 * c2) * sin(radians(turn / 2)) / (1 + 0.015 * chroma * shape)
    twist = -2 * sqrt(chroma**7 / (chroma**7 + 25**7)) * sin(radians(60 * exp(-(((hue - 275) / 25) ** 2))))
    return sqrt(by_light**2 + by_chroma**2 + by_hue**2 + twist * by_chroma * by_hue)


def tone(theme: str, name: str) -> str:
    return THEMES[theme].variables[f"tone-{name}"]


def test_the_difference_is_that_of_the_published_test_data() -> None:
    # G. Sharma, W. Wu, E. N. Dalal, 2005, table 1, pairs 1, 7, 13 and 25.
    assert difference((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert difference((50, 0, 0), (50, -1, 2)) == pytest.approx(2.3669, abs=1e-4)
    assert difference((50, -0.001, 2.49), (50, 0.0009, -2.49)) == pytest.approx(4.8045, abs=1e-4)
    assert difference((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387)) == pytest.approx(1.2644, abs=1e-4)


@pytest.mark.parametrize("theme", NAMES)
def test_busy_and_failed_differ_for_every_eye(theme: str) -> None:
    for eye in EYES:
        apart = dist(seen(tone(theme, "busy"), eye), seen(tone(theme, "error"), eye))
        assert apart >= 25, (eye, apart)


def test_every_two_states_of_the_colour_blind_set_differ_for_every_eye() -> None:
    for eye in EYES:
        for one, other in combinations(STATES, 2):
            apart = difference(seen(tone("colorblind", one), eye), seen(tone("colorblind", other), eye))
            assert apart >= 13, (eye, one, other, apart)


@pytest.mark.parametrize("theme", NAMES)
def test_states_and_text_can_be_read_on_the_background(theme: str) -> None:
    ground = THEMES[theme].background
    assert ground is not None
    least = 9 if theme == "contrast" else 4.5
    for name in (*STATES, "stopped", "accent", "tool", "past", "faint"):
        assert contrast(tone(theme, name), ground) >= least, name
    for name in ("muted", "strong"):
        assert contrast(tone(theme, name), ground) >= 5, name
    assert contrast(str(THEMES[theme].foreground), ground) >= 12


@pytest.mark.parametrize("theme", NAMES)
def test_text_can_be_read_on_the_row_of_the_cursor_and_on_badges(theme: str) -> None:
    variables = THEMES[theme].variables
    for ground in ("selected", "selected-away"):
        assert contrast(str(THEMES[theme].foreground), variables[ground]) >= 7, ground
        for name in ("muted", *STATES, "accent", "tool", "strong"):
            assert contrast(tone(theme, name), variables[ground]) >= (3 if name in CALM else 4.5), (ground, name)
        assert contrast(tone(theme, "faint"), variables[ground]) >= 3, ground
    for badge in ("badge", "past-badge"):
        assert contrast(variables[f"tone-{badge}"], variables[f"ground-{badge}"]) >= 4.5, badge


@pytest.mark.parametrize("name", NAMES)
def test_bars_rows_and_the_past_differ_in_256_colours(name: str) -> None:
    theme = coarse(THEMES[name], "256")
    grounds = [theme.background, theme.panel, theme.variables["selected"], theme.variables["past-bar"]]
    shown = [Color.parse(str(one)).downgrade(ColorSystem.EIGHT_BIT).number for one in grounds]
    if name == "contrast":
        shown.remove(shown[1])  # its bars are black

    assert len(set(shown)) == len(shown)


@pytest.mark.parametrize("name", ["dark", "colorblind"])
def test_states_that_are_more_than_calm_differ_in_16_colours(name: str) -> None:
    theme = coarse(THEMES[name], "standard")
    told = ("busy", "done", "paused", "draining", "error", "attention")
    shown = {one: Color.parse(theme.variables[f"tone-{one}"]).downgrade(ColorSystem.STANDARD).number for one in told}

    assert len(set(shown.values())) == len(told), shown
    assert not {0, 7, 8, 15}.intersection(shown.values()), "black, greys and white tell no state"


@pytest.mark.parametrize("few", ["256", "standard"])
@pytest.mark.parametrize("name", ["dark", "contrast", "colorblind"])
def test_what_is_quiet_can_be_read_in_few_colours(name: str, few: str) -> None:
    theme = coarse(THEMES[name], few)
    system = ColorSystem.EIGHT_BIT if few == "256" else ColorSystem.STANDARD

    def shown(colour: str) -> str:
        return str(Color.parse(colour).downgrade(system).get_truecolor(TERMINAL).hex)

    grounds = [str(theme.background), str(theme.panel), theme.variables["selected"], theme.variables["past-bar"]]
    grounds += [theme.variables["selected-away"]] if few == "standard" else []
    for tone in ("muted", "faint", "idle", "stopped", "waiting", "busy", "attention", "past", "strong"):
        for ground in grounds:
            said = contrast(shown(theme.variables[f"tone-{tone}"]), shown(ground))
            assert said >= 4, (tone, ground, said)
