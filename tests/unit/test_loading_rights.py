"""Who may load which team file: what the user of the engine loaded, against commands from the inbox of others."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import AddAgent, LoadTeam
from engine.core.encoding.codec import decode_command, encode_command
from engine.core.records.records import copy_with
from engine.core.specs.spec import AgentSpec
from engine.core.state import State, Team
from engine.host.trusting import Trusting
from engine.teamfile import read_team
from engine.teamfile.code import TeamCode
from engine.trusted_code.trust import ForeignTeam, TrustList
from tests.depth import examples

TEAM = """version: 1
supervisor: {{name: {name}}}
agents:
  - {{name: ada, run: "crew:work"}}
  - {{name: sh, type: process, options: {{argv: [sh, -s], env: [TOKEN]}}}}
"""
PLAIN = "version: 1\nsupervisor: {name: plain}\nagents: [{name: ada, script: [{output: done}]}]\n"
FILES = ("own", "other", "plain")
REFERENCES = {"crew:work", "exec:sh -s [env TOKEN]"}


class Place:
    """Three folders with a team file each, one database, and the list of the user of its engine."""

    def __init__(self, root: Path) -> None:
        self.db = root / "team.db"
        self.allowed = TrustList(root / "data" / "trust.json")
        self.files = {}
        for name in FILES:
            folder = root / name
            folder.mkdir()
            (folder / "crew.py").write_text("def work(text): return text")
            (folder / "team.yaml").write_text(PLAIN if name == "plain" else TEAM.format(name=name))
            self.files[name] = read_team(folder / "team.yaml")

    def allow(self, name: str) -> None:
        file, code = self.files[name], TeamCode(self.files[name])
        self.allowed.allow(file.path, file.sha256, references=file.references, at_ms=1, files=code.files)

    def assign(self, name: str) -> None:
        file = self.files[name]
        self.allowed.assign(file.path, file.sha256, db=self.db, folder=file.folder, at_ms=1)

    def state(self, name: str | None) -> State:
        if name is None:
            return State()
        file = self.files[name]
        return State(team=Team(path=str(file.path), folder=str(file.folder), sha256=file.sha256, seq=1))

    def by_inbox(self, command: LoadTeam | AddAgent, state: State) -> set[str] | None:
        """Return what an engine grants a command of its inbox; None if it refuses the command."""
        trusting = Trusting(self.allowed, db=self.db, folder=None, state=lambda: state, is_program=False)
        try:
            return set(trusting.grants_of_inbox(decode_command(command.type, encode_command(command))))
        except ForeignTeam:
            return None


@settings(max_examples=examples(12))  # each writes files
@given(st.data())
def test_an_engine_loads_and_grants_what_its_own_user_loaded_into_its_database(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        trusted, loaded = data.draw(st.sets(st.sampled_from(FILES))), data.draw(st.sets(st.sampled_from(FILES)))
        for name in trusted:
            place.allow(name)
        for name in loaded:
            place.assign(name)
        present, brought = data.draw(st.sampled_from([None, *FILES])), data.draw(st.sampled_from(FILES))
        moved = data.draw(st.booleans())
        command = place.files[brought].load_command(folder=Path(root) if moved else None)

        granted = place.by_inbox(command, place.state(present))

        is_edit, is_first = present == brought, present is None and brought == "plain"
        assert (granted is not None) == (not moved and (brought in loaded or is_edit or is_first))
        if granted is not None:
            assert granted == (REFERENCES if {brought} & trusted & loaded - {"plain"} else set())


@settings(max_examples=examples(6))
@given(st.data())
def test_a_database_that_names_a_trusted_file_gets_nothing_by_that(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        for name in ("own", "other"):
            place.allow(name)
        loaded = data.draw(st.sets(st.sampled_from(["own", "other"])))
        for name in loaded:
            place.assign(name)
        named = data.draw(st.sampled_from(["own", "other"]))

        granted = place.by_inbox(
            AddAgent(supervisor=None, spec=AgentSpec(name="new", run="crew:work")), place.state(named)
        )

        assert granted == ({"crew:work"} if named in loaded else set())


def test_a_team_that_is_not_what_its_text_says_is_refused() -> None:
    with tempfile.TemporaryDirectory() as root:
        place = Place(Path(root))
        place.allow("own")
        place.assign("own")
        command, state = place.files["own"].load_command(), place.state("own")
        other = place.files["plain"].load_command()
        lies = [
            copy_with(command, team=other.team), copy_with(command, text=other.text), copy_with(command, sha256="0"),
            copy_with(command, registry=[AgentSpec(name="new", run="crew:work")]), copy_with(command, text="{"),
            copy_with(command, text=command.text + "#" * 1_000_000),
        ]  # fmt: skip

        assert place.by_inbox(command, state) == REFERENCES
        assert place.by_inbox(copy_with(command, prune=True, on_conflict="current"), state) == REFERENCES
        assert [place.by_inbox(lie, state) for lie in lies] == [None] * len(lies)
