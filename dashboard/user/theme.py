"""The colours: one accent and one per state, in a dark, a light, a high-contrast and a colour-blind set.

A state always has a glyph and a word, too, so that colour is never needed. Busy and failed are bluish green and
vermilion, which people without red or green vision can distinguish. In the colour-blind set any two states are
distinguishable, also without blue vision; tests/unit/test_colours.py computes it.
"""

from dataclasses import replace
from typing import Any

from textual.app import App
from textual.theme import Theme

NAMES = ("dark", "light", "contrast", "colorblind")
_BACKGROUND = ("#0e131a", "#fcfcfa", "#000000")
_RAISED = ("#141b24", "#f4f5f3", "#000000")
_BAR = ("#1a2430", "#e9ecef", "#000000")
_ACCENT = ("#78b7f2", "#0b5cad", "#6fd3ff")
_COLOURS = {
    "primary": _ACCENT,
    "secondary": ("#42536a", "#a9b5c0", "#b0b0b0"),
    "accent": _ACCENT,
    "foreground": ("#c9d3de", "#27313b", "#ffffff"),
    "background": _BACKGROUND,
    "surface": _RAISED,
    "panel": _BAR,
    "success": ("#53d3b6", "#006b5e", "#3dffd2"),
    "warning": ("#dd9a3c", "#8f5b00", "#ffb02e"),
    "error": ("#ff7a66", "#b3261e", "#ff8f7d"),
}
"""Colours in the dark, the light and the high-contrast set."""
_TONES = {
    "accent": _ACCENT,
    "attention": ("#ffd75e", "#6b4700", "#ffee58"),
    "strong": ("#f1f5f9", "#070b0f", "#ffffff"),
    "muted": ("#8b9aab", "#55636f", "#d6d6d6"),
    "faint": ("#6f7f90", "#66737e", "#b0b0b0"),
    "line": ("#2f3d4c", "#cdd4da", "#9a9a9a"),
    "guide": ("#42536a", "#a9b5c0", "#b0b0b0"),
    "busy": ("#53d3b6", "#006b5e", "#3dffd2"),
    "busy-before": ("#3fae97", "#2b9184", "#2cc4a2"),
    "done": ("#5aa892", "#3d7268", "#7cc9b6"),
    "waiting": ("#8ea6c4", "#4c6480", "#c9d8ff"),
    "idle": ("#6f7f90", "#66737e", "#c0c0c0"),
    "paused": ("#dca6e0", "#8b2fa0", "#ffb3f0"),
    "draining": ("#dd9a3c", "#8f5b00", "#ffb02e"),
    "stopped": ("#6f7f90", "#66737e", "#c0c0c0"),
    "error": ("#ff7a66", "#b3261e", "#ff8f7d"),
    "warn": ("#ff7a66", "#b3261e", "#ff8f7d"),
    "tool": ("#9cc4e8", "#2c6291", "#9fe0ff"),
    "past": ("#c792ea", "#7a2ea0", "#f0b6ff"),
    "heat-5": ("#eafff9", "#003d35", "#ffffff"),
    "heat-4": ("#53d3b6", "#00796b", "#3dffd2"),
    "heat-3": ("#3a9c89", "#4aa79a", "#2cc4a2"),
    "heat-2": ("#2f6f66", "#8cc6bd", "#4f9c8c"),
    "heat-1": ("#2f4a52", "#bcd9d5", "#7f8f8c"),
    "plot-low": ("#2c6d8f", "#9fcbe0", "#2f8fc0"),
    "plot-mid": ("#3f93b5", "#5aa7c9", "#4fb4e6"),
    "plot-high": ("#62bedb", "#1f7fa8", "#86d7ff"),
    "plot-p95": ("#e0a94e", "#8a5a00", "#ffc84a"),
}
"""Foreground colours by style name."""
_GROUNDS = {
    "badge": (("#1b1500", "#ffd75e"), ("#201800", "#ffd24a"), ("#000000", "#ffee58")),
    "past-badge": (("#0e131a", "#c792ea"), ("#fcfcfa", "#7a2ea0"), ("#000000", "#f0b6ff")),
    "tab": tuple((strong, ground) for strong, ground in zip(_TONES["strong"], _BACKGROUND, strict=True)),
}
"""Foreground and background of badges, and of the tab of the current screen."""
_VARIABLES = {
    "selected": ("#1d3348", "#dcebfa", "#003a90"),
    "selected-away": ("#1a2a3a", "#e4edf5", "#002a6a"),
    "fresh": ("#ffffff", "#000000", "#ffffff"),
    "past-bar": ("#2a1f3a", "#f1e6f8", "#3a0050"),
    "block-cursor-background": _ACCENT,
    "block-cursor-foreground": ("#0e131a", "#ffffff", "#000000"),
    "footer-key-foreground": _ACCENT,
    "scrollbar": ("#2f3d4c", "#cdd4da", "#9a9a9a"),
    "scrollbar-hover": ("#42536a", "#a9b5c0", "#b0b0b0"),
    "scrollbar-active": _ACCENT,
    "scrollbar-background": _BACKGROUND,
    "scrollbar-background-hover": _BACKGROUND,
    "scrollbar-background-active": _BACKGROUND,
    "scrollbar-corner-color": _BACKGROUND,
}


