"""Team files: what is read, and that every fault is told in one line with its place."""

import json
import os
import socket
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import SupervisorSpec
from engine.core.encoding.codec import decode_command, encode_command
from engine.core.specs.discovery import AgentDiscoveryMode
from engine.core.specs.limits import Limits
from engine.core.specs.options import Preempt, SupervisorOptions
from engine.core.specs.spec import AgentSpec, Circuit, Escalate, Failover, Pool, Restart, Retry, Skip
from engine.teamfile import TeamFile, TeamFileError, UnusableTeamFile, json_schema, parse_team, read_team
from engine.teamfile.document import MAX_DEPTH, read_document

PATH = Path("team.yaml")
HEAD = "version: 1\nsupervisor: {name: chief}\n"
AGENT = 'agents: [{name: scout, run: "crew:survey"}]\n'


def parsed(text: str) -> TeamFile:
    return parse_team(text, PATH)


def faults(text: str) -> list[str]:
    """Lines that are told of a file, without its name."""
    with pytest.raises(TeamFileError) as caught:
        parsed(text)
    return [line.removeprefix("team.yaml:") for line in str(caught.value).splitlines()]


class Quoting(yaml.SafeDumper):
    """Writes every text in quotes: PyYAML takes `1e+100` for a text, we take it for a number."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))

names = st.from_regex(r"[A-Za-z][A-Za-z0-9_-]{0,12}", fullmatch=True)


@st.composite
def agents(draw: st.DrawFn) -> dict[str, Any]:
    agent: dict[str, Any] = {"name": draw(names), "run": "crew.parts:work"}
    optional = {
        "description": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20),
        "specialties": st.lists(names, max_size=3),
        "tools": st.just(["crew.tools:search"]),
        "max_concurrency": st.integers(1, 10_000),
        "weight": st.floats(0.1, 10),
        "timeout_s": st.integers(1, 600),
        "run_in": st.sampled_from(["loop", "thread", "process"]),
        "on_failure": st.lists(st.sampled_from(["failover", "retry", {"retry": 4}, {"escalate": 9}]), max_size=3),
        "options": st.dictionaries(names, st.integers() | st.just(10**18 + 1) | st.booleans() | st.none(), max_size=3),
    }
    agent |= draw(st.fixed_dictionaries({}, optional=optional))
    if agent.get("run_in") == "process":  # it gets its text alone
        agent = {key: value for key, value in agent.items() if key not in ("tools", "options")}
    return agent


@st.composite
def teams(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    members = draw(st.lists(agents(), max_size=3, unique_by=lambda agent: agent["name"]))
    under = []
    if depth:
        under = draw(st.lists(teams(depth=depth - 1), max_size=2, unique_by=lambda team: team["supervisor"]["name"]))
    taken = {agent["name"] for agent in members}
    under = [team for team in under if team["supervisor"]["name"] not in taken]
    supervisor = {"name": draw(names), "strategy": draw(st.sampled_from(["sequential", "parallel"]))}
    return {"supervisor": supervisor, "agents": members, "teams": under}


@settings(max_examples=8)
@given(teams())
def test_what_is_written_is_what_the_engine_gets(team: dict[str, Any]) -> None:
    text = yaml.dump({"version": 1, **team}, Dumper=Quoting, allow_unicode=True)
    command = parsed(text).load_command()

    assert_same(command.team, team)
    assert decode_command(command.type, encode_command(command)) == command


def assert_same(spec: SupervisorSpec, team: dict[str, Any]) -> None:
    assert (spec.name, spec.mode) == (team["supervisor"]["name"], team["supervisor"]["strategy"])
    assert [member.name for member in spec.members] == [
        *(agent["name"] for agent in team["agents"]),
        *(under["supervisor"]["name"] for under in team["teams"]),
    ]
    for member, agent in zip(spec.members, team["agents"], strict=False):
        assert isinstance(member, AgentSpec)
        assert member.agent_type == "function"
        assert member.options == agent.get("options", {})
        assert member.timeout_s == agent.get("timeout_s")
        assert len(member.on_failure) == len(agent.get("on_failure", []))
    for member, under in zip(spec.members[len(team["agents"]) :], team["teams"], strict=True):
        assert isinstance(member, SupervisorSpec)
        assert_same(member, under)


@given(st.text(max_size=200))
def test_whatever_stands_in_a_file_is_read_or_refused_with_its_name(text: str) -> None:
    said = PATH.name
    try:
        parsed(text)
    except TeamFileError as refused:
        said = str(refused)
    assert PATH.name in said


words = st.text(st.characters(categories=["L", "N", "P"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.floats(-1e9, 1e9) | words


@given(st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4)))
def test_every_json_value_is_read_as_it_was_written(value: Any) -> None:
    assert read_document(json.dumps(value, ensure_ascii=False), PATH).value == value


def test_every_fault_is_told_with_line_and_field() -> None:
    text = """\
