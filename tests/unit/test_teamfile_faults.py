"""All faults of a team file are told at once, and nothing that only follows from them."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from engine.teamfile import TeamFileError, parse_team
from engine.teamfile.document import MAX_PROBLEMS, MAX_SHOWN

PATH = Path("team.yaml")


class Quoting(yaml.SafeDumper):
    """Writes every text in quotes: YAML 1.1 takes some names for booleans."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))

FAULTS: dict[str, Any] = {
    "an unknown key": lambda team: team["supervisor"].update(max_paralel=3),
    "a number that is too small": lambda team: team["supervisor"].update(max_agents=0),
    "an unknown strategy": lambda team: team["supervisor"].update(strategy="sequental"),
    "a lead that is not there": lambda team: team["supervisor"].update(lead="nobody"),
    "a name twice": lambda team: team["agents"][1].update(name="a0"),
    "a time below zero": lambda team: team["agents"][0].update(timeout_s=-1),
    "a reference without a colon": lambda team: team["agents"][2].update(run="crew"),
    "no work": lambda team: team["agents"][3].pop("run"),
    "a key of the script": lambda team: team["agents"][4].update(script=[{"outpt": "x"}]),
    "a policy behind the last": lambda team: team["registry"][0].update(on_failure=["skip", "fail"]),
    "a name twice in the registry": lambda team: team["registry"][1].update(name="r0"),
    "a text for a number": lambda team: team["teams"][0]["agents"][0].update(weight="heavy"),
    "a name twice below": lambda team: team["teams"][0]["agents"][1].update(name="b0"),
    "a participant that is not there": lambda team: team["teams"][0]["supervisor"].update(participants=["b9"]),
    "a pool upside down": lambda team: team["teams"][1]["agents"][0].update(pool="9..2"),
    "no version": lambda team: team.pop("version"),
}


def healthy() -> dict[str, Any]:
    run = "crew:work"
    below = [
        {"supervisor": {"name": f"low{at}"}, "agents": [{"name": f"b{each}", "run": run} for each in range(3)]}
        for at in range(2)
    ]
    agents = [{"name": f"a{at}", "run": run} for at in range(4)] + [{"name": "played", "type": "scripted"}]
    registry = [{"name": f"r{at}", "run": run} for at in range(2)]
    return {
        "version": 1, "supervisor": {"name": "chief"}, "agents": agents, "teams": below, "registry": registry,
    }  # fmt: skip


@cache
def told_of(*wrong: str) -> frozenset[tuple[str, str]]:
    """Return field and text of every fault of a team that has these."""
    team = healthy()
    for each in wrong:
        FAULTS[each](team)
    with pytest.raises(TeamFileError) as caught:
        parse_team(yaml.dump(team, Dumper=Quoting, sort_keys=False), PATH)
    return frozenset((one.field, re.sub(r" on line \d+| there are .*", "", one.text)) for one in caught.value.problems)


def test_a_team_without_faults_has_none() -> None:
    assert parse_team(yaml.dump(healthy(), Dumper=Quoting, sort_keys=False), PATH).name == "chief"


@given(st.lists(st.sampled_from(list(FAULTS)), min_size=2, unique=True))
def test_the_faults_of_a_file_are_those_that_each_of_them_is_alone(wrong: list[str]) -> None:
    alone = [told_of(each) for each in wrong]

    assert told_of(*wrong) == set().union(*alone)


def test_a_member_whose_own_name_is_wrong_makes_no_other_name_unknown() -> None:
    text = 'version: 1\nsupervisor: {name: chief, default_agent: bob}\nagents: [{name: [bob], run: "a:b"}]\n'

    with pytest.raises(TeamFileError) as caught:
        parse_team(text, PATH)

    assert [one.field for one in caught.value.problems] == ["agents[1].name"]


