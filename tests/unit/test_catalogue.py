import os
import signal
import sqlite3
import string
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.catalogue import Catalogue, CatalogueEntry, Pack, find
from engine.catalogue.writer import CatalogueWriter
from engine.core.specs.spec import AgentSpec, spec_hash
from engine.errors import CatalogueError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "catalogue.db"


def add(path: Path, *agents: AgentSpec, approve: bool = True, **fields: Any) -> list[str]:
    """Add a pack, and return the ids of what is new."""
    with CatalogueWriter(path, by="ada") as writer:
        (addition,) = writer.add([Pack(name=fields.pop("name", "tides"), agents=agents, **fields)])
        if approve:
            writer.approve(addition.added)
    return list(addition.added)


def names(found: list[tuple[Any, CatalogueEntry]]) -> list[str]:
    return [entry.name for _, entry in found]


ROOT = Path(__file__).resolve().parents[2]
SURVEYOR = AgentSpec(name="surveyor", specialties=("tide tables",), description="Reads tide gauges")
PILOT = AgentSpec(name="pilot", specialties=("harbour pilotage",), description="Knows the channel")


# Every history of changes equals that of a plain dict.

SPECS = [AgentSpec(name=name, description=text) for name in ("ann", "bob", "cid") for text in ("reef", "reef kelp")]
changes = st.one_of(
    st.tuples(st.just("add"), st.lists(st.sampled_from(SPECS), max_size=3, unique_by=lambda spec: spec.name)),
    st.tuples(st.sampled_from(["approve", "revoke", "remove"]), st.sampled_from(["ann", "bob", "cid"])),
)


@given(st.lists(changes, max_size=12))
def test_any_history_of_changes_equals_a_dict_of_specs_and_approvals(history: list[tuple[str, Any]]) -> None:
    model: dict[str, tuple[AgentSpec, int, bool]] = {}
    with tempfile.TemporaryDirectory() as folder, CatalogueWriter(Path(folder) / "c.db", by="ada") as writer:
        catalogue = writer.catalogue
        for kind, subject in history:
            ids = {entry.name: entry.id for entry in catalogue.entries()}
            if kind == "add":
                writer.add([Pack(name="p", agents=subject)])
                for spec in subject:
                    before, revision, _ = model.get(spec.name, (None, 0, False))
                    if before != spec:
                        model[spec.name] = (spec, revision + 1, False)
            elif subject not in model:
                with pytest.raises(CatalogueError):
                    getattr(writer, kind)([ids.get(subject, "c0")])
            elif kind == "remove":
                writer.remove([ids[subject]])
                del model[subject]
            else:
                getattr(writer, kind)([ids[subject]])
                model[subject] = (*model[subject][:2], kind == "approve")
            current = {e.name: (e.spec, e.revision, e.is_approved) for e in catalogue.entries()}
            assert current == model
            assert {e.hash for e in catalogue.entries()} == {spec_hash(spec) for spec, _, _ in model.values()}
            approved = {name for name, (_, _, is_approved) in model.items() if is_approved}
            assert set(names(find(catalogue, "reef", 9))) == approved
            assert set(names(find(catalogue, "reef", 9, approved_only=False))) == set(model)
            with_kelp = {name for name in approved if model[name][0].description == "reef kelp"}
            assert set(names(find(catalogue, "kelp", 9))) == with_kelp