version: 2
supervisor: {name: 9lives, max_parallel: "8", aggregatin: vote}
agents:
  - {name: scout, run: "crew.survey"}
  - {nam: writer, run: "crew:write", max_concurrency: 0, weight: .inf}
  - {name: third, run: "crew:x", on_failure: [{retry: 101}, {retry: {tries: 3}}, stop]}
"""

    assert faults(text) == [
        "1: version: must be 1, not the number 2",
        "2: supervisor.name: the text '9lives' is not allowed; "
        "use an ASCII letter, then up to 63 of these, digits, '_' or '-'",
        "2: supervisor.max_parallel: must be a whole number, not the text '8'",
        "2: supervisor.aggregatin: is not a key here; did you mean aggregation?",
        "4: agents[scout].run: the text 'crew.survey' is not allowed; write module:function, such as crew:survey",
        "5: agents[2].name: is missing; every supervisor and agent has one",
        "5: agents[2].weight: must be a number, not the text '.inf'",
        "5: agents[2].max_concurrency: must be at least 1, not 0",
        "5: agents[2].nam: is not a key here; did you mean name?",
        "6: agents[third].on_failure[1].retry: must be at most 100, not 101",
        "6: agents[third].on_failure[2].retry.tries: is not a key here; did you mean retries?",
        "6: agents[third].on_failure[3]: must be one of retry, failover, escalate, fail, skip, such as {retry: 3}",
    ]


def test_the_template_of_new_agents_is_a_spec_of_the_registry_at_the_top() -> None:
    text = """\
version: 1
supervisor: {name: chief, discovery: {modes: [dynamic], template: spar}}
teams:
  - supervisor: {name: below, discovery: {modes: [dynamic], template: spare}}
registry: [{name: spare, script: []}]
"""

    assert faults(text) == [
        "2: supervisor.discovery.template: no spec of the registry 'spar' here; did you mean spare?"
    ]


def test_what_does_not_fit_together_is_told() -> None:
    text = """\
version: 1
supervisor: {name: chief, strategy: paralel, aggregation: synthesis, participants: [scout, scot], order: [scout, scout]}
agents:
  - {name: scout, run: "crew:survey"}
  - {name: scout, type: functoin}
  - {name: idle}
  - {name: model, type: ReactAgent}
teams:
  - supervisor: {name: idle, aggregation: synthesis, aggregator: nobody, default_agent: nobody, max_agents: 1}
    agents: [{name: a, run: "x:y"}, {name: b, run: "x:y", on_failure: [{retry: {base_s: 9, cap_s: 1}}]}]
registry:
  - {name: spare, run: "crew:survey"}
  - {name: spare, script: []}
