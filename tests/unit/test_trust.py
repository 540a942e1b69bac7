"""Trust: a team file runs its code only as it was when somebody looked at it, and where it stood."""

import json
import os
import stat
import tempfile
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule

from engine.core.queries.team.code import is_imported
from engine.core.state import State, Team
from engine.errors import Unusable
from engine.host.trusting import Trusting
from engine.trusted_code.closure import Folder, digest_of, files_of
from engine.trusted_code.trust import Allowed, TrustList, UntrustedFile, UnusableTrustList, needs_assignment

REFERENCES = ["crew:survey"]
FILES = {"crew.py": "1"}


@pytest.fixture
def trusted(tmp_path: Path) -> TrustList:
    return TrustList(tmp_path / "data" / "trust.json")


def allow(trusted: TrustList, path: str, sha256: str, at_ms: int = 1) -> None:
    trusted.allow(Path(path), sha256, references=REFERENCES, at_ms=at_ms, files=FILES)


def test_a_file_is_trusted_by_its_place_and_its_content(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")

    assert trusted.is_trusted(Path("/a/team.yaml"), "one", FILES)
    assert not trusted.is_trusted(Path("/a/team.yaml"), "two", FILES)
    assert not trusted.is_trusted(Path("/b/team.yaml"), "one", FILES)


def test_allowing_an_edited_file_forgets_what_it_was(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")
    allow(trusted, "/a/team.yaml", "two", at_ms=2)

    assert not trusted.is_trusted(Path("/a/team.yaml"), "one", FILES)
    assert [(entry.sha256, entry.at_ms) for entry in trusted.entries()] == [("two", 2)]


def test_a_revoked_file_is_not_trusted_and_a_second_time_says_so(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")

    assert trusted.revoke(Path("/a/team.yaml"))
    assert not trusted.is_trusted(Path("/a/team.yaml"), "one", FILES)
    assert not trusted.revoke(Path("/a/team.yaml"))


def test_a_refusal_says_what_would_run_and_whether_the_file_was_edited(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")

    with pytest.raises(
        UntrustedFile, match=r"/a/team\.yaml has changed since it was trusted \(team\.yaml\); it runs crew:survey"
    ) as edited:
        trusted.check(Path("/a/team.yaml"), "two", references=REFERENCES, files=FILES)
    with pytest.raises(UntrustedFile, match=r"/b/team\.yaml is not trusted") as fresh:
        trusted.check(Path("/b/team.yaml"), "one", references=REFERENCES, files=FILES)

    assert edited.value.changed == ["team.yaml"]
    assert not fresh.value.changed


def test_a_file_that_it_imports_is_part_of_what_is_trusted(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")
    edited = {"crew.py": "2", "new.py": "1"}

    assert trusted.is_trusted(Path("/a/team.yaml"), "one", {})
    assert not trusted.is_trusted(Path("/a/team.yaml"), "one", edited)
    with pytest.raises(UntrustedFile, match=r"has changed since it was trusted \(crew\.py, new\.py\)"):
        trusted.check(Path("/a/team.yaml"), "one", references=REFERENCES, files=edited)


def granted(trusted: TrustList, folder: Path, **of: Path | None) -> list[str]:
    where = {"db": None, "team": None, **of}
    return list(trusted.find_granted(["crew:survey", "json:dumps", "other:f"], Folder(folder), **where))


def test_an_engine_may_import_what_was_allowed_for_its_team_or_its_database_and_nothing_else(
    trusted: TrustList, tmp_path: Path
) -> None:
    (tmp_path / "crew.py").write_text("def survey(text): ...")
    files = files_of(Folder(tmp_path).sources("crew:survey"), tmp_path)
    team, db, other = tmp_path / "team.yaml", tmp_path / "team.db", tmp_path / "other"
    trusted.allow(team, "one", references=["crew:survey"], at_ms=1, files=files)
    trusted.allow(tmp_path / "scout.yaml", "one", references=["json:dumps"], at_ms=1, files={}, db=db)

    assert granted(trusted, tmp_path, db=db, team=team) == ["json:dumps"], "nobody loaded the file into this database"
    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=2)
    assert granted(trusted, tmp_path, team=team) == []
    assert granted(trusted, tmp_path, db=db) == ["json:dumps"]
    assert granted(trusted, tmp_path, db=db, team=team) == ["crew:survey", "json:dumps"]
    assert granted(trusted, tmp_path, db=other, team=other) == granted(trusted, tmp_path) == []

    (tmp_path / "crew.py").write_text("def survey(text): 'edited'")
    assert granted(trusted, tmp_path, db=db, team=team) == ["json:dumps"]
    (tmp_path / "json.py").write_text("def dumps(text): 'in the place of what was allowed'")
    assert granted(trusted, tmp_path, db=db, team=team) == []


def test_an_engine_in_another_folder_than_that_of_imported_code_says_where_it_looked(
    trusted: TrustList, tmp_path: Path
) -> None:
    (tmp_path / "crew.py").write_text("def survey(text): ...")
    sources, db = Folder(tmp_path).sources("crew:survey"), tmp_path / "team.db"
    files = files_of(sources, tmp_path)
    trusted.allow(tmp_path / "crew.zip", "one", references=["crew:survey"], at_ms=1, files=files, db=db)
    state = State(trusted={"crew:survey": digest_of(sources)})
    other = tmp_path / "other"
    other.mkdir()

    def engine_in(folder: Path) -> Trusting:
        return Trusting(trusted, db=db, folder=folder, state=lambda: state, is_program=False)

    assert engine_in(tmp_path).sources("crew:survey") == sources
    with pytest.raises(Unusable, match=rf"in {other} is not the one that was trusted; start the engine in the folder"):
        engine_in(other).sources("crew:survey")


def test_what_a_file_brought_to_a_database_earlier_stays_allowed_there(trusted: TrustList, tmp_path: Path) -> None:
    db = tmp_path / "team.db"
    for reference in ("json:dumps", "other:f"):
        trusted.allow(tmp_path / "scout.yaml", reference, references=[reference], at_ms=1, files={}, db=db)

    assert granted(trusted, tmp_path, db=db) == ["json:dumps", "other:f"]


def test_an_edited_file_and_a_fork_keep_the_databases_that_its_user_loaded_it_into(
    trusted: TrustList, tmp_path: Path
) -> None:
    team, db, fork = tmp_path / "team.yaml", tmp_path / "team.db", tmp_path / "fork.db"
    allow(trusted, str(team), "one")
    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=2)
    allow(trusted, str(team), "two")
    trusted.inherit(db, fork)
    trusted.inherit(tmp_path / "other.db", tmp_path / "another.db")

    assert [trusted.work_folder(team, one) for one in (db, fork, tmp_path / "another.db")] == [
        str(tmp_path), str(tmp_path), None,
    ]  # fmt: skip
    assert trusted.revoke(team)
    assert trusted.work_folder(team, db) is None


def test_a_file_that_its_user_loads_from_another_folder_works_there_from_then_on(
    trusted: TrustList, tmp_path: Path
) -> None:
    team, db, other = tmp_path / "team.yaml", tmp_path / "team.db", tmp_path / "other.db"
    allow(trusted, str(team), "one")
    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=2)
    trusted.assign(team, "one", db=other, folder=tmp_path, at_ms=2)

    trusted.assign(team, "one", db=db, folder=tmp_path / "elsewhere", at_ms=3)

    assert [trusted.work_folder(team, one) for one in (db, other)] == [str(tmp_path / "elsewhere"), str(tmp_path)]


def test_loading_a_file_is_noted_for_the_file_and_not_for_what_a_spec_at_its_place_brought(
    trusted: TrustList, tmp_path: Path
) -> None:
    team, db = tmp_path / "team.yaml", tmp_path / "team.db"
    trusted.allow(team, "one", references=["json:dumps"], at_ms=1, files={}, db=db)
    (spec,) = trusted.entries()

    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=2)
    trusted.inherit(db, tmp_path / "fork.db")

    folders = {str(db): str(tmp_path), str(tmp_path / "fork.db"): str(tmp_path)}
    assert trusted.entries() == [Allowed(str(team), "one", [], 2, {}, "", folders), spec]
    before = trusted.path.stat()
    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=3)
    assert trusted.path.stat() == before


