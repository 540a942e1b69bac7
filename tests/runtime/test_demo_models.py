"""The scripted team of the demo, without its pauses: its story ends, and its figures are those of its tools."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from dashboard.cli.demo import INCIDENT, incident_file
from dashboard.demo import desk
from engine.core.commands import Answer
from engine.core.state import RunStatus, RunSummary
from engine.teamfile import parse_team
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, running

UNPAUSED = {"delay_s": 0, "every_s": 0, "silent_s": 0, "retry_after_s": 0.01, "base_s": 0.01}
YES = {"approval": "allow_once", "ask": "yes, 30 are enough", "budget": "continue"}


@dataclass
class Story:
    """What came of the incident."""

    summary: RunSummary
    report: str
    asked: Counter[str]
    errors: list[str]
    said: list[str]
    """Texts of models."""
    results: str
    """Results of tools."""
    deployed: list[str]


@pytest.fixture
def desk_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setattr(desk, "PACE", 0.0)
    return desk.lay_out()


async def _answer_all(engine: Engine, run_id: str, answers: Mapping[str, str]) -> Counter[str]:
    asked: Counter[str] = Counter()
    while run_id in engine.state.runs:
        for question in [*engine.state.escalations.values()]:
            asked[question.kind] += 1
            await engine.host.order(Answer(escalation=question.id, answer=answers[question.kind]))
        await engine.until(lambda state: run_id not in state.runs or bool(state.escalations))
    return asked


async def _story(folder: Path, answers: Mapping[str, str]) -> Story:
    text = incident_file().read_text(encoding="utf-8")
    for key, value in UNPAUSED.items():
        text = re.sub(rf"(?<=[{{ ]){key}: [\d.]+(?=[,}}])", f"{key}: {value}", text)
    async with running() as engine:
        await engine.host.order(parse_team(text, incident_file()).load_command(folder=folder))
        run_id = await engine.submit(INCIDENT)
        with anyio.fail_after(PATIENCE_S):
            asked = await _answer_all(engine, run_id, answers)
        summary, output = await engine.ended(run_id)
        bodies = [(record.kind, json.loads(record.body)) for record in await engine.journal()]
    steps = [body for kind, body in bodies if kind == "step_recorded"]
    deployments = folder / "deployments.txt"
    return Story(
        summary,
        str(output),
        asked,
        [body["error_type"] for kind, body in bodies if kind == "model_failed"],
        [body["output"].get("text", "") for body in steps if body.get("what") == "model"],
        json.dumps([body["output"] for body in steps if body.get("what") == "tool"]),
        deployments.read_text().splitlines() if deployments.exists() else [],
    )


def test_the_incident_is_found_changed_and_shipped_with_the_consent_of_a_person(desk_at: Path) -> None:
    story = anyio.run(_story, desk_at, YES)

    assert story.summary.status is RunStatus.DONE
    assert story.report.startswith("# Checkout was slow in the evening")
    assert story.asked == {"approval": 2, "ask": 1, "budget": 1}
    assert sorted(story.errors) == ["rate_limit", "server"]
    assert story.deployed == ["canary.toml to staging", "pool.toml to production"]
    assert not any("no line for this" in text for text in story.said)


def test_the_figures_that_models_name_are_those_that_tools_computed(desk_at: Path) -> None:
    story = anyio.run(_story, desk_at, YES)

    named = {number for text in story.said for number in re.findall(r"\b(\d+) ms", text)} - {"300", "400", "600", "700"}
    assert named <= set(re.findall(r"\d+", story.results))
    assert '"matching": 45' in story.results
    assert "90 of the 120" in story.report.replace("\n", " ")


def test_what_a_person_rejects_is_not_deployed_and_the_story_goes_on(desk_at: Path) -> None:
    answers = {"approval": "reject_once", "ask": "I have to ask the database team", "budget": "continue"}
    story = anyio.run(_story, desk_at, answers)

    assert story.summary.status is RunStatus.DONE
    assert story.deployed == []
    assert any("It was not allowed" in text for text in story.said)


@pytest.mark.parametrize("path", ["/etc/passwd", "../models.db", "pages/../../x", ""])
def test_the_tools_stay_in_their_folder(desk_at: Path, path: str) -> None:
    for reach in (desk.read_file, desk.check_config, lambda place: desk.write_file(place, "x")):
        with pytest.raises(ValueError, match="is not in the folder of this team"):
            anyio.run(reach, path)