"""

    assert faults(text) == [
        "2: supervisor.strategy: no strategy 'paralel'; did you mean parallel?",
        "2: supervisor.aggregation: synthesis needs an 'aggregator': the name of the agent that writes it",
        "2: supervisor.participants: no agent or team 'scot' here; did you mean scout?",
        "2: supervisor.order: 'scout' occurs twice",
        "5: agents[scout].name: there is a 'scout' on line 4 already; choose another name",
        "5: agents[scout].type: no runtime 'functoin'; did you mean function?",
        "6: agents[idle]: says not what does the work; give it run: module:function, or a model",
        "9: teams[idle].supervisor.name: there is a 'idle' on line 6 already; choose another name",
        "9: teams[idle].supervisor.aggregator: no agent 'nobody' here; there are a, b",
        "9: teams[idle].supervisor.default_agent: no agent 'nobody' here; there are a, b",
        "9: teams[idle].supervisor.max_agents: 2 agents are more than max_agents, 1",
        "10: teams[idle].agents[b].on_failure[1].retry.cap_s: must be at least base_s, 9, not 1",
        "13: registry[spare].name: there is a 'spare' on line 12 already; choose another name",
    ]


def test_modes_of_discovery_are_words() -> None:
    modes = "registry, catalogue, component, mcp, hybrid"
    discovery = "version: 1\nsupervisor: {name: chief, discovery: {modes: [%s]}}\n"
    config = parsed(discovery % modes).load_command().team.options.discovery

    assert config is not None
    assert config.modes == tuple(map(AgentDiscoveryMode, modes.split(", ")))
    (fault,) = faults(discovery % "catalog")
    assert "discovery.modes[1]: must be registry, catalogue, component" in fault


def test_keys_of_later_versions_are_refused_by_name() -> None:
    assert faults(HEAD + "memory: {}")[0].endswith("memory: is not supported yet; remove it")


def test_policies_stand_in_the_order_in_which_they_apply() -> None:
    policies = "[{retry: {retries: 2, on: [OSError]}}, {failover: 1}, {escalate: {after_s: 3, default: skip}}, skip]"
    file = parsed(HEAD + f'agents: [{{name: a, run: "x:y", on_failure: {policies}}}]')

    (member,) = file.load_command().team.members

    assert isinstance(member, AgentSpec)
    assert list(member.on_failure) == [Retry(2, on=["OSError"]), Failover(1), Escalate(3, "skip"), Skip()]


def test_what_is_set_for_a_supervisor_and_its_agents_reaches_the_engine() -> None:
    text = """\
version: 1
supervisor:
  name: chief
  ageing_s: 30
  balance: least_load
  max_total: 4
  processes: 3
  preempt: {at: now, urgent: 1}
  restart: {strategy: rest_for_one, intensity: 2}
  circuit: {failures: 3}
  on_failure: [{retry: 1}, failover, {escalate: 30}]
strategies: {research_tasks: parallel}
limits: {cost_usd: 5, run_s: 3600, tokens: 2000000, depth: 4, run: {attempts: 50}, task: {time_s: 9, then: fail}}
agents:
  - {name: scout, run: "crew:survey", pool: 1..8, step_timeout_s: 5, limits: {tokens: 9, task: {attempts: 2}}}
