"""What the pages in docs/ say must be so: every key, setting and subcommand is there, and every example is right."""

import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import pytest
from click.testing import CliRunner

from dashboard.actions import OWN_KEYS
from dashboard.cli import quarterdeck as program
from dashboard.cli.group import COMMANDS
from dashboard.user.settings import read_settings
from engine.core.decide.people.escalations import ON_ANSWER
from engine.core.errors import Refused
from engine.core.specs.failure_policies import FailurePolicy
from engine.core.specs.guard import KINDS
from engine.core.strategies import BUILT_IN, STRATEGIES
from engine.runtimes.catalogue import kinds
from engine.runtimes.functions.context import BlockingContext, Context
from engine.runtimes.functions.task import Task, TaskInput
from engine.runtimes.model.options import TalkOptions, TeamOptions
from engine.runtimes.programs.options import AcpOptions, ProcessOptions
from engine.teamfile import read_team
from engine.teamfile.document import read_document
from engine.teamfile.policies import BLOCKS as POLICY_BLOCKS
from engine.teamfile.schema import json_schema
from quarterdeck import ActiveAgent, AgentSpec, DynamicSupervisor, StreamEvent

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCKS = {
    "The file": ["TeamDocument", "TeamBlock"],
    "A supervisor": ["SupervisorBlock"],
    "discovery": ["DiscoveryConfigBlock"],
    "An agent": ["AgentBlock"],
    "circuit": ["CircuitBlock"],
    "restart": ["RestartBlock"],
    "preempt": ["PreemptBlock"],
    "pool": ["PoolBlock"],
    "Models": ["ModelBlock"],
    "Tool servers": ["McpBlock"],
    "limits": ["LimitsBlock", "AgentLimitsBlock", "AmountsBlock"],
}
"""What of the schema each table of docs/reference/team-file.md tells."""


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


@cache
def rows() -> dict[str, list[tuple[str, str]]]:
    """The tables of docs/reference/team-file.md: by heading, each key with its example."""
    sections = re.split(r"^## (.*)$", page("reference/team-file.md"), flags=re.MULTILINE)
    found = zip(sections[1::2], sections[2::2], strict=True)
    return {name: re.findall(r"^\| `(\w+)` \| `(.*?)` \|", text, re.MULTILINE) for name, text in found}


def keys_of(name: str) -> set[str]:
    schema = json_schema()
    block = schema if name == "TeamDocument" else schema["$defs"][name]
    return set(block["properties"])


def team_with(section: str, key: str, example: Any) -> dict[str, Any]:
    """Return a whole team file in which an example of one key stands where it belongs."""
    chief: dict[str, Any] = {"name": "desk"}
    scout: dict[str, Any] = {"name": "scout", "run": "crew:survey"}
    team: dict[str, Any] = {
        "version": 1,
        "supervisor": chief,
        "agents": [scout, {"name": "writer", "run": "crew:write"}],
    }
    if section == "The file":
        return {**team, **example}
    if section in ("A supervisor", "restart", "preempt"):
        chief.update(example if section == "A supervisor" else {section: example})
        chief.update({"model": "openai/gpt-4o"} if key.startswith("instructions") else {})
    elif section == "discovery":
        chief.update({"auto_discover": True, "discovery": example})
        team["registry"] = [{"name": "helper", "run": "crew:help"}]
    elif section == "limits":
        team["limits"] = example
    elif section == "Models":
        team["models"] = {"fast": {**({} if key in ("model", "replies") else {"model": "openai/gpt-4o"}), **example}}
    elif section == "Tool servers":
        is_address = key in ("url", "headers_env")
        team["mcp"] = {"files": {"url": "https://example.org/mcp"} if is_address else {"argv": ["mcp-files"]}}
        team["mcp"]["files"].update(example)
    else:
        scout.update(
            {section: {"max": 9} | example}
            if section == "pool"
            else {section: example}
            if section == "circuit"
            else example
        )
    if section == "An agent" and key == "mcp":
        team["mcp"] = {"files": {"argv": ["mcp-files"]}, "web": {"argv": ["mcp-web"]}}
    if section == "An agent" and key in ("script", "type", "model", "instructions", "may"):
        del scout["run"]
    if key == "may":
        scout["model"] = "openai/gpt-4o"
    return team


EXAMPLES = [(section, key, text) for section, table in rows().items() for key, text in table]


@pytest.mark.parametrize(("section", "key", "text"), EXAMPLES, ids=[f"{one[0]}-{one[1]}" for one in EXAMPLES])
def test_the_example_of_a_key_is_one(tmp_path: Path, section: str, key: str, text: str) -> None:
    example = read_document(text, Path()).value
    (tmp_path / "team.yaml").write_text(json.dumps(team_with(section, key, example)), encoding="utf-8")

    assert key in (example if section != "on_failure" else text)
    read_team(tmp_path / "team.yaml")


@pytest.mark.parametrize("section", BLOCKS)
def test_every_key_of_a_team_file_is_told_and_no_other(section: str) -> None:
    keys = {key for name in BLOCKS[section] for key in keys_of(name)}

    assert {key for key, _ in rows()[section]} == keys, f"the rows of {section!r} in docs/reference/team-file.md"


