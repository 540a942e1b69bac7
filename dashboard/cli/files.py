"""Team files of a user's own: `init` writes one with its agents, `check` says everything that is wrong with one."""

import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout, suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import click

from dashboard.cli.database import team_file_here
from dashboard.cli.printing.output import DONE, WRONG_USAGE, emit, fail, is_json, quote_path, write_output
from dashboard.cli.trust import allow, trust_list
from engine.core.records.values import pluralize
from engine.models.providers import find_keys, missing_key
from engine.teamfile import FileFault, TeamFile, TeamFileError, json_schema, read_team
from engine.teamfile.code import TeamCode
from engine.teamfile.prices import unpriced_models

TEMPLATES = ("functions", "research", "code-review", "coding-agents")
"""Templates of teams; each is a folder of this package."""


@click.command("init")
@click.argument("folder", required=False, default=".")
@click.option("--template", "name", type=click.Choice(TEMPLATES), default="functions", help="What to start from.")
@click.option("--model", metavar="NAME", help="The model that its agents think with, such as openai/gpt-4o-mini.")
@click.option("--offline", is_flag=True, help="Scripted answers, also where a key is in the environment.")
@click.pass_context
def init(ctx: click.Context, folder: str, *, name: str, model: str | None, offline: bool) -> None:
    """Write a small team into FOLDER (or here): team.yaml, and the code beside it.

    \b
    functions      plain functions that read the texts of the folder
    research       a model that leads a reader with tools and a writer
    code-review    three models look at a change, and one joins what they say
    coding-agents  programs as agents

    Models answer from a script, so that everything runs offline, unless --model names one, QUARTERDECK_MODEL does, or
    the environment has the key of a provider.
    """  # noqa: D301 - click looks for the character itself: a raw docstring would print it
    if offline and model is not None:
        fail("usage", "--offline and --model exclude each other", "leave one of them out")
    if not folder:
        fail("usage", "'' names no folder", "leave it out to write into this one")
    at = Path(folder)
    found_model, reason = (None, "") if offline or model is not None or not _has_models(name) else _find_model()
    contents = _contents(name, model or found_model)
    for file_name in contents:
        if os.path.lexists(at / file_name):
            fail("exists", f"{at / file_name} already exists, nothing was written", "name another folder")
    new = [parent for parent in (at, *at.parents) if not parent.exists()]
    try:
        at.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail("unwritable", f"{at} cannot be made: {error.strerror}", "name another folder")
    paths: list[Path] = []
    try:
        for path, text in contents.items():
            with (at / path).open("x", encoding="utf-8") as file:
                paths.append(at / path)
                file.write(text)
    except BaseException as error:
        with suppress(OSError):
            for new_path in paths:
                new_path.unlink()
            for new_folder in new:
                new_folder.rmdir()
        if isinstance(error, OSError):
            where = paths[-1] if paths else at
            fail("unwritable", f"{where} cannot be written: {error.strerror}", "make room, or name another folder")
        raise
    body = {"folder": str(at.absolute()), "files": [str(path) for path in paths]}
    cd_command = "" if at == Path() else f"cd {quote_path(at)} && "
    if found_model is not None:
        body["model"] = found_model
    missing = missing_key(model, os.environ) if model is not None else None
    if missing is not None:
        body["missing"] = missing
    lines = [
        f"wrote {' and '.join(str(path) for path in paths)}",
        *([f"needs:     {missing} where the engine runs; it is not set here"] if missing is not None else []),
        *(
            [f"model:     {found_model}, because {reason}; --offline writes scripted answers"]
            if found_model is not None
            else []
        ),
        f"start it:  {cd_command}quarterdeck up team.yaml",
        f"then:      quarterdeck run {json.dumps(_REQUESTS[name])}",
    ]
    emit(ctx, "init", body, lines)


_REQUESTS = {
    "functions": "Report on the texts in this folder",
    "research": "What do the texts in this folder say about tools?",
    "code-review": "Review what has changed",
    "coding-agents": "Write a function that adds two numbers",
}


_DEFAULT_MODELS = {
    "anthropic": "anthropic/claude-haiku-4-5",
    "openai": "openai/gpt-4o-mini",
    "gemini": "gemini/gemini-2.5-flash",
    "mistral": "mistral/mistral-small-latest",
    "deepseek": "deepseek/deepseek-chat",
}
"""A small default model of each provider."""


def _find_model() -> tuple[str | None, str]:
    """Return the model that the environment names or has a key for, and the reason."""
    if model_name := os.environ.get("QUARTERDECK_MODEL"):
        return model_name, "QUARTERDECK_MODEL names it"
    candidates = (
        (_DEFAULT_MODELS[provider], variable)
        for provider, variable in find_keys(os.environ).items()
        if provider in _DEFAULT_MODELS
    )
    return next(((model, f"{variable} is set") for model, variable in candidates), (None, ""))


