"""`demo`: a crew that reads a folder of source code, or scripted models on an incident; both take further requests.

The crew is in `dashboard.demo`; here it is launched like any other team, one database for each folder. Its file comes
with the program, so it is trusted by itself.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

import dashboard.demo
from dashboard.cli.database import check_database, ensure_data_folder, explicit_database, path_digest
from dashboard.cli.engines.up import Launched, is_loaded, launch
from dashboard.cli.printing.output import DONE, INTERRUPTED, OutputSettings, emit, fail, quote_path, say
from dashboard.cli.printing.progress import ProgressLine
from dashboard.cli.run import finish, submit
from dashboard.cli.screen import has_terminal, open_dashboard, reopen_commands, say_how_to_reopen
from dashboard.cli.sending import client_on
from dashboard.cli.trust import allow, assign
from dashboard.demo.desk import desk_folder, lay_out
from dashboard.demo.library import FILES, MAX_FILES, FolderTaken, stdlib_folder
from dashboard.engines.process import is_alive
from engine.core.commands import Submit
from engine.core.records.records import copy_with
from engine.reading.folding import fold_file
from engine.teamfile import TeamFile, parse_team, read_team
from engine.teamfile.code import TeamCode

REQUEST = "audit"
INCIDENT = "Checkout is slow since Tuesday: find out why, and ship a fix"
WITHIN_S = {"mapper": 36, "metrician": 175, "doc_checker": 175}
"""Seconds that leads have when the demo is watched: three to five minutes in all, on any machine."""
ASKS = "metrician"
GIVES_UP, ESCALATES = "[{retry: 1}, failover]", "[{retry: 1}, failover, {escalate: {after_s: 45, default: reject}}]"
"""Policies for a file that no parser takes, unwatched and watched; for the first agent that has it."""
LINE_EVERY_S = 2.0


@click.command("demo")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--stdlib", is_flag=True, help="Read a copy of a part of Python's library, with a few odd files.")
@click.option("--models", is_flag=True, help="Watch scripted models at work on an incident, for about four minutes.")
@click.option("--model", metavar="NAME", help="A model that sums the report up, such as openai/gpt-4o-mini.")
@click.option("--no-dashboard", is_flag=True, help="Wait for the report and print it.")
@click.option("--detach", is_flag=True, help="Start it and return.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(path_type=Path), help="Write the report to a file.")
@click.pass_context
def demo(
    ctx: click.Context,
    folder: Path | None,
    *,
    stdlib: bool,
    models: bool,
    model: str | None,
    no_dashboard: bool,
    detach: bool,
    output: Path | None,
) -> int:
    """Watch a crew read the source code in FOLDER (or here) and write a report.

    No model and no network is needed; with --model one sums the report up. With --models
    a team of agents that scripted models play looks into an incident: all of it is made up.
    The crew stays and takes further requests, such as: quarterdeck run "audit src"
    """
    if stdlib and folder is not None:
        fail("usage", "give a folder or --stdlib, not both", "see: quarterdeck demo --help")
    if models and (stdlib or folder is not None or model is not None):
        fail("usage", "--models has a story and models of its own", "leave the folder, --stdlib and --model out")
    settings = ctx.ensure_object(OutputSettings)
    source_folder, database_name = (desk_folder(), "models") if models else _folder(folder, stdlib=stdlib)
    db = explicit_database(ctx)
    if db is None:
        db = ensure_data_folder() / "demo" / f"{database_name}.db"
        db.parent.mkdir(exist_ok=True, mode=0o700)
    check_database(db)
    opens_dashboard = not (detach or no_dashboard or settings.json or output is not None) and has_terminal()
    if models:
        launched = _launch_incident(db)
    else:
        launched = _launch_crew(db, source_folder, stdlib=stdlib, model=model, looking=opens_dashboard)
    try:
        run_id = _run_to_watch(launched, INCIDENT if models else REQUEST, looking=opens_dashboard)
    except KeyboardInterrupt:  # before there is a screen that could ask
        say_how_to_reopen(db)
        raise
    if opens_dashboard:
        return open_dashboard(db, demo=True, debug=settings.debug)
    if detach:
        who = "the models work" if models else "the crew works"
        text = f"{who} in {source_folder}: run {run_id}, engine {launched.pid} on {launched.db}"
        emit(ctx, "up", launched.body() | {"run_id": run_id}, [text, *reopen_commands(launched.db)])
        return DONE
    progress = ProgressLine(db, run_id, every_s=0.2 if sys.stderr.isatty() else LINE_EVERY_S, always=True)
    status = finish(ctx, db, run_id, output, progress=progress)
    if status != INTERRUPTED:
        if not models:
            say(f'the crew waits for the next request: quarterdeck run "audit …" --db {quote_path(db)}')
        say(*reopen_commands(db))
    return status


def crew_file() -> Path:
    """Return the team file of the crew, which ships with the program."""
    return Path(dashboard.demo.__file__).resolve().with_name("crew.yaml")


def incident_file() -> Path:
    """Return the team file of the scripted models, which ships with the program."""
    return crew_file().with_name("incident.yaml")


def crew_text(model: str | None, *, watched: bool = False, timed: bool = False) -> str:
    """Return the team file of the crew.

    Args:
        model: An editor that this model plays sums the report up.
        watched: A person looks on: the crew asks about what it cannot decide.
        timed: The crew has so many minutes and takes a sample of the files, whatever the machine.
    """
    text = crew_file().read_text(encoding="utf-8")
    if model is not None:
        asks = 'run: "dashboard.demo.leads:writer"\n'
        text = text.replace(
            asks, f"{asks}    options: {{editor: editor}}\n{_EDITOR.format(model=json.dumps(model))}", 1
        )
    for lead, within_s in WITHIN_S.items():
        options = [f"within_s: {within_s}"] if timed else []
        options += ["asks: true"] if watched and lead == ASKS else []
        if options:
            runs = f'run: "dashboard.demo.leads:{lead}"\n'
            text = text.replace(runs, f"{runs}        options: {{{', '.join(options)}}}\n", 1)
    return text.replace(GIVES_UP, ESCALATES, 1) if watched else text


_EDITOR = """\
  - name: editor
    type: SimpleAgent
    model: {model}
    description: Sums the report up for a reader in a hurry
    instructions: >-
      You get the report of an audit of source code. Say in at most five sentences of plain text what to do first and
      why. Name files as the report names them; add nothing that is not in it.
    on_failure: [{{retry: 1}}]
    timeout_s: 120
