"""`quarterdeck` is the name that programs import: every public name, typed, and one line where a package is hidden."""

import subprocess
import sys
from pathlib import Path
from typing import assert_type

import pytest

import engine
import quarterdeck
from quarterdeck import AgentSpec, DynamicSupervisor
from tests.patience import PATIENCE_S


def interpreter(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program as a user would who stands in `folder`."""
    return subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


def test_every_public_name_of_the_engine_is_a_name_of_quarterdeck() -> None:
    assert quarterdeck.__all__ == engine.__all__
    assert set(quarterdeck.__all__) <= set(dir(quarterdeck))
    assert all(getattr(quarterdeck, name) is getattr(engine, name) for name in quarterdeck.__all__)


def test_type_checkers_see_the_real_types() -> None:
    assert_type(DynamicSupervisor("u").name, str)
    assert_type(AgentSpec(name="a").timeout_s, float | None)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'quarterdeck' has no attribute 'DynamicSupervisr'"):
        getattr(quarterdeck, "DynamicSupervisr")  # noqa: B009  # a checker would refuse the attribute


def test_an_import_of_quarterdeck_loads_no_part_of_the_engine() -> None:
    program = "import quarterdeck, sys; print(*sorted(name for name in sys.modules if name.startswith('engine')))"

    assert interpreter(Path(__file__).parent, "-P", "-c", program).stdout.split() == ["engine"]


@pytest.mark.parametrize("hidden", ["engine", "store"])
@pytest.mark.parametrize("shape", ["{}.py", "{}/__init__.py"])
def test_an_import_beside_a_module_of_the_same_name_as_ours_says_what_hides_what(
    tmp_path: Path, hidden: str, shape: str
) -> None:
    theirs = tmp_path / shape.format(hidden)
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text("raise SystemExit('the wrong one')")

    said = interpreter(tmp_path, "-c", "import quarterdeck").stderr.splitlines()[-1]

    assert said.startswith(f"ImportError: {theirs} takes the place of quarterdeck's own package {hidden!r}; rename it")


@pytest.mark.parametrize("hidden", ["dashboard", "engine", "store"])
def test_the_program_beside_a_package_of_the_same_name_as_ours_ends_with_one_line(tmp_path: Path, hidden: str) -> None:
    (tmp_path / hidden).mkdir()
    (tmp_path / hidden / "__init__.py").write_text("raise SystemExit('the wrong one')")

    done = interpreter(tmp_path, "-m", "quarterdeck", "--version")

    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert f"takes the place of quarterdeck's own package {hidden!r}" in done.stderr


def test_a_folder_that_is_no_package_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()

    assert interpreter(tmp_path, "-c", "from quarterdeck import AgentSpec").returncode == 0


def test_python_m_quarterdeck_is_the_program(tmp_path: Path) -> None:
    done = interpreter(tmp_path, "-m", "quarterdeck", "--help")

    assert done.returncode == 0
    assert done.stdout.startswith("Usage: quarterdeck ")