"""

    team = parsed(text).load_command().team

    assert team.options == SupervisorOptions(
        strategies={"research_tasks": "parallel"},
        on_failure=[Retry(1), Failover(), Escalate(30)],
        limits=Limits(cost_usd=Decimal("5.0"), run_s=3600, tokens=2_000_000, depth=4),
        run_limits=Limits(attempts=50),
        task_limits=Limits(time_s=9, then="fail"),
        max_total=4,
        processes=3,
        balance="least_load",
        ageing_s=30,
        preempt=Preempt(at="now", urgent=1),
        restart=Restart("rest_for_one", 2),
        circuit=Circuit(3),
    )
    (scout,) = team.members
    assert isinstance(scout, AgentSpec)
    assert (scout.pool, scout.limits, scout.task_limits) == (Pool(max=8), Limits(tokens=9), Limits(attempts=2))


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("pool: {min: 4, max: 2}", "3: agents[a].pool.max: must be at least min, 4, not 2"),
        ("pool: 4-8", "3: agents[a].pool: must be a range such as 1..8, or {min: 1, max: 8}"),
        ("weight: -1", "3: agents[a].weight: must be at least 0.001, not -1"),
        ("limits: {tokens: 0}", "3: agents[a].limits.tokens: must be at least 1, not 0"),
        ("limits: {tokns: 1}", "3: agents[a].limits.tokns: is not a key here; did you mean tokens?"),
        (
            "on_failure: [skip, retry]",
            "3: agents[a].on_failure[2]: comes after skip, which is always the last; remove it",
        ),
        (
            "on_failure: [{retry: 2, base_s: 0.2}]",
            "3: agents[a].on_failure[1]: must be one policy, its settings in a block of their own,"
            " such as {retry: {retries: 3, base_s: 0.5}}",
        ),
        ("on_failure: [{retry: -1}]", "3: agents[a].on_failure[1].retry: must be at least 0, not -1"),
        ("step_timeout_s: 0", "3: agents[a].step_timeout_s: must be above 0, not 0"),
    ],
)
def test_what_cannot_be_right_is_told_where_it_stands(block: str, said: str) -> None:
    assert faults(HEAD + f'agents: [{{name: a, run: "x:y", {block}}}]') == [said]


@pytest.mark.parametrize(
    ("supervisor", "said"),
    [
        ("strategy: map, settings: {ovr: a}", "2: supervisor.settings: "),
        ("strategy: iterative_refinement, settings: {rounds: -1}", "2: supervisor.settings: "),
        (
            "strategy: conditional, settings: {branches: [{when: {matches: '(a{99}){99}'}, to: a}]}",
            "2: supervisor.settings: ",
        ),
        (
            "strategy: graph, settings: {nodes: [{name: x, agent: a, after: [y]}, {name: y, agent: a, after: [x]}]}",
            "2: supervisor.settings: ",
        ),
    ],
)
def test_settings_that_the_strategy_cannot_take_are_told(supervisor: str, said: str) -> None:
    text = f"version: 1\nsupervisor: {{name: chief, {supervisor}}}\nagents: [{{name: a, run: 'x:y'}}]"

    (line,) = faults(text)

    assert line.startswith(said)


def test_a_scripted_agent_is_told_which_line_of_its_script_is_wrong() -> None:
    said = faults(
        HEAD + "agents:\n  - name: a\n    script:\n      - {output: fine}\n      - {delay: 3}\n      - {match: '('}\n"
    )

    assert said[0] == "7: agents[a].script[2].delay: is not a key here; did you mean delay_s?"
    assert said[1].startswith("8: agents[a].script[3].match: not a regular expression")


def test_no_more_than_twenty_faults_are_told() -> None:
    said = faults(HEAD + "agents: [" + "{}, " * 30 + "]")

    assert len(said) == 21
    assert said[-1] == " and 10 more"


def test_policies_have_a_short_form() -> None:
    file = parsed(
        HEAD + 'agents: [{name: a, run: "x:y", on_failure: [{retry: 5}, {retry: {retries: 2, cap_s: 9}}, retry, skip]}]'
    )

    agent = file.load_command().team.members[0]
    assert isinstance(agent, AgentSpec)
    assert agent.on_failure == (Retry(5), Retry(2, cap_s=9.0), Retry(), Skip())


def test_order_places_teams_among_agents_and_those_left_out_follow() -> None:
    text = """\
