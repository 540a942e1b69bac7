"""Archives as files: what an export writes, and what it keeps its hands off."""

import hashlib
import json
import os
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from engine.archive import ExportRefused, export_archive, plan_import, read_archive
from engine.archive.manifest import check_amount
from engine.core.commands import Submit
from engine.core.encoding.strict_json import MAX_FOREIGN_VALUES, MAX_VALUES, NotStrict
from engine.core.signals import AgentUnusable
from engine.core.state import State
from engine.trusted_code.trust import TrustList, grant
from tests.databases import LONG, busy_world, write_database
from tests.world import agent, team_world


@pytest.fixture(scope="session")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_database(tmp_path_factory.mktemp("archive") / "team.db", busy_world().journal)


@pytest.fixture(scope="session")
def archive(database: Path) -> Path:
    return export_archive(database, database.with_name("team.zip"), history=True).path


def test_an_archive_is_a_zip_of_json_that_any_tool_can_open(database: Path, archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        parts = {name: opened.read(name) for name in opened.namelist()}

    manifest = json.loads(parts["manifest.json"])
    assert list(parts) == ["manifest.json", "state.json", "texts.jsonl", "events.jsonl"]
    assert manifest["counts"]["agents"] == 2
    assert manifest["parts"] == {
        name: hashlib.sha256(body).hexdigest() for name, body in parts.items() if name != "manifest.json"
    }
    assert next(json.loads(line) for line in parts["texts.jsonl"].splitlines()) == LONG
    events = [json.loads(line) for line in parts["events.jsonl"].splitlines()]
    assert [event["seq"] for event in events] == list(range(1, manifest["seq"] + 1))
    assert events[-1]["body"]["output"] == LONG + "draft"


def test_what_is_read_is_what_was_written(archive: Path) -> None:
    found = read_archive(archive, hashlib.sha256(archive.read_bytes()).hexdigest())

    assert [agent.name for agent in found.state.agents.values()] == ["ada", "bob"]
    assert found.texts == [LONG, {"read": LONG}, LONG + "draft"]
    assert next(task for task in found.state.tasks.values() if task.steps).steps.keys() == {"draft"}


def test_an_export_leaves_nothing_else_behind(archive: Path) -> None:
    names = {path.name for path in archive.parent.iterdir()}

    assert not [name for name in names if "-new-" in name]
    assert archive.stat().st_mode & 0o777 == 0o600


def test_equal_states_have_equal_hashes_and_another_state_another(database: Path, tmp_path: Path) -> None:
    first = export_archive(database, tmp_path / "1.zip")
    second = export_archive(database, tmp_path / "2.zip", history=True)
    other = write_database(tmp_path / "other.db", team_world(agent("ada", "parse")).journal)

    assert first.state_sha256 == second.state_sha256
    assert export_archive(other, tmp_path / "3.zip").state_sha256 != first.state_sha256


@pytest.mark.parametrize("suffix", ["", "-wal", "-inbox", "-live", "-lock", "-shm"])
def test_an_export_never_overwrites_the_database_or_what_belongs_to_it(database: Path, suffix: str) -> None:
    before = database.read_bytes()

    with pytest.raises(ExportRefused, match="belongs to the database"):
        export_archive(database, database.with_name(database.name + suffix), overwrite=True)

    assert database.read_bytes() == before


def test_a_link_to_the_database_is_the_database(database: Path, tmp_path: Path) -> None:
    for make in (os.symlink, os.link):
        link = tmp_path / make.__name__
        make(database, link)
        with pytest.raises(ExportRefused, match="belongs to the database"):
            export_archive(database, link, overwrite=True)
        link.unlink()


def test_what_stands_there_is_replaced_only_when_asked(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "team.zip"
    target.write_text("precious")

    with pytest.raises(ExportRefused, match="already"):
        export_archive(database, target)
    assert target.read_text() == "precious"
    export_archive(database, target, overwrite=True)
    assert read_archive(target).state.agents


def test_an_export_into_a_folder_that_is_not_there_says_so(database: Path, tmp_path: Path) -> None:
    with pytest.raises(ExportRefused, match="folder does not exist"):
        export_archive(database, tmp_path / "none" / "team.zip")


def test_a_text_of_one_letter_is_not_packed_beyond_what_a_reader_takes(tmp_path: Path) -> None:
    world = team_world(agent("ada"))
    world.order(Submit(request="a" * 1_000_000))
    database = write_database(tmp_path / "team.db", world.journal)

    found = read_archive(export_archive(database, tmp_path / "team.zip").path)

    assert found.texts == ["a" * 1_000_000]


def test_more_values_than_an_import_takes_are_not_exported(tmp_path: Path) -> None:
    world = team_world(agent("ada"))
    half = MAX_FOREIGN_VALUES // 2
    world.order(Submit(request=[number % 10 for number in range(half - 10)]))
    fits = write_database(tmp_path / "fits.db", world.journal)
    world.order(Submit(request=[number % 9 for number in range(half + 10)]))
    too_many = write_database(tmp_path / "team.db", world.journal)

    assert read_archive(export_archive(fits, tmp_path / "fits.zip").path).texts
    with pytest.raises(ExportRefused, match=f"more than {MAX_FOREIGN_VALUES:,} values; let open runs finish"):
        export_archive(too_many, tmp_path / "team.zip")
    assert not (tmp_path / "team.zip").exists()


@pytest.mark.parametrize(
    ("amounts", "text", "is_refused"),
    [
        ({"state.json": MAX_VALUES - 2}, "", False),
        ({"state.json": MAX_VALUES + 1}, "", True),
        ({"manifest.json": MAX_VALUES // 2 + 1, "state.json": MAX_VALUES // 2}, "", True),
        ({"events.jsonl": MAX_VALUES + 1}, "", False),
        ({"state.json": MAX_VALUES - MAX_FOREIGN_VALUES // 2, "texts.jsonl": MAX_FOREIGN_VALUES - 9}, "", True),
        ({"texts.jsonl": MAX_FOREIGN_VALUES - 1}, "", False),
        ({"texts.jsonl": MAX_FOREIGN_VALUES + 1}, "", True),
        ({"texts.jsonl": MAX_FOREIGN_VALUES + 1}, '"', False),
    ],
)
def test_the_parts_of_an_archive_hold_a_bounded_number_of_values(
    amounts: dict[str, int], text: str, *, is_refused: bool
) -> None:
    parts = {"texts.jsonl": b""} | {name: text.encode() + b"," * amount for name, amount in amounts.items()}

    with pytest.raises(NotStrict, match="values") if is_refused else nullcontext():
        check_amount(parts)


def test_why_code_is_away_here_is_not_exported(tmp_path: Path) -> None:
    world = team_world(agent("ada"))
    world.say(AgentUnusable(agent_id="a1", generation=1, error="not trusted here", away=True))
    database = write_database(tmp_path / "team.db", world.journal)

    (ada,) = read_archive(export_archive(database, tmp_path / "team.zip").path).state.agents.values()

    assert (ada.away, ada.away_reason) == (False, None)


def test_a_plan_says_what_comes_what_it_calls_and_which_names_are_in_use(archive: Path, tmp_path: Path) -> None:
    here = write_database(tmp_path / "here.db", team_world(agent("ada", "other")).journal)

    allowed = TrustList(tmp_path / "trust.json")
    grant(allowed, ["crew:ada"], State(), db=here, path=here, sha256="")

    alone, beside = plan_import(archive, None), plan_import(archive, here, allowed)

    assert alone.creates == {"supervisors": 1, "agents": 2, "runs": 1, "tasks": 2, "finished": 0}
    assert alone.needs_trust == ["crew:ada", "crew:bob"]
    assert alone.clashes == []
    assert beside.needs_trust == ["crew:bob"]
    assert [line.split(":")[0] for line in beside.clashes] == ["supervisor chief", "spec ada"]
    assert "chief-2" in beside.clashes[0]