_COLOURBLIND = {
    "attention": "#ffe624",
    "busy": "#5ce2b5",
    "busy-before": "#45ad8b",
    "done": "#5caa96",
    "waiting": "#9595ff",
    "idle": "#6f8193",
    "paused": "#f3b4e7",
    "draining": "#a87a22",
    "stopped": "#6f8193",
    "error": "#ff9066",
    "warn": "#ff9066",
}
"""Changes of the dark set, so that any two states differ by at least ΔE 13 for every kind of colour vision."""


def _theme(place: int) -> Theme:
    colours = {key: shades[place] for key, shades in _COLOURS.items()}
    variables = {key: shades[place] for key, shades in _VARIABLES.items()}
    variables |= {f"tone-{key}": shades[place] for key, shades in _TONES.items()}
    for key, sets in _GROUNDS.items():
        variables[f"tone-{key}"], variables[f"ground-{key}"] = sets[place]
    name = "quarterdeck" if place == 0 else f"quarterdeck-{NAMES[place]}"
    return Theme(name=name, dark=place != 1, variables=variables, **colours)  # type: ignore[arg-type]


def _for_the_colour_blind(dark: Theme) -> Theme:
    tones = {f"tone-{key}": colour for key, colour in _COLOURBLIND.items()}
    return replace(
        dark,
        name="quarterdeck-colorblind",
        success=_COLOURBLIND["busy"],
        warning=_COLOURBLIND["draining"],
        error=_COLOURBLIND["error"],
        variables={**dark.variables, **tones, "ground-badge": _COLOURBLIND["attention"]},
    )


_COARSE = {
    "panel": "#262626",
    "selected": "#000087",
    "selected-away": "#303030",
    "tone-muted": "#b2b2b2",
    **dict.fromkeys(("tone-faint", "tone-idle", "tone-stopped"), "#949494"),
    "past-bar": "#5f005f",
    "tone-line": "#444444",
    "tone-guide": "#5f5f5f",
    "scrollbar": "#444444",
    "scrollbar-hover": "#5f5f5f",
}
"""Changes of the dark sets for 256 colours, where the nearest colours are teal, navy and violet.

Muted text stays readable on the background of the cursor.
"""
_BASIC = {
    **dict.fromkeys(("tone-busy", "tone-busy-before", "tone-heat-3", "tone-plot-mid"), "#00aaaa"),
    **dict.fromkeys(("tone-accent", "tone-heat-4", "tone-plot-high"), "#55ffff"),
    **dict.fromkeys(("tone-draining", "tone-plot-p95"), "#aa5500"),
    **dict.fromkeys(("tone-error", "tone-warn"), "#ff5555"),
    "tone-attention": "#ffff55",
    "tone-done": "#00aa00",
    "tone-paused": "#ff55ff",
    "tone-past": "#ff55ff",
    **dict.fromkeys(("tone-muted", "tone-faint", "tone-idle", "tone-stopped", "tone-waiting"), "#aaaaaa"),
    **dict.fromkeys(("selected", "selected-away", "past-bar"), "#0000aa"),
}
"""Further changes for 16 colours, as in the Linux console, where the nearest colour is often grey.

Muted text is light grey, because dark grey is hard to read on black, and unreadable on blue.
"""


def few_colours(app: App[Any]) -> str:
    """Return the colour system of a terminal with few colours, as often over ssh.

    Returns:
        `256`, `standard` for 16, or empty for more colours, none, or a headless app.
    """
    system = None if app.is_headless else app.console.color_system
    return system if system in ("256", "standard") else ""


def coarse(theme: Theme, few: str) -> Theme:
    """Return a theme adapted to few colours."""
    if not theme.dark:
        return theme
    has_bars = theme.panel == DARK.panel  # the contrast set has black bars
    better = _COARSE | (_BASIC if few == "standard" else {}) if has_bars else {"selected": _COARSE["selected"]}
    variables = {key: better.get(key, colour) for key, colour in theme.variables.items()}
    return replace(theme, panel=_COARSE["panel"] if has_bars else theme.panel, variables=variables)


THEMES = {name: _theme(place) for place, name in enumerate(NAMES[:3])}
THEMES["colorblind"] = _for_the_colour_blind(THEMES["dark"])
"""Themes by their names in the settings."""
DARK = THEMES["dark"]
BOLD_TONES = frozenset({"accent", "strong", "attention", *_GROUNDS})
"""Tones that are also bold, for terminals without colours."""
