"""Files of agents to add: checked as in a team file, but against no team."""

from pathlib import Path

import pytest

from dashboard.user.specfile import read_spec_file
from engine.teamfile import TeamFileError


def test_a_file_may_bring_as_many_agents_as_a_supervisor_may_be_set_to_have(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("".join(f"- {{name: new{one}, type: scripted}}\n" for one in range(60)))

    assert len(read_spec_file(file).agents) == 60


def test_two_agents_of_one_name_are_told_of_by_their_lines_and_no_supervisor_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("- {name: new, type: scripted}\n- {name: new, type: scripted}\n")

    with pytest.raises(TeamFileError) as refused:
        read_spec_file(file)

    assert "2: agents[new].name: there is a 'new' on line 1 already; choose another name" in str(refused.value)
    assert "supervisor" not in str(refused.value)
