"""Which files of a folder its code imports, and that exactly these are loaded, under names of their own."""

import code as standard_code
import sys
from pathlib import Path

import pytest

from engine.errors import Unusable
from engine.runtimes.functions.isolated import MAX_LOADED_VERSIONS, load
from engine.trusted_code.closure import Folder, digest_of, files_of
from engine.trusted_code.references import Origin, resolve


def write(folder: Path, **files: str) -> Path:
    """Write modules by their dotted names; `__` stands for the dot, and `package` for `__init__`."""
    for name, text in files.items():
        path = folder.joinpath(*name.split("__")).with_suffix(".py")
        if path.stem == "package":
            path = path.with_name("__init__.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def closure(folder: Path, *references: str) -> list[str]:
    return sorted(files_of(Folder(folder).sources(*references), folder))


def call(reference: str, folder: Path, text: str = "x") -> object:
    return resolve(Origin(reference, folder, Folder(folder).sources(reference)))(text)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("import helpers", ["crew.py", "helpers.py"]),
        ("import helpers as h, json", ["crew.py", "helpers.py"]),
        ("from helpers import anything", ["crew.py", "helpers.py"]),
        ("def run(text):\n    from helpers import f", ["crew.py", "helpers.py"]),
        ("try:\n    import helpers\nexcept ImportError: pass", ["crew.py", "helpers.py"]),
        ("import pack.one", ["crew.py", "pack/__init__.py", "pack/one.py", "pack/two.py"]),
        ("from pack import one", ["crew.py", "pack/__init__.py", "pack/one.py", "pack/two.py"]),
        ("from pack import *", ["crew.py", "pack/__init__.py", "pack/one.py", "pack/three.py", "pack/two.py"]),
        ("import pack", ["crew.py", "pack/__init__.py"]),
        ("from bare.inner import f", ["bare/inner.py", "crew.py"]),
        ("from bare import inner", ["bare/inner.py", "crew.py"]),
        ("import bare", ["crew.py"]),
        ("import round_a", ["crew.py", "round_a.py", "round_b.py"]),
        ("import json, os.path, no_such_module", ["crew.py"]),
        ("import code", ["code.py", "crew.py"]),
        ("this is no python", ["crew.py"]),
    ],
)
def test_what_a_module_imports_from_its_folder_is_found(tmp_path: Path, statement: str, found: list[str]) -> None:
    write(
        tmp_path, crew=statement, helpers="", pack__package="", pack__one="from . import two", pack__two="",
        pack__three="", bare__inner="", round_a="import round_b", round_b="import round_a", code="", unused="",
    )  # fmt: skip

    assert closure(tmp_path, "crew:run") == found


def test_a_module_that_is_not_in_the_folder_has_no_files_there(tmp_path: Path) -> None:
    write(tmp_path, crew="")

    assert closure(tmp_path, "json:dumps") == []
    assert digest_of(Folder(tmp_path).sources("json:dumps")) == ""


def test_a_change_of_any_file_that_is_imported_is_another_hash_and_of_no_other(tmp_path: Path) -> None:
    write(tmp_path, crew="import helpers", helpers="a = 1", unused="")

    def digest() -> str:
        return digest_of(Folder(tmp_path).sources("crew:run"))

    first = digest()
    write(tmp_path, unused="a = 2")
    assert digest() == first
    write(tmp_path, helpers="a = 2")
    assert digest() != first


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, crew="import helpers", helpers="x" * 100)
    monkeypatch.setattr("engine.trusted_code.closure.MAX_FILE_BYTES", 99)

    with pytest.raises(Unusable, match=r"helpers\.py is larger than 99 bytes"):
        Folder(tmp_path).sources("crew:run")


def test_a_module_named_like_one_of_the_library_is_found_beside_the_team_and_shadows_nobody(tmp_path: Path) -> None:
    write(tmp_path, code="import json\ndef two(text): return 'ours ' + json.loads('\"' + text + '\"')", json="")
    write(tmp_path, json="def loads(text): return text.upper()")

    assert call("code:two", tmp_path) == 'ours "X"'
    assert sys.modules["code"] is standard_code
    assert "interact" in vars(sys.modules["code"])


