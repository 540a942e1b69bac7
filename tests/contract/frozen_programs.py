"""What people and scripts write to and read from the programs, line by line: words, options, keys of files, of JSON.

Lines of JSON name paths: `agents.items[].track_record{}.done`, where `{}` stands for keys that are data.
"""

import json
import re
import sqlite3
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import fields
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import anyio
import click
from pydantic import BaseModel

from dashboard.cli import quarterdeck
from dashboard.user.habits import Habits
from dashboard.web.prometheus import Counts, exposition
from engine.archive.manifest import FORMAT, PARTS, VERSION, Manifest
from engine.core.activities import Activities
from engine.core.commands import Submit
from engine.core.decide.engine import ON_TIMER
from engine.core.decide.people.escalations import ON_ANSWER
from engine.core.errors import Refused
from engine.core.records.values import Usage
from engine.core.scheduler.balancing import RULES
from engine.core.state import State
from engine.core.strategies import BUILT_IN, STRATEGIES
from engine.models.scripted import Reply
from engine.runtimes.catalogue import built_in, kinds
from engine.runtimes.model.options import ModelOptions
from engine.teamfile import json_schema
from engine.teamfile.policies import BLOCKS
from engine.trusted_code.trust import Allowed
from store.layout.opening import open_store
from tests.contract.frozen_records import lines_of
from tests.world import agent, team_world

ROOT = Path(__file__).resolve().parents[2]
OPTIONS: dict[str, type[BaseModel]] = {
    **{name: kind.options for name, kind in kinds().items() if kind.options not in (None, ModelOptions)},
    "a model": ModelOptions,
    "a scripted model": Reply,
}
"""What `options` of an agent, and the `replies` of a model, are checked by."""
PACKAGES = ("dashboard", "engine", "quarterdeck", "store")


def command_lines() -> Iterator[str]:
    """Every subcommand with its arguments, options and choices."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    yield from (f"{script}: a program" for script in scripts)
    yield from _lines_of_command(quarterdeck, click.Context(quarterdeck), "quarterdeck")


def _lines_of_command(command: click.Command, ctx: click.Context, name: str) -> Iterator[str]:
    yield name
    for parameter in command.params:
        yield f"{name} {_words_of(parameter)}"
    if isinstance(command, click.Group):
        for word in command.list_commands(ctx):
            below = command.get_command(ctx, word)
            assert below is not None
            yield from _lines_of_command(below, ctx, f"{name} {word}")


def _words_of(parameter: click.Parameter) -> str:
    said = [" ".join(sorted([*parameter.opts, *parameter.secondary_opts]))]
    if isinstance(parameter, click.Argument):
        said = [f"<{parameter.name}>"]
    if isinstance(parameter, click.Option) and parameter.is_flag:
        said.append("flag")
    elif isinstance(parameter.type, click.Choice):
        said.append(f"one of {' '.join(sorted(map(str, parameter.type.choices)))}")
    said += ["required"] if parameter.required else []
    said += ["any number"] if parameter.multiple or parameter.nargs == -1 else []
    said += [f"variable {parameter.envvar}"] if parameter.envvar else []
    default = parameter.to_info_dict()["default"]
    said += [f"default {default}"] if default and isinstance(default, str | int | float) else []
    return ", ".join(said)


def team_file_lines() -> Iterator[str]:
    """The keys of a team file with what they take: those of policies, options and scripts too, and of strategies."""
    yield from _lines_of_model(json_schema(), "")
    for policy, block in BLOCKS.items():
        yield from _lines_of_model(block.model_json_schema(), f"policy {policy}: ")
    for kind, options in OPTIONS.items():
        yield from _lines_of_model(options.model_json_schema(), f"options of {kind}: ")
    for name in BUILT_IN:
        try:
            STRATEGIES[name].check({"no such setting": 0}, ())
        except Refused as refused:
            words = refused.reason.partition("; ")[2].removeprefix("there are ").removeprefix("it has none")
            yield from (f"settings of {name}: {word}" for word in words.split(", ") if word)


def _lines_of_model(schema: Mapping[str, Any], subject: str) -> Iterator[str]:
    where: dict[str, str] = {}
    yield from (f"{subject}{line}" for line in _lines_of_schema(schema, schema.get("$defs", {}), "", where))


def _lines_of_schema(
    part: Mapping[str, Any], parts: Mapping[str, Any], at: str, where: dict[str, str]
) -> Iterator[str]:
    """Walk down a JSON Schema to everything that has a name; what stands in several places is told at the first."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name in where:
            yield f"{at}: as {where[name]}"
            return
        where[name], part = at, parts[name]
    choices = [each for word in ("anyOf", "oneOf", "allOf") for each in part.get(word, ()) if "if" not in each]
    for each in choices:
        yield from _lines_of_schema(each, parts, at, where)
    if at and not choices:
        yield f"{at}: {_words_of_schema(part)}"
    for key, below in sorted(part.get("properties", {}).items()):
        path = f"{at}.{key}" if at else key
        if key in part.get("required", ()):
            yield f"{path}: required"
        if below.get("default") not in (None, [], {}):
            yield f"{path}: default {json.dumps(below['default'])}"
        yield from _lines_of_schema(below, parts, path, where)
    for place, key in (("[]", "items"), ("{}", "additionalProperties")):
        if isinstance(below := part.get(key), dict):
            yield from _lines_of_schema(below, parts, at + place, where)


