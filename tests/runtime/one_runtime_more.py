"""What follows from the file of a runtime and its line; `test_one_runtime_more` runs this where they are."""

from pathlib import Path

import pytest

from engine.core.specs.spec import AgentSpec
from engine.errors import Unusable
from engine.runtimes.catalogue import kinds
from engine.teamfile import TeamFileError, json_schema, parse_team
from engine.teamfile.build import supervisor_spec
from tests.runtime.engines import Engines

FAULTY = """\
version: 1
supervisor: {name: desk}
agents:
  - name: ada
    type: echo
    model: openai/gpt-4o
    options:
      times: 12
      tmes: 3
  - {name: bob, type: ecco}
"""


def test_a_team_file_with_wrong_options_and_keys_is_refused_line_by_line() -> None:
    with pytest.raises(TeamFileError) as error:
        parse_team(FAULTY, Path("team.yaml"))

    assert [f"{fault.line}: {fault.field}: {fault.text}" for fault in error.value.problems] == [
        "6: agents[ada].model: does nothing for an agent that echoes; leave it out",
        "8: agents[ada].options.times: must be at most 10, not 12",
        "9: agents[ada].options.tmes: is not a key here; did you mean times?",
        "10: agents[bob].type: no runtime 'ecco'; did you mean echo?",
    ]


def test_the_schema_for_editors_has_its_options() -> None:
    assert json_schema()["$defs"]["EchoOptions"]["properties"]["times"]["maximum"] == 10


def test_a_program_is_told_of_a_key_without_effect() -> None:
    with pytest.raises(Unusable, match="agent 'ada': model does nothing for an agent that echoes; leave it out"):
        kinds()["echo"].check_keys(AgentSpec(name="ada", agent_type="echo", model="openai/gpt-4o"))


@pytest.mark.anyio
async def test_an_agent_of_a_team_file_works(engine: Engines) -> None:
    file = parse_team(FAULTY[: FAULTY.index("    model")] + "    options: {times: 3}\n", Path("team.yaml"))
    (spec,) = supervisor_spec(file.team).members

    async with engine(spec) as running:
        assert await running.ask("hello") == "hello hello hello"
