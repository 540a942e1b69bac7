"""Code that an engine that stands by imports ahead: what is trusted, and never older than its file."""

from pathlib import Path

import pytest

from dashboard.cli.engines.readiness import Preloading, loadable_references
from engine.core.specs.spec import AgentSpec
from engine.core.state import State, Team
from engine.errors import Unusable
from engine.host.trusting import Trusting
from engine.trusted_code.closure import Folder, digest_of, files_of
from engine.trusted_code.references import Origin, resolve
from engine.trusted_code.trust import TrustList
from tests.patience import PATIENCE_S
from tests.world import team_world

REFERENCE = "ahead:work"
CODE = """\
from pathlib import Path
Path(__file__).with_name("seen").write_text("{name}")
def work(text):
    return "{name}"
"""


def test_only_what_is_trusted_and_runs_in_the_engine_is_loaded_ahead() -> None:
    here = AgentSpec(name="ada", run=REFERENCE)
    elsewhere = AgentSpec(name="bob", run="ahead:compute", run_in="process")
    state = team_world(here, elsewhere).state
    state.trusted.clear()
    untrusted = loadable_references(state)
    state.trusted.update({REFERENCE: "", "ahead:compute": ""})

    assert untrusted == set()
    assert loadable_references(state) == {REFERENCE}


def test_what_is_trusted_is_imported_and_never_from_a_file_that_has_changed(tmp_path: Path) -> None:
    (tmp_path / "ahead.py").write_text(CODE.format(name="old"))
    sources = Folder(tmp_path).sources(REFERENCE)
    team, db = tmp_path / "team.yaml", tmp_path / "team.db"
    allowed = TrustList(tmp_path / "trust.json")
    allowed.allow(team, "1", references=[REFERENCE], at_ms=1, files=files_of(sources, tmp_path))
    allowed.assign(team, "1", db=db, folder=tmp_path, at_ms=1)
    state = State(team=Team(path=str(team), folder=".", sha256="1", seq=1), trusted={REFERENCE: digest_of(sources)})
    trusting = Trusting(allowed, db=db, folder=None, state=lambda: state, is_program=False)

    preloading = Preloading(trusting)
    preloading.follow({REFERENCE, "ahead:missing"})
    assert preloading.wait(PATIENCE_S)
    assert (tmp_path / "seen").read_text() == "old"
    (tmp_path / "seen").unlink()
    assert resolve(Origin(REFERENCE, tmp_path, trusting.sources(REFERENCE)))("") == "old"
    assert not (tmp_path / "seen").exists()

    (tmp_path / "ahead.py").write_text(CODE.format(name="new"))
    another = Preloading(trusting)
    another.follow({REFERENCE})
    assert another.wait(PATIENCE_S)
    assert not (tmp_path / "seen").exists()
    with pytest.raises(Unusable, match="is not trusted, or its code has changed"):
        trusting.sources(REFERENCE)