def test_a_fork_gets_the_files_of_its_own_database_alone(trusted: TrustList, tmp_path: Path) -> None:
    team, other, db, fork = (tmp_path / name for name in ("team.yaml", "other.yaml", "team.db", "fork.db"))
    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=1)
    trusted.assign(other, "one", db=tmp_path / "other.db", folder=tmp_path, at_ms=1)

    trusted.inherit(db, fork)

    assert [trusted.work_folder(file, fork) for file in (team, other)] == [str(tmp_path), None]


FIRST, HERE = State(), State(team=Team(path="/a/team.yaml", folder="/a", sha256="one", seq=1))


@pytest.mark.parametrize(
    ("state", "path", "folder", "references", "needs"),
    [
        (HERE, "/a/team.yaml", "/a", REFERENCES, False),
        (HERE, "/a/other.yaml", "/a", [], True),
        (HERE, "/a/team.yaml", "/b", [], True),
        (FIRST, "/a/team.yaml", "/a", [], False),
        (FIRST, "/a/team.yaml", "/b", [], True),
        (FIRST, "/a/team.yaml", "/a", REFERENCES, True),
        (State(trusted={"crew:survey": "one"}), "/a/team.yaml", "/a", [], True),
    ],
)
def test_others_than_the_user_edit_the_present_team_or_load_a_first_one_without_code(
    state: State, path: str, folder: str, references: list[str], *, needs: bool
) -> None:
    assert needs_assignment(state, path=path, folder=folder, references=references) is needs


