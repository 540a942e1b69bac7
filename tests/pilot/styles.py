"""Style sheets that are parsed once in a process: every test opens an app, and each app would parse the same ones."""

from typing import Any, TypeAlias

import pytest
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

Parsed: TypeAlias = dict[tuple[object, ...], list[RuleSet]]


def share_parsed_styles(patch: pytest.MonkeyPatch) -> None:
    """Let the style sheets of this process share what they parsed, by everything that parsing depends on."""
    parsed: Parsed = {}
    parse: Any = Stylesheet._parse_rules

    def parse_once(
        sheet: Stylesheet,
        css: str,
        read_from: tuple[str, str],
        is_default_rules: bool = False,
        tie_breaker: int = 0,
        scope: str = "",
    ) -> list[RuleSet]:
        key = (css, read_from, is_default_rules, tie_breaker, scope, tuple(sheet._variables.items()))
        if key not in parsed:
            parsed[key] = parse(sheet, css, read_from, is_default_rules, tie_breaker, scope)
        return parsed[key]

    patch.setattr(Stylesheet, "_parse_rules", parse_once)
