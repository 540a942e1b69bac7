"""`up` on a team whose engine was started by another build of quarterdeck says so, and what to do."""

import json
from pathlib import Path

import pytest

from dashboard.cli import main
from engine.core.events import EngineStarted
from engine.platform.version import program_build, program_version
from engine.reading.folding import events_of
from store import Reader
from tests.runtime.shell import team_at_work

TEAM = 'version: 1\nsupervisor: {name: crew}\nagents: [{name: ada, run: "hands:work"}]\n'
HANDS = "async def work(text): return text\n"


def test_an_engine_of_another_build_is_named_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QUARTERDECK_DB", str(tmp_path / "team.db"))
    words = ["up", str(tmp_path / "team.yaml"), "--detach"]
    with team_at_work(tmp_path, TEAM, HANDS) as engine:
        assert main(words) == 0
        same = capsys.readouterr().out
        monkeypatch.setattr("dashboard.cli.engines.up.program_build", lambda: "9.9.9+00000000")
        assert main(words) == 0
        other = capsys.readouterr().out
        assert main([*words, "--json"]) == 0
        body = json.loads(capsys.readouterr().out)
        with Reader(engine.db) as reader:
            (started,) = events_of(reader.records(0, kinds=("engine_started",)))

    assert isinstance(started, EngineStarted)
    assert started.version == program_build()
    assert program_build().startswith(f"{program_version()}+")
    assert "runs quarterdeck" not in same
    assert f"engine {engine.process.pid} runs quarterdeck {program_build()}, and this is 9.9.9+00000000" in other
    assert f"quarterdeck stop --db {engine.db} && quarterdeck up {tmp_path / 'team.yaml'}" in other
    assert (body["build"], body["other_build"]) == (program_build(), True)