def test_a_refusal_names_what_the_user_trusts_so_that_it_counts_here(trusted: TrustList, tmp_path: Path) -> None:
    team, db = tmp_path / "my team.yaml", tmp_path / "team.db"
    state = State(team=Team(path=str(team), folder=str(tmp_path), sha256="one", seq=1))
    state.trusted["crew:survey"] = "another"

    def refusal(allowed: TrustList | None, place: Path | None) -> str:
        trusting = Trusting(allowed, db=place, folder=tmp_path, state=lambda: state, is_program=False)
        with pytest.raises(Unusable) as refused:
            trusting.sources("crew:survey")
        return str(refused.value).rpartition(": ")[2]

    assert refusal(trusted, db) == f"quarterdeck trust {db}"
    assert refusal(trusted, None) == f"quarterdeck trust '{team}'"
    trusted.assign(team, "one", db=db, folder=tmp_path, at_ms=1)
    (tmp_path / "link.db").symlink_to(db)
    assert [refusal(trusted, place) for place in (db, tmp_path / "link.db")] == [f"quarterdeck trust '{team}'"] * 2


def test_a_file_that_runs_no_code_needs_no_trust(trusted: TrustList) -> None:
    trusted.check(Path("/a/team.yaml"), "one", references=[], files=FILES)

    assert not trusted.path.exists()