version: 1
supervisor: {name: chief, order: [survey, writer]}
agents: [{name: first, run: "x:y"}, {name: writer, run: "x:y"}]
teams: [{supervisor: {name: survey}}]
"""

    assert [member.name for member in parsed(text).load_command().team.members] == [
        "survey",
        "writer",
        "first",
    ]


def test_references_are_listed_once() -> None:
    file = parsed(HEAD + 'agents: [{name: a, run: "x:y", tools: ["x:z", "x:y"]}, {name: b, run: "x:y"}]')

    assert file.references == ["x:y", "x:z"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + HEAD, "3: the key 'version' occurs twice; the first is on line 1"),
        (HEAD + "agents: [{name: a, name: b}]", "3: the key 'name' occurs twice; the first is on line 3"),
        (
            HEAD + "x: !!python/object/apply:os.system [ls]",
            "3: the tag tag:yaml.org,2002:python/object/apply:os.system",
        ),
        (HEAD + "x: !thing {a: 1}", "3: the tag !thing is not allowed"),
        (HEAD + "---\nversion: 1", "3: only one document is allowed"),
        (HEAD + "x: &a [*a]", "3: the alias *a stands for nothing that is finished"),
        (HEAD + "base: &b {a: 1}\nx: {<<: *b}", "4: merging with '<<' is not supported"),
        (HEAD + "x: {1: 2}", "3: a key must be a word, not 1"),
        (HEAD + "x: {[1]: 2}", "3: a key must be a word"),
        (HEAD + "x: [1, 2", "3: not valid YAML: the [ that begins here is not closed"),
        ("version: 1\n\tsupervisor: x", "2: not valid YAML"),
        (HEAD + "x: " + "[" * (MAX_DEPTH + 1), f"3: nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_yaml_that_says_more_than_values_is_refused_with_its_line(text: str, said: str) -> None:
    assert faults(text)[0].startswith(said)


def test_aliases_that_grow_without_end_are_refused_at_once() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))

    assert "more than 100,000 values" in faults(bomb)[0]


@pytest.mark.parametrize("name", ["on", "off", "yes", "no", "y", "n"])
def test_words_that_yaml_1_1_takes_for_booleans_are_names(name: str) -> None:
    assert parsed(f"version: 1\nsupervisor: {{name: {name}}}").name == name


@pytest.mark.parametrize("text", ["", "# nothing\n", "null", "root:x:0:0:root\nbin:x:1:1", "[1, 2]", "3"])
def test_what_holds_no_keys_is_no_team_file(text: str) -> None:
    assert "a team file begins with 'version: 1'" in faults(text)[0]


def test_line_breaks_of_windows_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    plain, other = tmp_path / "plain.yaml", tmp_path / "other.yaml"
    plain.write_text(HEAD + AGENT)
    other.write_bytes(b"\xef\xbb\xbf" + (HEAD + AGENT).replace("\n", "\r\n").encode())

    assert read_team(other).team == read_team(plain).team


@pytest.fixture
def odd(tmp_path: Path) -> Iterator[dict[str, Path]]:
    """Things that are no team files, by what they are."""
    found = {name: tmp_path / name for name in ("missing", "folder", "pipe", "socket", "binary", "large", "latin")}
    found["folder"].mkdir()
    os.mkfifo(found["pipe"])
    found["binary"].write_bytes(b"\x7fELF\xff\x00")
    found["large"].write_bytes(b"#" * 1_000_001)
    found["latin"].write_bytes(HEAD.encode() + b"# caf\xe9\n")
    with socket.socket(socket.AF_UNIX) as end:
        here = Path.cwd()
        os.chdir(tmp_path)  # a socket's path must be short
        try:
            end.bind("socket")
        finally:
            os.chdir(here)
        yield found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing", "does not exist; quarterdeck init writes one to start from"),
        ("folder", "is a folder"),
        ("pipe", "is not a regular file"),
        ("socket", "is not a regular file"),
        ("binary", "is not text in UTF-8 (line 1); save it as UTF-8"),
        ("large", "is larger than 1,000,000 bytes; a team file is a page or two"),
        ("latin", "is not text in UTF-8 (line 3); save it as UTF-8"),
    ],
)
def test_what_cannot_be_a_team_file_is_refused_in_one_line_and_never_waited_for(
    odd: dict[str, Path], name: str, said: str
) -> None:
    with pytest.raises(UnusableTeamFile) as caught:
        read_team(odd[name])

    assert str(caught.value) == f"{odd[name]}: {said}"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="a file whose reading fails")
def test_a_file_that_fails_while_it_is_read_is_named() -> None:
    with pytest.raises(UnusableTeamFile, match=r"^/proc/self/mem: cannot be read \(Input/output error\)$"):
        read_team("/proc/self/mem")


def test_a_name_with_control_characters_never_reaches_the_terminal() -> None:
    said = faults(HEAD + '"\\e]0;x": 1')

    assert "\x1b" not in said[0]
    assert "\\x1b]0;x: is not a key here" in said[0]


def test_deep_and_empty_teams_are_warned_of() -> None:
    deep = "supervisor: {name: d}"
    for name in "cba":
        deep = f"supervisor: {{name: {name}}}, teams: [{{{deep}}}]"
    deep = f"{{version: 1, {deep}}}"

    assert "4 levels of supervisors" in parsed(deep).warnings[0]
    assert "this team has no agents; every request is refused" in parsed(HEAD).warnings[0]
    assert parsed(HEAD + AGENT).warnings == []


def test_discovery_of_a_supervisor_that_chooses_nobody_by_words_is_warned_about() -> None:
    settings = "{name: chief, discovery: {modes: [catalogue]}%s}"
    team = f"version: 1\nsupervisor: {settings}\n{AGENT}"

    assert parsed(team % "").warnings == ["supervisor.discovery: does nothing without auto_discover: true"]
    assert parsed(team % ", auto_discover: true").warnings == []


def test_rights_to_memory_that_reach_nobody_are_warned_about() -> None:
    memory = "memory: {segments: {facts: {read: [all, chief, %s], write: [eve, eve]}}}"
    team = (
        f"version: 1\nsupervisor: {{name: chief, {memory}}}\nteams: [{{supervisor: {{name: crew, {memory}}}}}]\n{AGENT}"
    )

    assert parsed(team.replace("%s", "crew")).warnings == [
        "teams[crew].supervisor.memory: does nothing; that of the supervisor at the top counts",
        "supervisor.memory.segments.facts: nobody in this file is named 'eve'",
    ]


def test_the_schema_names_every_key_and_allows_no_other() -> None:
    schema = json_schema()

    assert set(schema["properties"]) == {
        "version",
        "supervisor",
        "agents",
        "teams",
        "registry",
        "limits",
        "models",
        "mcp",
        "strategies",
    }
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["supervisor", "version"]


def test_what_a_model_agent_cannot_be_is_told_with_its_place() -> None:
    text = """\
version: 1
supervisor: {name: chief, model: boss, lead: scout, strategy: parallel}
agents:
  - {name: scout, type: SimpleAgent, model: fake, tools: ["crew:search"], options: {turns: x, temprature: 3}}
  - {name: crew, type: MultiAgent, options: {mode: round}}
  - {name: sage, model: fake, output: {type: nothing}}
  - {name: chief, model: fake}
"""

    assert faults(text) == [
        "2: supervisor.lead: a model leads already; leave out 'lead' or 'model'",
        "2: supervisor.strategy: a model that leads delegates, and this is 'parallel'; remove one",
        "2: supervisor.model: makes an agent 'chief', and there is one; rename one of them",
        "4: agents[scout].options.turns: must be a whole number, not the text 'x'",
        "4: agents[scout].options.temprature: is not a key here; did you mean temperature?",
        "4: agents[scout].tools: does nothing for an agent of type SimpleAgent; leave it out, or make it a ReactAgent",
        "5: agents[crew].options.team: is missing",
        "5: agents[crew].options.mode: must be sequential or parallel, not the text 'round'",
        "6: agents[sage].output: type: 'nothing' is not valid under any of the given schemas",
    ]
