"""Callables as references, and back."""

import functools
import json
import sys
from pathlib import Path

import pytest

from engine.core.queries.team.code import function_name
from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.supervisor.callables import Callables
from engine.trusted_code.references import Origin, reference_of, resolve


def module_level(text: str) -> str:
    return text


class Worker:
    def method(self, text: str) -> str:
        return text

    @staticmethod
    def plain(text: str) -> str:
        return text


@pytest.mark.parametrize("target", [module_level, Worker.plain, json.dumps, Worker])
def test_what_can_be_imported_comes_back_as_it_was(target: object) -> None:
    reference = reference_of(target)  # type: ignore[arg-type]

    assert ":" in reference
    assert not reference.startswith("bound:")
    assert resolve(Origin(reference, None)) is target


@pytest.mark.parametrize(
    "target",
    [lambda text: text, Worker().method, functools.partial(module_level, "x")],
    ids=["lambda", "method", "partial"],
)
def test_what_nobody_else_could_import_is_bound_to_this_process(target: object) -> None:
    first, second = reference_of(target), reference_of(target)  # type: ignore[arg-type]

    assert first.startswith("bound:")
    assert first != second
    with pytest.raises(Unusable, match="is code that a program gave to this team"):
        resolve(Origin(first, None))


def test_a_function_of_the_script_itself_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_level, "__module__", "__main__")

    assert reference_of(module_level).startswith("bound:module_level#")


def test_a_spec_keeps_its_references_and_loses_its_callables() -> None:
    spec = AgentSpec(name="a", run=module_level, tools=["shop:buy", json.dumps], weight=2.0)

    callables = Callables()
    referred = callables.with_references(spec)

    assert referred.run == f"{__name__}:module_level"
    assert referred.tools == ("shop:buy", "json:dumps")
    assert referred.weight == 2.0
    assert callables.by_reference == {f"{__name__}:module_level": module_level, "json:dumps": json.dumps}


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(Unusable, match="cannot be called"):
        reference_of(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("reference", "name"),
    [("shop.tools:Till.open", "open"), ("json:dumps", "dumps"), ("bound:lambda#3", "lambda"), ("plain", "plain")],
)
def test_a_reference_has_a_short_name(reference: str, name: str) -> None:
    assert function_name(reference) == name


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nothing", "write it as 'module:name'"),
        ("no_such_module_at_all:run", "no module 'no_such_module_at_all'"),
        ("json:nothing", "has no 'nothing'"),
        (
            "dashboard.demo.checks:nothing",
            "has no 'nothing'; this team is from an older demo; quarterdeck demo makes a new one",
        ),
        (
            "dashboard.demo.fingerprints:prints",
            "; this team is from an older demo; quarterdeck demo makes a new one",
        ),
        ("json:__name__", "which cannot be called"),
        ("broken_module:run", "its import failed: ZeroDivisionError"),
        ("leaving_module:run", "its import failed: SystemExit"),
        ("needy_module:run", "its import needs 'not_installed_here'"),
    ],
)
def test_what_cannot_be_used_says_why_in_one_line(
    reference: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.joinpath("broken_module.py").write_text("1 / 0\n", encoding="utf-8")
    tmp_path.joinpath("leaving_module.py").write_text("raise SystemExit\n", encoding="utf-8")
    tmp_path.joinpath("needy_module.py").write_text("import not_installed_here\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))

    with pytest.raises(Unusable) as unusable:
        resolve(Origin(reference, tmp_path))

    assert said in unusable.value.reason
    assert "\n" not in unusable.value.reason


def test_the_folder_of_a_program_is_searched_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("store.py").write_text("def check_database(path): return 'shadow'\n", encoding="utf-8")
    tmp_path.joinpath("crew_of_the_folder.py").write_text("def run(text): return text\n", encoding="utf-8")
    monkeypatch.setattr(sys, "path", list(sys.path))

    assert resolve(Origin("crew_of_the_folder:run", tmp_path))("x") == "x"
    assert resolve(Origin("store:check_database", tmp_path)).__module__ != "store_shadow"
    assert sys.path[-1] == str(tmp_path)