def test_what_a_script_of_a_model_cannot_say_is_told_with_its_place() -> None:
    text = (
        'version: 1\nsupervisor: {name: chief}\nagents: [{name: a, run: "a:b"}]\n'
        'models: {fake: {replies: [{text: fine}, {txt: hi}, {match: "("}, {calls: [{name: x, args: {}}]}]}}\n'
    )

    with pytest.raises(TeamFileError) as caught:
        parse_team(text, PATH)

    assert [(one.field.removeprefix("models.fake."), one.text.split(":")[0]) for one in caught.value.problems] == [
        ("replies[2].txt", "is not a key here; did you mean text?"),
        ("replies[3].match", "not a regular expression"),
        ("replies[4].calls[x].args", "is not a key here; did you mean arguments?"),
    ]


def test_a_key_that_a_model_does_not_know_is_answered_with_those_of_a_model() -> None:
    text = (
        "version: 1\nsupervisor: {name: chief}\n"
        "models: {fast: {model: a/b, key: x, price: {in: 1}}}\nmcp: {files: {arg: [x]}}\n"
    )

    with pytest.raises(TeamFileError) as caught:
        parse_team(text, PATH)

    assert {one.field: one.text.split("; ")[1] for one in caught.value.problems} == {
        "models.fast.key": "did you mean key_env?",
        "models.fast.price.in": "there are in_usd, out_usd, cached_usd",
        "mcp.files.arg": "did you mean argv?",
    }


def test_a_key_in_the_place_of_its_variable_is_not_repeated() -> None:
    text = "version: 1\nsupervisor: {name: chief}\nmodels: {fast: {model: a/b, key_env: sk-proj-s3cret}}\n"

    with pytest.raises(TeamFileError) as caught:
        parse_team(text, PATH)

    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\nsupervisor: {name: 'chief}\nagents: []\n", "the quote that begins here is not closed"),
        ('version: 1\nsupervisor: {name: "chief}\nagents: []\n', "the quote that begins here is not closed"),
        ("version: 1\nagents: [a,\n  b\n", r"the \[ that begins here is not closed"),
        ("version: 1\nsupervisor: {name: chief\n\n", "the { that begins here is not closed"),
        ("version: 1\n# 漢 \x1b[31m\n", r"a control character \(\\x1b\)"),
        ("version: 1\n# \ud800\n", r"a control character \(\\ud800\)"),
    ],
)
def test_a_text_that_is_no_yaml_is_faulted_where_that_begins(text: str, said: str) -> None:
    with pytest.raises(TeamFileError, match=rf"team\.yaml:2: not valid YAML: {said}"):
        parse_team(text, PATH)


@pytest.mark.parametrize("text", ["version: 1\nagents:\n\t- {name: a}\n", "version: 1\rsupervisor:\r\tname: chief\r"])
def test_a_tab_is_named_as_what_is_wrong(text: str) -> None:
    with pytest.raises(TeamFileError, match=r"team\.yaml:3: not valid YAML: a tab cannot indent a line; use spaces"):
        parse_team(text, PATH)


HEAD = "version: 1\nsupervisor: {name: chief}\n"


