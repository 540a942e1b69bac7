from pathlib import Path

import pytest

from dashboard.demo import hazards, parse, scan, stdlib
from dashboard.demo.stdlib import FolderTaken, stdlib_folder, write_odd_files
from dashboard.demo.walk import walk


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    write_odd_files(folder)
    return folder


def test_every_kind_of_entry_that_is_skipped_is_there(odd: Path) -> None:
    reasons = {skipped.reason for skipped in walk(odd).skipped}

    assert reasons == {"a link in a loop", "a link out of the folder", "a named pipe", "no permission to read"}


def test_the_files_that_no_parser_takes_fail_and_the_others_do_not(odd: Path) -> None:
    names = walk(odd).names(".py")

    failed = {row["file"] for row in parse.fast({"folder": str(odd), "files": names})["failures"]}

    assert failed == {
        "bad_encoding.py", "broken_syntax.py", "deep_brackets.py", "deep_signs.py", "huge_number.py", "mixed_tabs.py",
        "not_a_picture.py", "null_bytes.py", "python_two.py", "wrong_cookie.py",
    }  # fmt: skip


def test_the_scouts_get_through_all_of_them_and_find_what_is_odd(odd: Path) -> None:
    names = walk(odd).names()

    result = scan.thorough({"folder": str(odd), "files": names})

    assert result["failures"] == []
    kinds = " ".join(note for entry in result["entries"] for note in entry["notes"])
    for part in ("bidirectional", "mixed line endings", "mixed indentation", "a line of 1496009", "binary content"):
        assert part in kinds


def test_the_hazardous_module_shows_most_rules(odd: Path) -> None:
    [entry] = hazards.scan({"folder": str(odd), "files": ["hazards.py"]})["entries"]

    assert len(entry["counts"]) >= 12


def test_the_slice_of_the_library_comes_with_the_odd_files_and_can_be_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "library"
    for name in ("argparse.py", "pkg/a.py", "site-packages/b.py", "test/c.py", "pkg/__pycache__/d.pyc"):
        (library / name).parent.mkdir(parents=True, exist_ok=True)
        (library / name).write_text("x = 1\n")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(library))

    for _ in range(2):
        folder = stdlib_folder(tmp_path / "demo")

    python = [name for name in walk(folder).names(".py") if not name.startswith("odd/")]
    assert python == ["argparse.py", "pkg/a.py", "test/c.py"]
    assert (folder / "odd" / "hazards.py").is_file()
    assert not (folder / "argparse.py").is_symlink()


def test_a_copy_that_was_interrupted_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "library"
    library.mkdir()
    (library / "argparse.py").write_text("x = 1\n")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(library))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("shutil.copyfile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stdlib_folder(tmp_path / "demo")
    (tmp_path / "demo" / "half").mkdir()
    stdlib_folder(tmp_path / "demo")

    assert not (tmp_path / "demo" / "half").exists()
    assert (tmp_path / "demo" / "argparse.py").is_file()


def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    with pytest.raises(FolderTaken):
        stdlib_folder(tmp_path)

    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_slice_is_of_so_many_files_whole_packages_first(tmp_path: Path) -> None:
    names = [name for name in walk(stdlib_folder(tmp_path / "demo", most=60)).names() if not name.startswith("odd/")]

    assert len([name for name in names if name != stdlib.MARK]) == 60
    assert all("/" in name or name == stdlib.MARK for name in names)
