"""The stream of a run as a terminal and a pipe get it: questions stand in the pipe alone."""

import json
from pathlib import Path

import pytest

from dashboard.cli.printing.following import stream_run
from engine.core.commands import Answer
from tests.runtime.engines import Engines
from tests.runtime.test_jsonl_agents import speaker

pytestmark = pytest.mark.anyio

ASKS = """
say(type='ask', id='1', question='Which reef?', options=['the inner one', 'the outer one'])
say(type='result', output=hear()['answer'])
"""


@pytest.mark.parametrize("as_json", [False, True])
async def test_a_question_is_in_the_stream_for_programs_and_not_beside_the_one_that_people_are_shown(
    engine: Engines, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    path = tmp_path / "team.db"
    async with engine(speaker(ASKS), path=path) as running:
        run_id = await running.submit()
        await running.until(lambda state: bool(state.escalations))
        await running.host.order(Answer(escalation=next(iter(running.state.escalations)), answer="the outer one"))
        await running.ended(run_id)

    with stream_run(path, run_id, as_json=as_json, quiet_until_now=False):
        pass

    written = capsys.readouterr()
    kinds = [json.loads(line)["event"]["kind"] for line in written.out.splitlines()]
    assert ("asked" in kinds, "✓ done" in written.err) == (as_json, not as_json)
    assert "Which reef?" not in written.err
