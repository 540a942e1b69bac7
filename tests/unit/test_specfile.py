"""Files of agents to add: checked as in a team file, but against no team."""

from pathlib import Path

from dashboard.specfile import read_spec_file


def test_a_file_may_bring_as_many_agents_as_a_supervisor_may_be_set_to_have(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("".join(f"- {{name: new{one}, type: scripted}}\n" for one in range(60)))

    assert len(read_spec_file(file).agents) == 60