def test_imports_among_the_modules_of_a_folder_find_each_other(tmp_path: Path) -> None:
    write(
        tmp_path,
        pack__package="from .one import first\nimport pack.two as two",
        pack__one="def first(text): return f'first {text}'",
        pack__two="import os.path\nfrom pack import one\nimport pack.deep.leaf\n"
        "def second(text): return one.first(text) + pack.deep.leaf.name() + os.path.basename('/a/b')",
        pack__deep__leaf="def name():\n    import helpers\n    return helpers.NAME",
        helpers="NAME = __name__.rpartition('.')[2]",
    )

    assert call("pack:first", tmp_path) == "first x"
    assert call("pack.two:second", tmp_path) == "first xhelpersb"


def test_modules_are_shared_by_all_references_of_a_folder_and_by_no_other_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, state=f"SEEN = ['{name}']", a="import state\ndef run(t): return state.SEEN",
              b="from state import SEEN\ndef run(t): return SEEN")  # fmt: skip

    assert call("a:run", tmp_path / "one") is call("b:run", tmp_path / "one")
    assert call("a:run", tmp_path / "one") == ["one"]
    assert call("a:run", tmp_path / "two") == ["two"]


def test_code_that_has_changed_is_loaded_anew_beside_what_is_at_work(tmp_path: Path) -> None:
    write(tmp_path, crew="import helpers\ndef run(text): return helpers.NAME", helpers="NAME = 'old'")
    old = resolve(Origin("crew:run", tmp_path, Folder(tmp_path).sources("crew:run")))
    write(tmp_path, helpers="NAME = 'new'")

    assert call("crew:run", tmp_path) == "new"
    assert old("x") == "old"


def test_bytes_that_changed_after_they_were_looked_at_are_not_run(tmp_path: Path) -> None:
    write(tmp_path, crew="import late\ndef run(text): return late.NAME", late="NAME = 'looked at'")
    sources = Folder(tmp_path).sources("crew:run")
    (tmp_path / "late.py").write_text("raise SystemExit('run unseen')")

    with pytest.raises(Unusable, match=r"late\.py has changed since it was looked at"):
        resolve(Origin("crew:run", tmp_path, sources))


def test_no_cached_bytecode_is_run_and_none_is_written(tmp_path: Path) -> None:
    write(tmp_path, crew="def run(text): return 'source'")

    assert call("crew:run", tmp_path) == "source"
    assert not (tmp_path / "__pycache__").exists()


def test_a_file_that_no_statement_imports_is_not_found_in_another_way(tmp_path: Path) -> None:
    write(tmp_path, crew="def run(text): return __import__('hid' + 'den').NAME", hidden="NAME = 'hidden'")
    run = resolve(Origin("crew:run", tmp_path, Folder(tmp_path).sources("crew:run")))

    with pytest.raises(ModuleNotFoundError, match="No module named 'hidden'"):
        run("x")


def test_what_is_missing_is_named_as_the_code_names_it(tmp_path: Path) -> None:
    write(tmp_path, crew="import pack.nothing\ndef run(text): ...", pack__package="")

    with pytest.raises(Unusable, match=r"needs 'pack\.nothing'"):
        call("crew:run", tmp_path)


def test_an_error_names_the_file_that_was_used(tmp_path: Path) -> None:
    write(tmp_path, code="def two(text): ...")

    with pytest.raises(Unusable, match=r"code\.py has no 'three'"):
        call("code:three", tmp_path)
    with pytest.raises(Unusable, match=r"hashlib\.py has no 'two'"):
        call("hashlib:two", tmp_path)


def test_classes_of_a_folder_know_their_module(tmp_path: Path) -> None:
    import pickle

    write(tmp_path, crew="from dataclasses import dataclass\n@dataclass\nclass Note:\n    text: str\n")
    note = call("crew:Note", tmp_path)

    assert pickle.loads(pickle.dumps(note)) == note
    assert load("crew", str(tmp_path), Folder(tmp_path).sources("crew:Note")).Note is type(note)


def test_of_code_that_is_edited_again_and_again_only_the_newest_versions_stay_loaded(tmp_path: Path) -> None:
    def versions() -> list[str]:
        return [name for name in sys.modules if name.startswith("team_folder_") and name.endswith(".crew_of_many")]

    write(tmp_path, crew_of_many="NUMBER = 0\ndef run(text): return NUMBER")
    first = resolve(Origin("crew_of_many:run", tmp_path, Folder(tmp_path).sources("crew_of_many:run")))
    for number in range(1, 2 * MAX_LOADED_VERSIONS):
        write(tmp_path, crew_of_many=f"NUMBER = {number}\ndef run(text): return NUMBER")
        assert call("crew_of_many:run", tmp_path) == number

    assert len(versions()) == MAX_LOADED_VERSIONS
    assert first("x") == 0, "an attempt at work goes on with what it has loaded"