@cache
def meanings(section: str) -> dict[str, str]:
    """What a table of docs/reference/team-file.md says of each key."""
    text = re.split(rf"^## {section}$", page("reference/team-file.md"), flags=re.MULTILINE)[1].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| `.*?` \| (.*) \|$", text, re.MULTILINE))


def described_keys(section: str) -> list[tuple[str, dict[str, Any]]]:
    schema = json_schema()
    blocks = [schema if name == "TeamDocument" else schema["$defs"][name] for name in BLOCKS[section]]
    return [each for block in blocks for each in block["properties"].items()]


@pytest.mark.parametrize("section", BLOCKS)
def test_every_default_of_a_team_file_is_told(section: str) -> None:
    rows = meanings(section)
    defaults = {key: one["default"] for key, one in described_keys(section) if one.get("default") not in (None, "")}

    assert {key: rows[key] for key, value in defaults.items() if not _ends_with(rows[key], value)} == {}


@pytest.mark.parametrize("section", BLOCKS)
def test_every_key_has_one_wording_in_its_record_in_the_schema_and_in_the_reference(section: str) -> None:
    """A row begins with the first clause of the docstring of the field, and may say more after it."""
    rows = meanings(section)
    clauses = {key: re.split(r"[;.:](?:\s|$)", one["description"])[0] for key, one in described_keys(section)}

    assert {key: rows[key] for key, text in clauses.items() if not _plain(rows[key]).startswith(_plain(text))} == {}


def _plain(text: str) -> str:
    """Return a text without links, code marks and capitals."""
    return re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text).replace("`", "").lower()


def test_every_key_of_the_schema_has_a_description() -> None:
    schema = json_schema()
    blocks = {"TeamDocument": schema, **schema["$defs"]}

    assert [
        f"{name}.{key}"
        for name, block in blocks.items()
        for key, one in block["properties"].items()
        if "description" not in one and not name.endswith("Policy")
    ] == []


def _ends_with(told: str, default: Any) -> bool:
    word = default if isinstance(default, str) else json.dumps(default).removesuffix(".0")
    return re.search(rf"; `?{re.escape(word)}(?!\w)", told) is not None


def test_every_option_of_a_program_is_told_with_its_default() -> None:
    text = page("reference/programs.md").partition("Of an agent's own keys:")
    rows_of_options = text[0] + text[2].partition("\n\n`approve`")[2]
    told = dict(re.findall(r"^\| `(\w+)` \| `.*?` \| (.*) \|$", rows_of_options, re.MULTILINE))
    fields = {**ProcessOptions.model_fields, **AcpOptions.model_fields}

    assert told.keys() == fields.keys()
    assert [
        name
        for name, one in fields.items()
        if isinstance(one.default, bool | str) and not _ends_with(told[name], one.default)
    ] == []


@pytest.mark.parametrize("kind", sorted(name for name, kind in kinds().items() if kind.options is not None))
def test_every_option_of_a_kind_of_agent_has_a_row(kind: str) -> None:
    options = kinds()[kind].options
    text = "".join(path.read_text(encoding="utf-8") for path in PAGES if path.parent.name == "reference")

    assert options is not None
    assert options.model_fields.keys() <= {*re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)}


def test_every_option_of_serve_is_told() -> None:
    serve = program.get_command(click.Context(program), "serve")
    rows = re.findall(r"^\| `(--.*?)` \|", page("reference/web.md"), re.MULTILINE)
    told = {option for row in rows for option in re.findall(r"--[\w-]+", row)}

    assert serve is not None
    assert told | {"--db", "--json", "--debug"} == {option for one in serve.params for option in one.opts}


def test_every_failure_policy_is_told_with_its_settings() -> None:
    table = dict(rows()["on_failure"])
    settings = {name: block for name, block in POLICY_BLOCKS.items() if name != "failover"}
    policies = {policy.__name__.lower() for policy in get_args(FailurePolicy)}

    assert set(table) == policies, "the rows of 'on_failure' in docs/reference/team-file.md"
    assert [key for name, block in settings.items() for key in block.model_fields if key not in table[name]] == []
    assert set(POLICY_BLOCKS["failover"].model_fields) == {"agents", "on"}


