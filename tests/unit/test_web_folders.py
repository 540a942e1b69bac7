"""The folders of tabs: those of servers that live stay, those that were left behind go, and nothing else."""

import os
import tempfile
from pathlib import Path

import pytest

from dashboard.web.folders import PREFIX, new_folder, remove_left_behind


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_a_folder_stays_while_it_is_held_and_goes_with_all_in_it_once_it_is_not() -> None:
    folder, lock = new_folder()
    (folder / "fork").mkdir()
    (folder / "fork" / "team.db").write_text("x")
    remove_left_behind()
    assert folder.is_dir()

    os.close(lock)
    remove_left_behind()
    assert not folder.exists()


def test_links_files_and_folders_of_other_names_stay(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "letter").write_text("x")
    link, file, inside = tmp_path / f"{PREFIX}link", tmp_path / f"{PREFIX}file", tmp_path / f"{PREFIX}left"
    link.symlink_to(kept)
    file.write_text("x")
    inside.mkdir()
    (inside / "out").symlink_to(kept)
    remove_left_behind()

    assert link.is_symlink()
    assert file.exists()
    assert not inside.exists()
    assert (kept / "letter").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_folders_of_other_users_stay(tmp_path: Path) -> None:
    other = tmp_path / f"{PREFIX}other"
    other.mkdir()
    os.chown(other, 12_345, 12_345)
    remove_left_behind()

    assert other.is_dir()
