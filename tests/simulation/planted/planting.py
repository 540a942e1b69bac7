"""How bugs are planted in the program, one at a time, and looked for in histories that one law watches."""

import inspect
import json
import textwrap
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType
from typing import Any, TypeAlias

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import engine
from engine.simulation import history
from engine.simulation.history import run_history
from engine.simulation.laws import LAWS, Law
from engine.simulation.plan import HistoryResult
from engine.simulation.report import plan_of

Patch: TypeAlias = pytest.MonkeyPatch
ENGINE = Path(engine.__file__).parent
SEEDS_FILE = Path(__file__).with_name("seeds.json")
HOURS = 2.0
MOST_SEEDS = 250
"""How many seeds a bug may hide in."""
MOST_EVENTS = 4_000
"""A history of so few hours that has more of them does not come to rest."""


@dataclass(frozen=True, slots=True)
class Bug:
    """Something wrong, and the law that has to say so."""

    what: str
    """In a few words; its name in the tests and in `seeds.json`."""
    law: str
    file: str
    """Where the rule stands that it breaks, below `engine/`."""
    plant: Callable[[Patch], None]


def written(file: Path) -> list[Bug]:
    """Return the bugs of a file: in which function each stands, what is there and what is there instead."""
    return [_written(what, **said) for what, said in tomllib.loads(file.read_text(encoding="utf-8")).items()]


def _written(what: str, *, old: str, new: str, law: str, **where: str) -> Bug:
    module, _, path = where["in"].partition(":")
    function = attrgetter(path)(import_module(module))
    return Bug(what, law, _file(function), lambda patch: rewrite(patch, function, old, new))


def planted(what: str, function: Callable[..., Any], plant: Callable[[Patch], None], law: Law | str) -> Bug:
    """Return a bug that is planted otherwise; `function` says where the rule stands."""
    return Bug(what, law if isinstance(law, str) else law.__name__, _file(function), plant)


def rewrite(patch: Patch, function: Callable[..., Any], old: str, new: str) -> None:
    """Give a function the code of its source with one piece of it changed."""
    source = textwrap.dedent(inspect.getsource(function))
    assert old in source, f"{function.__qualname__} has no {old!r} any more; plant this bug anew"
    module = compile(source.replace(old, new, 1), inspect.getfile(function), "exec")
    (code,) = (one for one in module.co_consts if isinstance(one, CodeType) and one.co_name == function.__name__)
    patch.setattr(function, "__code__", code)


def _file(function: Callable[..., Any]) -> str:
    return Path(inspect.getfile(function)).relative_to(ENGINE).as_posix()


def watch_alone(patch: Patch, law: str) -> None:
    """Let no law be looked at but one, besides what a history itself sees, which gives up sooner."""

    patch.setattr(history, "MAX_EVENTS", MOST_EVENTS)
    for moment, laws in LAWS.items():
        patch.setitem(LAWS, moment, tuple(one for one in laws if one.__name__ == law))


def found(bug: Bug, seeds: Iterable[int]) -> HistoryResult | None:
    """Return the first history in which the law of a planted bug does not hold."""
    for seed in seeds:
        past = run_history(plan_of(seed, None, hours=HOURS), patience_s=5)
        if past.violation is not None and past.violation.law == bug.law:
            return past
    return None


def law_test(law: str) -> Callable[[], None]:
    """Return a law for hypothesis over `st.data()`, as `module:test` below `tests/simulation`, with fixed examples."""
    module, _, name = law.partition(":")
    test = getattr(import_module(f"tests.simulation.{module}"), name)
    same = settings(
        max_examples=MOST_SEEDS, derandomize=True, database=None, phases=[Phase.generate], report_multiple_bugs=False
    )
    return same(given(st.data())(test.hypothesis.inner_test))


def known_seeds() -> dict[str, int]:
    """Return a seed for each bug that showed it when they were last looked for."""
    seeds: dict[str, int] = json.loads(SEEDS_FILE.read_text(encoding="utf-8"))
    return seeds