def whole_teams() -> list[tuple[str, str]]:
    found = [
        (path, block)
        for path in PAGES
        for block in re.findall(r"^```yaml\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    ]
    return [(f"{path.stem}-{number}", block) for number, (path, block) in enumerate(found)]


@pytest.mark.parametrize("block", [block for _, block in whole_teams()], ids=[name for name, _ in whole_teams()])
def test_every_team_on_a_page_passes_the_check(tmp_path: Path, block: str) -> None:
    (tmp_path / "team.yaml").write_text(block, encoding="utf-8")

    read_team(tmp_path / "team.yaml")


def strategies_told() -> dict[str, tuple[str, str]]:
    """The settings of each strategy in the table of docs/semantics/strategies.md, and what its own section says."""
    text = page("semantics/strategies.md")
    table = dict(re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \|[^|]*\|(.*)\|$", text, re.MULTILINE))
    sections = re.split(r"^## (.*)$", text, flags=re.MULTILINE)
    said = dict(zip(sections[1::2], sections[2::2], strict=True))
    return {name: (settings, said[name]) for name, settings in table.items()}


def test_every_strategy_is_told_with_an_example_of_itself() -> None:
    told = strategies_told()

    assert told.keys() == BUILT_IN
    assert [name for name, (_, said) in told.items() if f"strategy: {name}" not in said] == []


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_the_settings_of_a_strategy_are_all_told(name: str) -> None:
    with pytest.raises(Refused) as refused:
        STRATEGIES[name].check({"xyzzy": 1}, ())
    known = set(re.findall(r"\w+", str(refused.value).partition("there are ")[2]))

    assert set(re.findall(r"`(\w+)`", strategies_told()[name][0])) == known


def test_every_guard_is_told() -> None:
    assert [kind for kind in KINDS if f"`{{{kind}: " not in page("semantics/strategies.md")] == []


def test_every_subcommand_is_told_by_what_it_is_for() -> None:
    told = set(re.findall(r"^quarterdeck (\w+)", page("operating.md"), re.MULTILINE))

    assert set(COMMANDS) - told <= {"demo"}, "docs/operating.md: a line `quarterdeck NAME` each, in a block of code"


def test_the_settings_of_the_dashboard_count_as_they_stand_there(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(page("operating.md").partition("```toml\n")[2].partition("```")[0], encoding="utf-8")

    assert read_settings(settings, OWN_KEYS).problem == ""


@pytest.mark.parametrize(("prefix", "kind"), [("task", Task), ("input", TaskInput), ("ctx", Context)])
def test_everything_that_a_function_can_use_is_told_and_nothing_else(prefix: str, kind: type) -> None:
    told = set(re.findall(rf"^\| `(?:await )?{prefix}\.(\w+)", page("reference/function-agents.md"), re.MULTILINE))
    known = {name for name in (*dir(kind), *inspect.get_annotations(kind)) if not name.startswith("_")}

    assert told == known | ({"task"} if prefix == "ctx" else set())


def test_a_blocking_context_has_the_same_calls() -> None:
    assert {name for name in dir(BlockingContext) if name[0] != "_"} == {
        name for name in dir(Context) if name[0] != "_"
    }


def test_every_kind_of_question_is_told() -> None:
    questions = page("operating.md").partition("\n## Questions\n")[2].partition("\n## ")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", questions, re.MULTILINE)) == set(ON_ANSWER)


def constructors_told() -> dict[str, set[str]]:
    """The arguments of each constructor on the page of the Python API."""
    block = page("reference/python.md").partition("## Constructors")[2].split("```")[1].removeprefix("python\n")
    told = re.findall(r"^(\w+)\((.*?)^\)", block, re.DOTALL | re.MULTILINE)
    return {name: set(re.findall(r"(?:^|, *|\n *)(\w+)(?=,|=)", arguments.strip())) for name, arguments in told}


@pytest.mark.parametrize("kind", [DynamicSupervisor, AgentSpec])
def test_every_argument_of_a_constructor_is_told(kind: type) -> None:
    known = set(inspect.signature(kind).parameters) - {"unknown"}

    assert constructors_told()[kind.__name__] == known, "the block under Constructors in docs/reference/python.md"


def test_every_method_of_a_supervisor_is_told() -> None:
    rows = page("reference/python.md").partition("## Methods")[2].partition("\n- ")[0]
    methods = {name for name in dir(DynamicSupervisor) if name[0] != "_"}

    assert set(re.findall(r"`(\w+)`", rows)) == methods, "the table under Methods in docs/reference/python.md"


def test_every_kind_of_stream_event_and_every_field_of_a_view_is_told() -> None:
    streams = page("reference/python.md").partition("\n## Streams\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?`) \|", streams, re.MULTILINE)[1:]
    view = page("reference/python.md").partition("name to `ActiveAgent` with")[2].partition(".\n")[0]

    assert {kind for row in rows for kind in re.findall(r"`(\w+)`", row)} == {
        *get_args(get_type_hints(StreamEvent)["kind"])
    }
    assert set(re.findall(r"`(\w+)`", view)) == {*get_type_hints(ActiveAgent)}


def test_every_option_of_a_model_agent_is_told_with_its_default() -> None:
    table = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page("reference/model-agents.md"), re.MULTILINE))
    fields = {**TeamOptions.model_fields, **TalkOptions.model_fields}
    said = {name: one.default if one.default_factory is None else {} for name, one in fields.items()}

    for name, default in said.items():
        told = "required" if fields[name].is_required() else str(default)
        assert table[name].strip("`") in ([told] if default is not None else ["the provider's", "none"])


@pytest.mark.parametrize("name", COMMANDS)
def test_no_help_shows_the_characters_that_format_it(name: str) -> None:
    shown = CliRunner().invoke(program, [name, "--help"])

    assert shown.exit_code == 0
    assert not {"\\", "\b", "`"} & {*shown.output}