def told(text: str) -> list[str]:
    with pytest.raises(TeamFileError) as caught:
        parse_team(text, PATH)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("script: [{delay_s: soon}]", "script[1].delay_s: must be a number, not the text 'soon'"),
        ("script: [{times: often}]", "script[1].times: must be a whole number, not the text 'often'"),
        ("type: acp, options: {argv: [x], worktree: a}", "options.worktree: must be true or false, not the text 'a'"),
    ],
)
def test_a_text_in_the_place_of_a_number_is_told_once_and_in_our_words(member: str, said: str) -> None:
    assert told(HEAD + f"agents: [{{name: a, {member}}}]") == [f"team.yaml:3: agents[a].{said}"]


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (
            "agents: [{name: a, run: 'x:y', options: {deep: [1, 1e999]}}]",
            "agents[a].options.deep[2]: must be a JSON",
        ),
        ("agents: [{name: a, script: [{output: 1e999}]}]", "agents[a].script[1].output: must be a JSON value, not inf"),
        (f"limits: {{task: {{cost_usd: '0.{'1' * 40}'}}}}", "limits.task.cost_usd: must be an amount"),
        ("models: {fast: {model: a/b, replies: [{text: x}]}}", "models.fast: says either 'model', the name that"),
        (
            "supervisor: {name: b, on_failure: [{retry: {base_s: 60}}]}",
            "supervisor.on_failure[1].retry.cap_s: must be",
        ),
        ("agents: [{name: a, run: 'x:y', limits: {agent: {tokens: 1}}}]", "agents[a].limits.agent: is not a key here"),
    ],
)
def test_what_only_a_record_refuses_is_a_fault_with_its_place(block: str, said: str) -> None:
    head = "version: 1\n" if "supervisor" in block else HEAD

    (line,) = told(head + block)

    assert line.partition(" ")[2].startswith(said)


def test_what_names_a_tool_server_with_a_fault_is_no_second_fault() -> None:
    agent = 'agents: [{name: a, run: "x:y", mcp: [files, web/search]}]\n'

    (line,) = told(HEAD + agent + "mcp: {web: {url: 'http://x'}, files: {argv: [x], url: 'http://x'}}")

    assert "mcp.files: says either 'argv'" in line


def test_a_name_that_fills_the_screen_is_cut_where_no_member_has_it() -> None:
    chief = f"{{name: chief, strategy: hierarchical_review, settings: {{levels: [[scout], [{'x' * 9000}]]}}}}"

    (line,) = told(f"version: 1\nsupervisor: {chief}\n" + 'agents: [{name: scout, run: "crew:survey"}]\n')

    assert "no member 'xxx" in line
    assert len(line) < 200


def test_a_file_with_very_many_faults_names_the_first_of_them() -> None:
    agents = "".join(f"- {{name: a{number}, modle: m}}\n" for number in range(MAX_PROBLEMS + 50))
    with pytest.raises(TeamFileError) as raised:
        parse_team(f"version: 1\nsupervisor: {{name: t, max_agents: 1000}}\nagents:\n{agents}", Path("team.yaml"))

    assert len(raised.value.problems) == MAX_PROBLEMS
    assert [problem.line for problem in raised.value.problems] == [*range(4, 4 + MAX_PROBLEMS)]
    assert str(raised.value).endswith(f"and {MAX_PROBLEMS - MAX_SHOWN} more at least")


MANY = range(MAX_PROBLEMS + 50)
MEANINGLESS: dict[str, dict[str, Any]] = {
    "servers of many agents": {"agents": [{"name": f"a{n}", "type": "llm", "mcp": ["s"]} for n in MANY]},
    "work of many agents": {"agents": [{"name": f"a{number}"} for number in MANY]},
    "members of many teams": {"teams": [{"supervisor": {"name": f"t{n}", "lead": "nobody"}} for n in MANY]},
    "keys of many servers": {"mcp": {f"s{n}": {"argv": ["x"], "headers_env": {"X": "A"}} for n in MANY}},
    "keys of many models": {
        "models": {f"m{n}": {"replies": [{"text": "x"}], "base_url": "http://127.0.0.1:9"} for n in MANY}
    },
}


@pytest.mark.parametrize("kind", MEANINGLESS)
def test_a_file_with_very_much_that_means_nothing_names_the_first_of_it(kind: str) -> None:
    team = {"version": 1, "supervisor": {"name": "desk", "max_agents": 1000}, **MEANINGLESS[kind]}
    with pytest.raises(TeamFileError) as raised:
        parse_team(yaml.dump(team, sort_keys=False), PATH)

    lines = [problem.line for problem in raised.value.problems]
    assert len(lines) == MAX_PROBLEMS
    assert lines == sorted(lines)
