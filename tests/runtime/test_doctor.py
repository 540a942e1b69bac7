"""What `doctor` finds: a journal or a catalogue that cannot be read, missing rights, a useless data folder."""

import os
import sqlite3
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from dashboard.cli import main
from dashboard.cli.doctor import inbox_findings
from dashboard.reading.databases import inspect_database
from engine.catalogue.entries import Pack
from engine.catalogue.writer import CatalogueWriter
from engine.core.specs.spec import AgentSpec
from tests.databases import write_database
from tests.rights import as_viewer
from tests.world import team_world


@pytest.fixture(autouse=True)
def _somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def test_doctor_finds_a_journal_that_cannot_be_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = write_database(tmp_path / "team.db", team_world().journal)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE journal SET body = 'rubbish' WHERE seq = 1")
    database.close()

    status = main(["doctor", "--db", "team.db"])
    out, _ = capsys.readouterr()

    assert status == 2
    assert f"FAULT  {path} (journal): " in out


def test_doctor_finds_no_fault_in_a_team_that_may_only_be_looked_at() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write_database(Path(folder) / "team.db", [])
        for each in (path.parent, path):
            each.chmod(0o755)
        found = inspect_database(path)
        with as_viewer(path):
            (finding,) = inbox_findings(found)

    assert (finding.level, finding.message) == ("note", "you may read this team, and not give it commands")


def test_doctor_looks_at_the_catalogue_of_the_data_folder_and_not_for_a_team_in_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with CatalogueWriter() as writer:
        writer.add([Pack(name="tides", agents=[AgentSpec(name="pilot")])])
    assert main(["doctor"]) == 0
    assert "ok     catalogue: 1 entry\n" in capsys.readouterr().out

    writer.path.write_bytes(b"nonsense" * 1_000)
    assert main(["doctor"]) == 2
    (fault,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("FAULT"))
    assert fault.startswith("FAULT  catalogue: the catalogue cannot be used: ")


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("file/data", "cannot be made: correct the mode of {file}, or set XDG_DATA_HOME"),
        ("", "no space is left in {there}: free some, or set XDG_DATA_HOME"),
    ],
)
def test_doctor_tells_of_a_data_folder_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str, told: str
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / folder))
    if not folder:
        monkeypatch.setattr(os, "statvfs", lambda _path: SimpleNamespace(f_bavail=0))
    status = main(["doctor"])
    out, _ = capsys.readouterr()

    (line,) = (line for line in out.splitlines() if " data folder: " in line)
    assert line.startswith("FAULT")
    assert line.endswith(told.format(file=tmp_path / "file", there=tmp_path))
    assert status == 2