def test_a_change_of_the_list_survives_a_power_cut(trusted: TrustList, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    allow(trusted, "/a/team.yaml", "one")

    assert synced == [trusted.path.stat().st_ino, trusted.path.parent.stat().st_ino]


def test_nobody_else_may_read_or_write_the_list(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")

    assert stat.S_IMODE(trusted.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(trusted.path.parent.stat().st_mode) == 0o700


def test_a_list_that_others_could_have_written_counts_for_nothing(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one")
    trusted.path.chmod(0o666)

    with pytest.raises(UnusableTrustList, match="can be written by others"):
        trusted.is_trusted(Path("/a/team.yaml"), "one", FILES)


@given(
    content=st.binary(max_size=60)
    | st.sampled_from([b"{}", b"[]", b'{"files": [1]}', b'{"files": {"x": {}}}', b"[" * 5000])
)
def test_a_damaged_list_is_told_and_never_guessed(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    trusted = TrustList(tmp_path_factory.mktemp("trust") / "trust.json")
    trusted.path.write_bytes(content)

    with pytest.raises(UnusableTrustList, match="correct or delete it"):
        trusted.entries()


@pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to(path)])
def test_something_else_in_the_place_of_the_list_is_told(trusted: TrustList, make: object) -> None:
    trusted.path.parent.mkdir()
    assert callable(make)
    make(trusted.path)

    with pytest.raises(UnusableTrustList):
        trusted.entries()


def test_entries_keep_what_was_shown_and_when(trusted: TrustList) -> None:
    allow(trusted, "/a/team.yaml", "one", at_ms=5)
    allow(trusted, "/b/team.yaml", "one", at_ms=9)

    assert [(entry.path, entry.at_ms, entry.references) for entry in trusted.entries()] == [
        ("/b/team.yaml", 9, REFERENCES),
        ("/a/team.yaml", 5, REFERENCES),
    ]
    assert json.loads(trusted.path.read_text())["v"] == 1


def test_two_processes_that_allow_at_once_lose_nothing(trusted: TrustList) -> None:
    threads = [Thread(target=allow, args=(trusted, f"/{number}/team.yaml", "one")) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(trusted.entries()) == 8
    assert [path.name for path in trusted.path.parent.iterdir() if "-new-" in path.name] == []


class TrustFollowsItsModel(RuleBasedStateMachine):
    """Whatever is allowed and revoked, the list says what a dict of path to content says."""

    allowed = Bundle("allowed")
    paths = st.sampled_from(["/a", "/b", "/c"])

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._list = TrustList(Path(self._folder.name) / "trust.json")
        self._model: dict[str, str] = {}

    @rule(target=allowed, path=paths, sha256=st.sampled_from(["one", "two"]))
    def allow(self, path: str, sha256: str) -> str:
        allow(self._list, path, sha256)
        self._model[path] = sha256
        return path

    @rule(path=consumes(allowed))
    def revoke(self, path: str) -> None:
        assert self._list.revoke(Path(path)) == (self._model.pop(path, None) is not None)

    @rule(path=paths, sha256=st.sampled_from(["one", "two"]))
    def ask(self, path: str, sha256: str) -> None:
        assert self._list.is_trusted(Path(path), sha256, FILES) == (self._model.get(path) == sha256)

    def teardown(self) -> None:
        self._folder.cleanup()


TrustFollowsItsModel.TestCase.settings = settings(
    max_examples=8, stateful_step_count=12
)  # each step waits for the disk
test_trust_follows_its_model = TrustFollowsItsModel.TestCase


@pytest.mark.parametrize("reference", ["net:http://models.test/v1 [env TEAM_KEY]"])
def test_an_address_is_used_where_the_user_of_the_engine_allows_it(
    trusted: TrustList, tmp_path: Path, reference: str
) -> None:
    db = tmp_path / "team.db"
    state = State()
    state.trusted[reference] = ""
    trusting = Trusting(trusted, db=db, folder=tmp_path, state=lambda: state, is_program=False)

    with pytest.raises(Unusable, match="is not trusted; allow it with: quarterdeck trust"):
        trusting.check(reference)
    trusted.allow(db, "", references=[reference], at_ms=1, files={}, db=db)
    trusting.check(reference)
    with pytest.raises(Unusable, match="is not trusted"):
        trusting.check(reference.replace("TEAM", "OTHER"))


@pytest.mark.parametrize(
    ("reference", "is_its_code"),
    [
        ("net:survey", True),
        ("net:http://a", False),
        ("net:https://a", False),
        ("exec:sh", False),
        ("unasked:survey", True),
        ("unasked: ada calls pay [approve never]", False),
    ],
)
def test_a_module_may_have_the_name_of_a_kind_of_reference(reference: str, is_its_code: bool) -> None:
    assert is_imported(reference) == is_its_code


def test_a_list_that_cannot_be_written_says_where_else_it_could_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    trusted = TrustList(tmp_path / "file" / "trust.json")

    with pytest.raises(UnusableTrustList, match="XDG_DATA_HOME"):
        trusted.allow(Path("/a/team.yaml"), "one", references=REFERENCES, at_ms=1, files=FILES)
