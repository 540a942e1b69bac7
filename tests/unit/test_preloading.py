"""Code that an engine that stands by imports ahead: what is trusted, and never older than its file."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.cli.preloading import Preloading, loadable
from engine.core.spec import AgentSpec
from engine.references import resolve
from tests.world import team_world

MODULE = "crew_that_is_loaded_ahead"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / f"{MODULE}.py").write_text("def work(text):\n    return 'old'\n")
    before = list(sys.path)
    yield tmp_path
    sys.path[:] = before
    sys.modules.pop(MODULE, None)


def test_only_what_is_trusted_and_runs_in_the_engine_is_loaded_ahead() -> None:
    here = AgentSpec(name="ada", run=f"{MODULE}:work")
    elsewhere = AgentSpec(name="bob", run=f"{MODULE}:compute", run_in="process")
    state = team_world(here, elsewhere).state
    state.trusted.clear()
    untrusted = loadable(state)
    state.trusted.update(dict.fromkeys([f"{MODULE}:work", f"{MODULE}:compute"]))

    assert untrusted == set()
    assert loadable(state) == {f"{MODULE}:work"}


def test_what_is_trusted_is_imported_and_again_where_its_file_has_changed(folder: Path) -> None:
    preloading = Preloading()
    preloading.follow({f"{MODULE}:work", f"{MODULE}:missing"}, folder)
    assert preloading.wait(10)

    preloading.forget_changed()
    kept = MODULE in sys.modules
    (folder / f"{MODULE}.py").write_text("def work(text):\n    return 'new, and longer'\n")
    preloading.forget_changed()

    assert kept
    assert MODULE not in sys.modules
    assert resolve(f"{MODULE}:work", folder)("") == "new, and longer"