def _words_of_schema(part: Mapping[str, Any]) -> str:
    if "const" in part:
        return json.dumps(part["const"])
    return " | ".join(map(json.dumps, sorted(part["enum"]))) if "enum" in part else str(part.get("type", "any value"))


def file_lines() -> Iterator[str]:
    """What files hold besides records: parts of archives, keys of JSON; and variables of the environment."""
    yield f"archive: format {FORMAT}, version {VERSION}"
    yield from (f"archive: part {part}" for part in PARTS)
    yield from (f"archive: manifest {line}" for line in lines_of(Manifest))
    yield from (f"trust.json: files{{}}.{field.name}" for field in fields(Allowed))
    habits = Habits()
    habits.remember_theme("textual-dark")
    yield from (f"settings of a person: {key}" for key in json.loads(habits.text))
    for variable in set(re.findall(r"QUARTERDECK_[A-Z_]*[A-Z]", sources())):
        yield f"environment: {variable}"


def table_lines(folder: Path) -> Iterator[str]:
    """The tables of a database and of the files beside it, column by column."""

    async def make() -> None:
        async with open_store(folder / "team.db", durability="normal"):
            pass

    anyio.run(make)
    for path in sorted(folder.glob("team.db*")):
        if path.read_bytes()[:6] != b"SQLite":
            continue
        with closing(sqlite3.connect(path)) as file:
            (version,) = file.execute("PRAGMA user_version").fetchone()
            yield f"{path.name}: version {version}"
            for kind, name in file.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"):
                yield f"{path.name}: {kind} {name}"
                for _, column, of, not_null, default, key in file.execute(f"PRAGMA table_info({name})"):
                    said = f"{of}{' NOT NULL' if not_null else ''}{f' DEFAULT {default}' if default else ''}"
                    yield f"{path.name}: {kind} {name}.{column} {said}{' KEY' if key else ''}"


def metric_lines() -> Iterator[str]:
    """The families of `/metrics` with their types, and the labels of their samples."""
    world = team_world(agent("ada"))
    world.order(Submit(request="go"))
    (key,) = world.started
    spent = Usage(tokens_in=3, tokens_out=2, tokens_cached=1, cost_usd=Decimal("0.5"))
    world.record(key, "draft", usage=spent, duration_ms=5)
    world.settle()
    counts = Counts(State())
    counts.fold(world.journal)
    for line in exposition(counts, Activities(counts.state, {}, 0), engine_up=True).splitlines():
        if line.startswith("# TYPE "):
            yield line.removeprefix("# TYPE ")
        elif not line.startswith("#"):
            labels = re.findall(r"(\w+)=", line)
            yield f"{line.partition('{')[0].split()[0]} labels: {' '.join(labels)}".rstrip()


def word_lines() -> Iterator[str]:
    """Words that stand in files or in JSON as texts of any kind: kinds of timers, of questions, of refusals, names."""
    for subject, words in {
        "strategy": BUILT_IN, "rule of balancing": RULES, "type of agent": built_in(), "timer": ON_TIMER,
        "question": ON_ANSWER, "code of an error": error_codes(),
    }.items():  # fmt: skip
        yield from (f"{subject}: {word}" for word in words)


def error_codes() -> set[str]:
    """The `code` of every error that `--json` or an event may tell."""
    text = sources()
    codes = {code for way in ("fail", "Failure") for code in re.findall(rf'{way}\(\s*"([a-z_]+)"', text)}
    bases = [(name, re.findall(r"\w+", of)) for name, of in re.findall(r"^class (\w+)\(([^)]*)\)", text, re.MULTILINE)]
    ours = {"StoreError", "CoreError", "TeamFileError", "TrustError", "CommandRefusedError", "EngineError"}
    while more := {name for name, of in bases if ours.intersection(of)} - ours:
        ours |= more
    return codes | {re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() for name in ours}


@cache
def sources() -> str:
    """The text of every file of the product."""
    return "".join(path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