def _folder_of(template: str) -> Traversable:
    return files("dashboard.cli") / "template" / template


def _has_models(template: str) -> bool:
    """Return whether a template has model agents, which come with scripted replies."""
    return (_folder_of(template) / "replies.yaml").is_file()


def _contents(template: str, model: str | None) -> dict[str, str]:
    """Return the files of a template by name, with a model in place of the scripted answers where one is named."""
    files = _folder_of(template).iterdir()
    texts = {file.name.removesuffix(".txt"): file.read_text(encoding="utf-8") for file in files}
    replies = texts.pop("replies.yaml", None)
    if replies is None and model is not None:
        fail("usage", f"no agent of {template} uses a model", "leave out --model, or take another --template")
    if replies is not None:
        names = [line.strip(" :") for line in replies.splitlines() if re.fullmatch(r"  \w+:", line)]
        model_lines = "".join(f"  {name}: {{model: {json.dumps(model)}}}\n" for name in names)
        block = f"models:\n{model_lines if model else replies}"
        texts["team.yaml"] = texts["team.yaml"].replace("models: {models}\n", block)
    return dict(sorted(texts.items(), reverse=True))


@click.command("check")
@click.argument("team", required=False, type=click.Path(path_type=Path))
@click.option("--schema", is_flag=True, help="Print the JSON Schema of team files, for editors.")
@click.option("--trust", "trusting", is_flag=True, help="Trust the file, so that its code is checked too.")
@click.option("--no-servers", is_flag=True, help="Start no tool servers to see whether they work.")
@click.pass_context
def check(ctx: click.Context, team: Path | None, *, schema: bool, trusting: bool, no_servers: bool) -> int:
    """Check the team file TEAM, or team.yaml here: each fault in one line, with file, line and field.

    Only when the file is trusted is its code imported, to find functions that are missing or cannot be described to a
    model, and are its tool servers started, and ended again.
    """
    if schema:
        write_output(json.dumps(json_schema(), indent=None if is_json(ctx) else 2))
        return DONE
    team = team or team_file_here()
    try:
        file = read_team(team)
    except TeamFileError as error:
        return _report_faults(ctx, team, error)
    if faults := unpriced_models(file):
        return _report_faults(ctx, team, TeamFileError(team, faults), file)
    code = TeamCode(file)
    if trusting:
        allow(code)
    trusted = not file.references or trust_list().is_trusted(file.path, file.sha256, code.files)
    with redirect_stdout(sys.stderr):  # what the team's modules print at import is not part of the result
        problems = code.reference_problems() if trusted else []
        problems += code.server_problems() if trusted and not no_servers else []
    if problems:
        return _report_faults(ctx, team, TeamFileError(team, problems), file)
    warnings = [*file.warnings, *code.warnings]
    verdict = f"no faults, and {pluralize(len(warnings), 'warning')}" if warnings else "all is well"
    lines = [f"{team}: {line}" for line in (verdict, *warnings)]
    if not trusted:
        lines.append(f"its code was not looked at, because it is not trusted: quarterdeck trust {team}")
    emit(ctx, "check", {**_body(team, [], file, trusted=trusted), "warnings": warnings}, lines)
    return DONE


def check_code(file: TeamFile) -> None:
    """Look whether the code of a trusted team file is there, in a process of its own.

    Raises:
        TeamFileError: If some of it is not.
        Failure: If its code ends that process.
    """
    if not file.references:
        return
    command = [sys.executable, "-P", "-m", "dashboard", "check", str(file.path), "--json", "--no-servers"]
    process = subprocess.run(
        command, cwd=file.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    try:
        problems = json.loads(process.stdout.splitlines()[-1])["problems"]
    except (IndexError, ValueError, KeyError, TypeError):
        last_line = (process.stderr.splitlines() or ["it said nothing"])[-1]
        text = f"the code of {file.path} could not be looked at: {last_line}"
        fail("code_failed", text, f"see: quarterdeck check {quote_path(file.path)}")
    if problems:
        faults = [FileFault(problem["line"], problem["field"], problem["message"]) for problem in problems]
        raise TeamFileError(file.path, faults)


def _report_faults(ctx: click.Context, team: Path, error: TeamFileError, file: TeamFile | None = None) -> int:
    if not is_json(ctx):
        raise error
    emit(ctx, "check", _body(team, error.problems, file, trusted=file is not None), None)
    return WRONG_USAGE


def _body(team: Path, problems: list[FileFault], file: TeamFile | None, *, trusted: bool) -> dict[str, object]:
    return {
        "path": str(team),
        "ok": not problems,
        "problems": [{"line": problem.line, "field": problem.field, "message": problem.text} for problem in problems],
        "warnings": file.warnings if file else [],
        "references": file.references if file else [],
        "trusted": trusted,
    }