"""


def _folder(path: Path | None, *, stdlib: bool) -> tuple[Path, str]:
    """Return the folder to read, and what names its database."""
    if stdlib:
        return ensure_data_folder() / "demo" / "stdlib", "stdlib"
    folder = (path or Path()).resolve()
    if not folder.is_dir():
        fail("usage", f"{path} is not a folder", "name a folder of source code, or take --stdlib")
    # The folder's name says to a person which one it is, the hash tells equal names apart.
    return folder, f"{folder.name.encode('ascii', 'ignore').decode()[:100] or 'root'}-{path_digest(folder)}"


def _launch_crew(db: Path, folder: Path, *, stdlib: bool, model: str | None, looking: bool) -> Launched:
    """Bring the crew up on a folder; the copy of the library is made first, where an engine does not use it yet."""
    if stdlib and not is_alive(db):
        # Comes with the crew's workers, which only the making of this folder needs here.
        say("copying a part of Python's library to read …")
        try:
            stdlib_folder(folder, max_files=MAX_FILES if looking else FILES)
        except FolderTaken as error:
            fail("folder_taken", str(error))
    texts = [crew_text(model, watched=watched, timed=watched and stdlib) for watched in (looking, not looking)]
    return _launch(db, folder, [parse_team(text, crew_file()) for text in texts])


def _launch_incident(db: Path) -> Launched:
    """Bring the team of scripted models up; its folder is made first, where no engine uses it yet."""
    if not is_alive(db):
        try:
            lay_out()
        except FolderTaken as error:
            fail("folder_taken", str(error))
    return _launch(db, desk_folder(), [read_team(incident_file())])


def _launch(db: Path, folder: Path, files: Sequence[TeamFile]) -> Launched:
    """Bring a team up on a folder: as the first of these files says, unless it is up as another one says."""
    code = TeamCode(files[0])
    allow(code)
    assign(files[0], db, folder)
    # The agents of an older demo leave: the code of some is gone.
    commands = [copy_with(file.load_command(folder=folder), prune=True) for file in files]
    # A crew that is up stays as it is, whether it was started watched or not.
    loaded_commands = []
    if is_alive(db):
        loaded_commands = [command for command in commands if is_loaded(fold_file(db), command, code.digests)]
    else:
        say("starting the engine …")
    return launch(db, (loaded_commands or commands)[0], code.digests)


def _run_to_watch(launched: Launched, request: str, *, looking: bool) -> str:
    """Return the open run, or submit a new one; opening the dashboard on a crew that was already up submits nothing."""
    state = fold_file(launched.db)
    if state.runs:
        return next(iter(state.runs))
    if looking and state.finished and not launched.started:
        return state.finished[-1].id
    return submit(client_on(launched.db), launched.db, Submit(request=request))[0]
