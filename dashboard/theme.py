"""The colours: one accent, one for each state, and nothing else."""

from textual.theme import Theme

_COLOURS = {
    "primary": ("#7fb4e0", "#1f5f99"),
    "secondary": ("#5b7fa3", "#5b7fa3"),
    "accent": ("#7fb4e0", "#1f5f99"),
    "foreground": ("#c8d0d9", "#2a333d"),
    "background": ("#0f141a", "#fbfbf9"),
    "surface": ("#131a22", "#f4f4f0"),
    "panel": ("#1b2530", "#e8eaec"),
    "success": ("#8abf8a", "#2c7a3d"),
    "warning": ("#dcb15f", "#93650b"),
    "error": ("#ee6a5f", "#bb2a1f"),
}
"""Each in the dark theme, then in the light one."""
_VARIABLES = {
    "tone-accent": ("#7fb4e0", "#1f5f99"),
    "tone-attention": ("#ee6a5f", "#bb2a1f"),
    "tone-strong": ("#eef2f6", "#0c1116"),
    "tone-muted": ("#8494a5", "#5d6a77"),
    "tone-faint": ("#4e5c6b", "#a3adb7"),
    "tone-busy": ("#8fce96", "#1f7a36"),
    "tone-done": ("#6f9c78", "#5b8464"),
    "tone-idle": ("#76869a", "#75828f"),
    "tone-waiting": ("#8fa3bb", "#56697e"),
    "tone-draining": ("#dcb15f", "#93650b"),
    "tone-paused": ("#b3a1e6", "#6a4fb5"),
    "tone-stopped": ("#66737f", "#87919b"),
    "tone-error": ("#ee6a5f", "#bb2a1f"),
    "tone-tool": ("#9cc4e8", "#2c6291"),
    "tone-warn": ("#d9907f", "#a8503f"),
    "selected": ("#22384d", "#d5e4f2"),
    "selected-away": ("#1a2530", "#e9eef3"),
    "fresh": ("#ffffff", "#000000"),
    "block-cursor-background": ("#7fb4e0", "#1f5f99"),
    "block-cursor-foreground": ("#0f141a", "#ffffff"),
    "footer-key-foreground": ("#7fb4e0", "#1f5f99"),
    "scrollbar": ("#2a3744", "#cfd5da"),
    "scrollbar-hover": ("#3b4d5f", "#b5bec6"),
    "scrollbar-active": ("#7fb4e0", "#1f5f99"),
    "scrollbar-background": ("#0f141a", "#fbfbf9"),
    "scrollbar-background-hover": ("#0f141a", "#fbfbf9"),
    "scrollbar-background-active": ("#0f141a", "#fbfbf9"),
    "scrollbar-corner-color": ("#0f141a", "#fbfbf9"),
}


def _theme(name: str, *, dark: bool) -> Theme:
    colours, variables = (
        {key: pair[0 if dark else 1] for key, pair in table.items()} for table in (_COLOURS, _VARIABLES)
    )
    return Theme(name=name, dark=dark, variables=variables, **colours)  # type: ignore[arg-type]


DARK = _theme("quarterdeck", dark=True)
LIGHT = _theme("quarterdeck-light", dark=False)
THEMES = (DARK, LIGHT)
