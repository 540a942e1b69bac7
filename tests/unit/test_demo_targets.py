from pathlib import Path

import pytest

from dashboard.demo.files import RequestRefused, target_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (
        "json/__init__.py",
        "json/decoder.py",
        "lib/xml/dom/mini.py",
        "lib/json.py",
        "with blank/a.py",
        "b.txt",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")
    (tmp_path / "outside").mkdir()
    (root / "way-out").symlink_to(tmp_path / "outside")
    return root


@pytest.mark.parametrize(
    ("request_text", "under"),
    [
        ("audit", ""),
        ("", ""),
        ("Audit", ""),
        ("audit .", ""),
        ("audit json", "json"),
        ("audit json/decoder.py", "json/decoder.py"),
        ("audit decoder", "json/decoder.py"),
        ("audit json.decoder", "json/decoder.py"),
        ("audit xml.dom", "lib/xml/dom"),
        ("audit DOM", "lib/xml/dom"),
        ("audit 'with blank'", "with blank"),
        ("audit json/../lib", "lib"),
    ],
)
def test_a_request_names_a_part_of_the_folder(folder: Path, request_text: str, under: str) -> None:
    assert target_of(request_text, folder) == under


def test_the_absolute_path_of_the_folder_is_the_folder(folder: Path) -> None:
    assert target_of(f"audit {folder}", folder) == ""
    assert target_of(f"audit {folder / 'json'}", folder) == "json"


@pytest.mark.parametrize("path", ["..", "/", "/etc/passwd", "json/../../outside", "way-out", "../outside", "a\0b"])
def test_nothing_outside_the_folder_is_audited(folder: Path, path: str) -> None:
    with pytest.raises(RequestRefused, match="is outside the folder of this crew"):
        target_of(f"audit {path}", folder)


@pytest.mark.parametrize("name", ["n" * 300, "b.txt/c"], ids=["too long", "inside a file"])
def test_a_name_that_no_file_can_have_is_not_there(folder: Path, name: str) -> None:
    with pytest.raises(RequestRefused, match=r"^nothing named"):
        target_of(f"audit {name}", folder)


def test_another_request_is_refused_with_what_the_crew_takes(folder: Path) -> None:
    with pytest.raises(RequestRefused, match="audit PATH"):
        target_of("write a poem", folder)