@given(st.lists(st.text(string.ascii_lowercase + "0123456789 '+#\"*()-^", min_size=1, max_size=12), max_size=12))
def test_every_word_of_an_entry_finds_it_and_no_sign_of_a_request_is_an_operator(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "c.db"
        text = " ".join(["gauge", *texts])
        add(file, AgentSpec(name="reader", description=text))
        assert names(find(Catalogue.open(file), text)) == ["reader"]
        assert Catalogue.open(file).search(texts) is not None


# Words


def test_a_word_matches_whole(path: Path) -> None:
    add(path, *(AgentSpec(name=f"n{number}", specialties=(f"topic{number}",)) for number in (1, 12)))

    assert names(find(Catalogue.open(path), "topic12")) == ["n12"]
    assert names(find(Catalogue.open(path), "topic1")) == ["n1"]


def test_a_request_is_matched_by_stems_and_where_no_word_fits_by_synonyms(path: Path) -> None:
    add(path, AgentSpec(name="a", specialties=("universe",)), AgentSpec(name="b", specialties=("summarization",)))

    assert names(find(Catalogue.open(path), "universes")) == ["a"]
    assert names(find(Catalogue.open(path), "universities")) == []
    assert names(find(Catalogue.open(path), "digest")) == ["b"]


def test_the_best_entry_is_found_among_thousands_also_by_frequent_words_and_those_of_others(path: Path) -> None:
    crowd = [AgentSpec(name=f"v{n}", specialties=("survey",)) for n in range(2_100)]
    crowd += [AgentSpec(name=f"s{n}", specialties=("reefs",)) for n in range(2_100)]
    add(path, *crowd, AgentSpec(name="both", specialties=("survey", "reefs")))
    add(path, AgentSpec(name="hidden", specialties=("topic12",)), name="other", approve=False)

    assert names(find(Catalogue.open(path), "survey the reefs", 1)) == ["both"]
    assert names(find(Catalogue.open(path), "survey reefs of topic12", 1)) == ["both"]
    assert len(find(Catalogue.open(path), "survey topic12", 9)) == 9
    everything = find(Catalogue.open(path), "survey reefs of topic12", 9, approved_only=False)
    assert {"both", "hidden"} <= set(names(everything))


def test_a_search_can_be_limited_to_sources(path: Path) -> None:
    add(path, SURVEYOR)
    add(path, SURVEYOR, source="entry_point")

    (found,) = find(Catalogue.open(path), "tide", sources=["entry_point"])
    assert found[1].source == "entry_point"
    assert len(find(Catalogue.open(path), "tide")) == 2


# Approval


def test_a_changed_spec_is_a_new_revision_that_nobody_approved_and_the_earlier_one_is_kept(path: Path) -> None:
    (entry_id,) = add(path, SURVEYOR)
    with CatalogueWriter(path) as writer:
        (addition,) = writer.add([Pack(name="tides", agents=[AgentSpec(name="surveyor", run="os:system")])])

    first, second = Catalogue.open(path).revisions(entry_id)
    assert (addition.changed, addition.added) == ((entry_id,), ())
    assert (first.spec, first.approved_by, first.is_approved) == (SURVEYOR, "ada", False)
    assert (second.revision, second.approved_ms) == (2, None)
    assert find(Catalogue.open(path), "surveyor tide") == []
    with closing(sqlite3.connect(path)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM words WHERE words MATCH 'surveyor'").fetchone()
    assert rows == 1  # revisions of the past make no search slower


def test_an_approval_of_what_is_no_longer_there_is_refused(path: Path) -> None:
    surveyor, pilot = add(path, SURVEYOR, PILOT, approve=False)
    seen = {surveyor: spec_hash(SURVEYOR), pilot: spec_hash(SURVEYOR)}
    with CatalogueWriter(path) as writer, pytest.raises(CatalogueError, match=f"{pilot} has changed meanwhile"):
        writer.approve(seen, expected_hashes=seen)
    assert Catalogue.open(path).entries(approved_only=True) == []
    with CatalogueWriter(path) as writer:
        writer.approve([surveyor], expected_hashes=seen)

    (entry,) = Catalogue.open(path).entries(approved_only=True)
    assert entry.id == surveyor


def test_of_several_ids_none_is_approved_if_one_is_unknown(path: Path) -> None:
    (entry_id,) = add(path, SURVEYOR, approve=False)
    with CatalogueWriter(path) as writer, pytest.raises(CatalogueError, match="no entry 'c0'"):
        writer.approve([entry_id, "c0"])

    assert Catalogue.open(path).entries(approved_only=True) == []


def test_a_removed_entry_is_readable_by_its_id_and_the_pack_makes_a_new_one(path: Path) -> None:
    (entry_id,) = add(path, SURVEYOR)
    with CatalogueWriter(path) as writer:
        writer.remove([entry_id])
    (new_id,) = add(path, SURVEYOR, approve=False)

    removed = Catalogue.open(path).entry(entry_id)
    assert removed is not None
    assert (removed.is_approved, removed.spec) == (False, SURVEYOR)
    assert new_id != entry_id
    assert Catalogue.open(path).count() == 1


def test_entries_that_a_pack_no_longer_contains_are_named_and_stay(path: Path) -> None:
    add(path, SURVEYOR, PILOT)
    with CatalogueWriter(path) as writer:
        (addition,) = writer.add([Pack(name="tides", agents=[SURVEYOR], version="2")])
        other = writer.add([Pack(name="other", agents=[SURVEYOR])])[0]

    catalogue = Catalogue.open(path)
    assert [entry.name for entry in map(catalogue.entry, addition.absent) if entry] == ["pilot"]
    assert (addition.unchanged, len(other.added), catalogue.count()) == (1, 1, 3)


def test_an_interrupted_addition_adds_nothing(path: Path) -> None:
    calls = count()

    def progress(done: int, total: int) -> None:
        assert Catalogue.open(path).count() == 1  # a reader waits for no writer, and sees all of an addition or nothing
        if next(calls) == 2:
            raise KeyboardInterrupt

    add(path, PILOT, name="earlier")
    crowd = [AgentSpec(name=f"n{number}", description="reef") for number in range(1_200)]
    with CatalogueWriter(path) as writer, pytest.raises(KeyboardInterrupt):
        writer.add([Pack(name="reefs", agents=crowd)], progress)

    assert [entry.name for entry in Catalogue.open(path).entries()] == ["pilot"]
    assert find(Catalogue.open(path), "reef", approved_only=False) == []


# The file


def accidents(path: Path) -> Iterator[None]:
    """Change the file in several ways that make it unusable, one after the other."""
    sound = path.read_bytes()
    for content in (b"not a database " * 1_000, sound[:4_096] + bytes(len(sound) - 4_096), sound[: len(sound) // 2]):
        path.write_bytes(content)
        yield
    for sql in ("PRAGMA user_version = 99", "PRAGMA application_id = 7", "CREATE TABLE stray (a)"):
        path.write_bytes(sound)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(sql)
        yield
    path.write_bytes(sound)
    path.chmod(0o666)
    yield
    path.chmod(0o600)
    if os.geteuid() == 0:
        os.chown(path, 1_234, -1)
        yield
        os.chown(path, 0, -1)


def test_a_reader_survives_deletion_and_damage_and_reads_again_what_is_put_back(path: Path) -> None:
    add(path, SURVEYOR)
    catalogue = Catalogue.open(path)
    sound = path.read_bytes()

    path.unlink()
    assert (find(catalogue, "tide"), catalogue.count(), catalogue.keys()) == ([], 0, [])
    path.write_bytes(b"")
    assert find(catalogue, "tide") == []
    path.write_bytes(sound)
    for _ in accidents(path):
        with pytest.raises(CatalogueError) as refused:
            find(catalogue, "tide")
        assert str(path) in str(refused.value)
        assert "\n" not in str(refused.value)
    assert names(find(catalogue, "tide")) == ["surveyor"]


def test_a_writer_changes_no_file_that_is_not_a_sound_catalogue(path: Path) -> None:
    add(path, SURVEYOR)
    for _ in accidents(path):
        content = path.read_bytes()
        with pytest.raises(CatalogueError):
            add(path, PILOT)
        assert path.read_bytes() == content


KILLED = """
import os, signal, sys
from engine.catalogue import Pack
from engine.catalogue.writer import CatalogueWriter
from engine.core.specs.spec import AgentSpec

agents = [AgentSpec(name=f"n{number}", description="reef") for number in range(600)]
with CatalogueWriter(sys.argv[1]) as writer:
    writer.add([Pack(name="reefs", agents=agents)], lambda done, _: done and os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_writer_that_is_killed_leaves_the_catalogue_as_it_was_and_free_for_the_next(path: Path) -> None:
    add(path, SURVEYOR)
    killed = subprocess.run([sys.executable, "-P", "-c", KILLED, str(path)], cwd=ROOT, env={"PYTHONPATH": str(ROOT)})

    assert killed.returncode == -signal.SIGKILL
    assert names(find(Catalogue.open(path), "reef tide", approved_only=False)) == ["surveyor"]
    add(path, PILOT, name="other")
    assert Catalogue.open(path).count() == 2


def test_a_deleted_catalogue_is_made_anew_without_the_log_of_the_old_one(path: Path) -> None:
    log = path.with_name("catalogue.db-wal")
    with CatalogueWriter(path) as writer:
        writer.add([Pack(name="tides", agents=[SURVEYOR])])
        left_over = log.read_bytes()
    path.unlink()
    log.write_bytes(left_over)
    add(path, PILOT)

    assert [entry.name for entry in Catalogue.open(path).entries()] == ["pilot"]


def test_the_file_is_for_its_user_alone_and_a_reader_makes_none(path: Path) -> None:
    assert Catalogue.open(path).entries() == []
    assert not path.exists()
    add(path, SURVEYOR)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_path_is_the_argument_or_the_variable_or_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUARTERDECK_CATALOGUE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert Catalogue.open().path == tmp_path / "quarterdeck" / "catalogue.db"
    monkeypatch.setenv("QUARTERDECK_CATALOGUE", str(tmp_path / "mine.db"))
    assert Catalogue.open().path == tmp_path / "mine.db"
    assert Catalogue.open(tmp_path / "other.db").path == tmp_path / "other.db"
    for name in ("QUARTERDECK_CATALOGUE", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "")
    assert Catalogue.open().entries() == []
