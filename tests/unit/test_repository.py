"""What holds for the tree as a whole, whatever the code in it does."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("dashboard", "engine", "quarterdeck", "store")
TARGETS = {"venv", "demo", "check", "test", "bench", "chaos", "simulate", "screenshots"}
AT_THE_ROOT = {
    *PACKAGES, "docs", "examples", "screenshots", "tests", ".ci", ".gitignore", ".pre-commit-config.yaml",
    "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "Makefile", "README.md", "pyproject.toml",
    "requirements.lock",
}  # fmt: skip
MACHINE_PATH = re.compile(
    r"/(?<![\w./~-]/)(?:(?:work|root|opt)(?=/|[\s\"'`),;:]|$)|(?:home|Users)/(?!ann\b)\w)", re.MULTILINE
)
"""Begins with a letter of its own: looking back from every place of every file took a second."""
NOT_TEXT = {".gz", ".woff2", ".zip"}
"""Fonts of the page, and archives that tests read."""
EXPORTER_NUMBER = re.compile(r"terminal-\d+")
"""In an id or class of a picture: a hash of the whole screen, so that each line differs when one cell does."""
PINNED_WITH_HASH = re.compile(r"==\S+ .*--hash=sha256:[0-9a-f]{64}")


@cache
def contents() -> dict[str, bytes]:
    """Every file that is committed or about to be, by its path."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = {name: ROOT / name for name in filter(None, listed.stdout.split("\0"))}
    return {name: path.read_bytes() for name, path in paths.items() if path.is_file()}


@cache
def tree() -> dict[str, str]:
    """Text of every file, by its path; fonts and archives left out."""
    return {
        name: content.decode("utf-8", errors="replace") for name, content in contents().items() if b"\0" not in content
    }


def locked() -> dict[str, str]:
    """Each requirement of the lock with all its lines, by name."""
    joined = (ROOT / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = (line for line in joined.splitlines() if line.strip() and not line.startswith("#"))
    return {line.partition("==")[0].strip(): line for line in lines}


@pytest.mark.skipif(shutil.which("flock") is None, reason="without flock nothing waits")
def test_a_second_make_waits_for_the_environment_that_the_first_one_makes(tmp_path: Path) -> None:
    for name in ("requirements.lock", "pyproject.toml"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1, 1))
    with (tmp_path / "requirements.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = subprocess.Popen([ROOT / ".ci" / "venv", sys.executable], cwd=tmp_path, stderr=subprocess.PIPE)
        assert second.stderr is not None
        assert b"another make is at .venv; waiting for it" in second.stderr.readline()
        (tmp_path / ".venv").mkdir()
        (tmp_path / ".venv" / ".made-from-lock").touch()
    with second:
        assert (second.wait(PATIENCE_S), second.stderr.read()) == (0, b"")

    assert [path.name for path in (tmp_path / ".venv").iterdir()] == [".made-from-lock"]


def test_the_lock_names_no_package_index() -> None:
    assert "://" not in (ROOT / "requirements.lock").read_text(encoding="utf-8")


def test_every_requirement_of_the_lock_is_one_version_with_its_hashes() -> None:
    requirements = locked()

    assert len(requirements) > len(PACKAGES)
    assert [
        name for name, line in requirements.items() if not re.search(r"==\S+ .*--hash=sha256:[0-9a-f]{64}", line)
    ] == []


def test_every_exact_pin_of_the_project_is_what_the_lock_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [line for lines in project["optional-dependencies"].values() for line in lines]
    pins = dict(line.split("==") for line in [*project["dependencies"], *extras] if "==" in line)

    assert {"textual", "rich", "syrupy", "pytest-textual-snapshot"} <= pins.keys()
    assert {name: locked()[name].split()[0] for name in pins} == {name: f"{name}=={pins[name]}" for name in pins}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_says_that_it_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_every_make_target_is_there_and_makes_the_environment_itself() -> None:
    rules = dict(re.findall(r"^([a-z]+):([^=#\n]*)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    assert rules.keys() >= TARGETS
    assert [target for target in TARGETS if "$(STAMP)" not in rules[target]] == []


def test_no_file_names_a_path_of_somebodys_machine() -> None:
    found = {name: [match.group() for match in MACHINE_PATH.finditer(text)] for name, text in tree().items()}

    assert {name: paths for name, paths in found.items() if paths} == {}


def test_no_file_is_a_picture_but_an_svg() -> None:
    binary = {name for name in contents() if name not in tree()}
    pictures = {name: text for name, text in tree().items() if name.endswith(".svg")}

    assert [name for name in binary if Path(name).suffix not in NOT_TEXT] == []
    assert [name for name, text in pictures.items() if re.search(r"<image\b|data:", text)] == []


def test_no_picture_has_the_number_by_which_the_exporter_tells_screens_apart() -> None:
    pictures = {name: text for name, text in tree().items() if name.endswith(".svg")}

    assert pictures
    assert [name for name, text in pictures.items() if EXPORTER_NUMBER.search(text)] == []


def test_at_the_root_stands_only_what_is_known_there() -> None:
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert {name.partition("/")[0] for name in filter(None, listed.stdout.split("\0"))} <= AT_THE_ROOT


def test_the_changelog_has_a_place_for_the_next_change() -> None:
    assert "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_package_of_the_tests_shadows_one_of_ours() -> None:
    assert [name for name in tree() if name.startswith("tests/") and name.endswith("/__init__.py")] == []
