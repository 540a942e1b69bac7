"""Programs are trusted like code: by all that they are started with, and by the files that they are given."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core.queries.team.code import program_of, program_reference, references_of
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.errors import Unusable
from engine.host.trusting import Trusting
from engine.teamfile import TeamFileError, parse_team
from engine.trusted_code.closure import Folder, digest_of, files_of
from engine.trusted_code.trust import TrustList

TEAM = """version: 1
supervisor: {name: desk}
agents:
  - {name: shout, type: process, options: {argv: [./shout.sh, -x], env: [SHOUT_KEY], cwd: below}}
"""


def spec(*argv: str, **options: Any) -> AgentSpec:
    return AgentSpec(name="tool", agent_type="process", options={"argv": list(argv), **options})


def test_a_reference_shows_all_that_a_program_is_started_with() -> None:
    shown = references_of(spec("sh", "-c", "rm -r *", env=["A_KEY", "B"], cwd="a b"))

    assert shown == ["exec:sh -c 'rm -r *' [env A_KEY B] [cwd 'a b']"]
    assert references_of(spec("tr", "a-z", "A-Z", cwd=".", once=True)) == ["exec:tr a-z A-Z"]


def test_the_team_file_lists_its_programs_with_its_functions() -> None:
    file = parse_team(TEAM, Path("team.yaml"))

    assert file.references == ["exec:./shout.sh -x [env SHOUT_KEY] [cwd below]"]
    assert file.references == references_of(file.load_command().team.members[0])  # type: ignore[arg-type]


WORDS = st.text(alphabet=st.sampled_from("a [envcwd]'\" \n"), max_size=8)
STARTS = st.tuples(st.lists(WORDS, min_size=1, max_size=3), st.lists(st.sampled_from("AB"), max_size=2), WORDS)


@given(STARTS, STARTS)
def test_two_programs_that_differ_in_anything_have_two_references(
    one: tuple[list[str], list[str], str], other: tuple[list[str], list[str], str]
) -> None:
    first, second = (program_reference(argv, env=env, cwd=cwd) for argv, env, cwd in (one, other))

    assert (first == second) == (one == other)


@pytest.mark.parametrize("options", [{}, {"argv": "cat"}, {"argv": ["cat"], "env": "KEY"}])
def test_options_that_are_wrong_in_shape_name_no_program(options: dict[str, object]) -> None:
    assert program_of("process", options) == []  # type: ignore[arg-type]


def test_a_file_that_its_arguments_name_is_part_of_what_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "shout.sh").write_text("echo")
    (tmp_path / "tr").write_text("not PATH's")
    (tmp_path.parent / "outside").write_text("")
    reference = program_reference(["./shout.sh", "tr", "../outside", "below", "x" * 300], cwd="below")

    files = files_of(Folder(tmp_path).sources(reference), tmp_path)

    assert set(files) == {"below/shout.sh", "tr"}


def test_a_script_that_was_edited_is_not_executed(tmp_path: Path) -> None:
    script = tmp_path / "shout.sh"
    script.write_text("echo one")
    reference = program_reference(["./shout.sh"])
    trusted = TrustList(tmp_path / "data" / "trust.json")
    sources = Folder(tmp_path).sources(reference)
    db = tmp_path / "team.db"
    trusted.allow(db, "", references=[reference], at_ms=1, files=files_of(sources, tmp_path), db=db)
    state = State()
    state.trusted[reference] = digest_of(sources)
    trusting = Trusting(trusted, db=db, folder=tmp_path, state=lambda: state, is_program=False)
    assert trusting.sources(reference) == sources

    script.write_text("echo two")

    with pytest.raises(Unusable, match="has changed since it was"):
        trusting.sources(reference)


def test_a_program_that_nobody_allowed_is_not_executed(tmp_path: Path) -> None:
    trusting = Trusting(
        TrustList(tmp_path / "trust.json"), db=tmp_path / "team.db", folder=tmp_path, state=State, is_program=False
    )

    with pytest.raises(Unusable, match="'exec:tr a-z A-Z' is not trusted; allow it with: quarterdeck trust"):
        trusting.sources("exec:tr a-z A-Z")


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("{name: a, type: process}", "team.yaml:4: agents[a].options: is missing; name the program"),
        ("{name: a, type: process, options: {argv: cat}}", "options.argv: must be a list"),
        (
            "{name: a, type: process, options: {argv: [cat], inputt: stdin}}",
            "options.inputt: is not a key here; did you mean input?",
        ),
        ("{name: a, type: process, options: {argv: [cat], input: file}}", "options.input: must be stdin or argument"),
        (
            "{name: a, type: process, options: {argv: [cat], env: [A-B]}}",
            "options.env[1]: is not allowed; write the name of an environment variable, not a key",
        ),
        (
            "{name: a, type: process, run: 'crew:f', options: {argv: [cat]}}",
            "run: does nothing for an agent of type process",
        ),
        (
            "{name: a, type: process, options: {argv: [cat], protocol: jsonl, input: argument}}",
            "gets its task on stdin",
        ),
    ],
)
def test_the_team_file_says_what_is_wrong_with_a_program_and_where(agent: str, said: str) -> None:
    with pytest.raises(TeamFileError) as error:
        parse_team(f"version: 1\nsupervisor: {{name: desk}}\nagents:\n  - {agent}\n", Path("team.yaml"))

    assert said in str(error.value), str(error.value)
    assert len(error.value.problems) == 1
