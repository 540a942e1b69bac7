from pathlib import Path

import pytest

from dashboard.demo import checks, library
from dashboard.demo.files import list_files
from dashboard.demo.library import ODD_FILES, FolderTaken, stdlib_folder


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    for name, data in ODD_FILES.items():
        (folder / name).write_bytes(data)
    return folder


def test_the_files_that_no_parser_takes_fail_and_the_others_do_not(odd: Path) -> None:
    names = sorted(ODD_FILES)

    fast, thorough = (
        {row["file"] for row in parser({"folder": str(odd), "files": names})["failures"]}
        for parser in (checks.parse_fast, checks.parse_thorough)
    )

    assert fast == {"bad_encoding.py", "broken_syntax.py", "null_bytes.py", "python_two.py"}
    assert thorough == fast - {"bad_encoding.py"}


def test_the_scouts_get_through_all_of_them_and_find_what_is_odd(odd: Path) -> None:
    result = checks.scan_thorough({"folder": str(odd), "files": sorted(ODD_FILES)})

    assert result["failures"] == []
    encodings = {entry["file"]: entry["encoding"] for entry in result["entries"]}
    assert (encodings["bad_encoding.py"], encodings["null_bytes.py"]) == ("unknown", "binary")


def test_the_slice_of_the_library_comes_with_the_odd_files_and_can_be_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "library"
    for name in ("argparse.py", "pkg/a.py", "site-packages/b.py", "test/c.py", "pkg/__pycache__/d.pyc"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("x = 1\n")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(source))

    for _ in range(2):
        folder = stdlib_folder(tmp_path / "demo")

    python = [name for name in list_files(folder)[0] if name.endswith(".py") and not name.startswith("odd/")]
    assert python == ["argparse.py", "pkg/a.py", "test/c.py"]
    assert (folder / "odd" / "python_two.py").is_file()
    assert not (folder / "argparse.py").is_symlink()


def test_a_copy_that_was_interrupted_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "library"
    source.mkdir()
    (source / "argparse.py").write_text("x = 1\n")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(source))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", interrupted)
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
    names = [
        name for name in list_files(stdlib_folder(tmp_path / "demo", max_files=60))[0] if not name.startswith("odd/")
    ]

    assert len([name for name in names if name != library.MARK]) == 60
    assert all("/" in name or name == library.MARK for name in names)
