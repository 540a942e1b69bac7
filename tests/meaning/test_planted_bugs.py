"""The laws of this folder are tested themselves: bugs are planted one at a time, and the law for it notices each."""

import tomllib
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.simulation.planted.planting import rewrite

BUGS: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("planted.toml").read_text(encoding="utf-8"))
EXAMPLES = 60
"""In how many examples a bug may hide."""


@pytest.mark.parametrize("what", BUGS)
def test_each_planted_bug_is_noticed(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bug = BUGS[what]
    module, _, name = bug["test"].partition(":")
    law = getattr(import_module(f"tests.meaning.{module}"), name)
    same = settings(
        max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, phases=[Phase.explicit, Phase.generate],
        report_multiple_bugs=False,
    )  # fmt: skip
    monkeypatch.setattr(law, "_hypothesis_internal_use_settings", same)
    where, _, path = bug["in"].partition(":")
    rewrite(monkeypatch, attrgetter(path)(import_module(where)), bug["old"], bug["new"])

    with pytest.raises((AssertionError, ExceptionGroup)):
        law()
