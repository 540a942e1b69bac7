"""`up`: start the team of a file as an engine of its own, or attach to it where it runs.

What an edited file would change is shown before it is done, with who is no longer in it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import to_builtins

from dashboard.cli.database import team_database, team_fields, team_file_here
from dashboard.cli.engines.stop import GRACE_S, perform_hand_over, standing_by
from dashboard.cli.printing.output import (
    DONE,
    NO_ENGINE,
    REFUSED,
    OutputSettings,
    emit,
    fail,
    is_interactive,
    is_json,
    quote_path,
    say,
)
from dashboard.cli.screen import has_terminal, open_dashboard, reopen_commands
from dashboard.cli.sending import perform
from dashboard.cli.trust import ensure_trusted
from dashboard.engines.process import doubt_of, engine_at_work, is_alive, log_of, start_engine
from engine.core.commands import LoadTeam, Resume, Winner
from engine.core.decisions.decision_context import DecisionContext
from engine.core.errors import Refused
from engine.core.preview import plan_of
from engine.core.queries.targets import id_target
from engine.core.queries.team.team_plan import MemberChange, describe_change
from engine.core.records.records import copy_with
from engine.core.state import State
from engine.platform.version import program_build
from engine.reading.folding import fold_file
from engine.supervisor.client import CommandReply
from engine.trusted_code.trust import UntrustedFile
from store import MissingFile, NotOurFile

if TYPE_CHECKING:
    from engine.teamfile import TeamFile
    from engine.teamfile.code import TeamCode

LOADED_WITHIN_S = 60.0
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Launched:
    """A running team."""

    db: Path
    pid: int
    started: bool
    """False if an engine was running already."""
    outcome: CommandReply | None
    """Of loading the file; None where the engine has this very content."""
    handed_over: bool = False
    """True if a new process took over because code has changed."""
    build: str = ""
    """Of quarterdeck, in that engine."""
    doubt: str = ""
    """As `doubt_of` that engine."""

    @property
    def is_other_build(self) -> bool:
        """Return whether the engine runs another build of Quarterdeck than this program."""
        return self.build != program_build()

    def body(self) -> dict[str, object]:
        """Return it in the shape of `--json`."""
        return {
            **team_fields(self.db),
            "pid": self.pid,
            "started": self.started,
            "handed_over": self.handed_over,
            "build": self.build,
            "other_build": self.is_other_build,
            "loaded": self.outcome.result if self.outcome is not None else None,
            "seq": self.outcome.seq if self.outcome is not None else None,
            "log": str(log_of(self.db)),
        }


def merge_options(command: F) -> F:
    """Add the options that say how an edited file is merged."""
    for option in (
        click.option(
            "--on-conflict",
            type=click.Choice(["declared", "current"]),
            default="declared",
            show_default=True,
            help="What was changed since the file was loaded: as the file declares it, or as it is.",
        ),
        click.option("--keep", is_flag=True, help="Keep members that are no longer in the file."),
        click.option("--prune", is_flag=True, help="Remove members that are no longer in the file after their work."),
    ):
        command = option(command)
    return command


@click.command("up")
@click.argument("team", required=False, type=click.Path(path_type=Path))
@click.option("--detach", is_flag=True, help="Open no dashboard.")
@click.option("--trust", "trusting", is_flag=True, help="Trust the file as it is now.")
@merge_options
@click.option("--dry-run", is_flag=True, help="Show what an edited file would change, without doing it.")
@click.pass_context
def up(
    ctx: click.Context,
    team: Path | None,
    *,
    detach: bool,
    trusting: bool,
    prune: bool,
    keep: bool,
    on_conflict: Winner,
    dry_run: bool,
) -> int:
    """Start the team of the file TEAM, or of team.yaml here, and open the dashboard on it.

    The engine outlives the terminal. Where it runs already this attaches to it; what an edited file would change is
    shown and asked about first, also where only the code that it runs was edited: that is a new generation of its
    agents, in a fresh engine process that the one at work hands over to.
    """
    from dashboard.cli.files import check_code  # pydantic: the engine, which shares the functions below, does without
    from engine.teamfile.code import TeamCode

    code = TeamCode.read(team or team_file_here())
    file = code.team
    db = team_database(ctx, file)
    command = copy_with(file.load_command(), on_conflict=on_conflict)
    state = state_of(db)
    check_same_team(ctx, db, state, file.path)
    is_known = is_loaded(state, command, code.digests)
    plan = [] if is_known else plan_load(state, command, code.digests)
    if dry_run:
        print_plan(ctx, db, state, plan)
        return DONE
    _ensure_trusted(ctx, db, code, plan, allowed=trusting, state=state)
    if not is_known:
        check_code(file)
        command = confirm_load(ctx, db, command, plan, prune=prune, keep=keep)
    launched = launch(db, command, code.digests)
    settings = ctx.ensure_object(OutputSettings)
    if settings.json or detach or not has_terminal():
        emit(ctx, "up", launched.body() | {"items": plan_items(plan)}, _launch_lines(file, launched))
        return DONE
    for line in _launch_lines(file, launched):
        say(line)
    return open_dashboard(db, debug=settings.debug)


def _ensure_trusted(
    ctx: click.Context, db: Path, code: "TeamCode", plan: list[MemberChange], *, allowed: bool, state: State
) -> None:
    """Return once the file may run its code; if that code changed, first list the agents that get a new generation."""
    try:
        ensure_trusted(code, allowed=allowed, db=db, state=state)
    except UntrustedFile as error:
        if not (error.changed and plan):
            raise
        if not is_json(ctx):
            say(*plan_lines(plan))
        hint = f"or in one go: quarterdeck up {code.team.path} --trust"
        fail("untrusted_file", str(error), hint, about={**team_fields(db), "items": plan_items(plan)})


def launch(db: Path, command: LoadTeam, digests: Mapping[str, str]) -> Launched:
    """Bring a team up on a database: start an engine where none is, and load the file where it is new or changed.

    `digests` has the hash of the code of each of its references. Where the team is refused, an engine that was started
    for it is ended again.

    Raises:
        EngineDidNotStart: If it did not.
    """
    trusted_digests, folder = state_of(db).trusted, Path(command.folder)
    if is_alive(db) and any(trusted_digests.get(reference, digest) != digest for reference, digest in digests.items()):
        # Start the fresh process first: attempts on old code that begin before it leads are cut at their next step.
        with standing_by(db, folder):
            outcome = _load(db, command)
            pid = perform_hand_over(db, GRACE_S)[1].pid
            return Launched(db, pid, False, outcome, handed_over=True, build=program_build())
    process = None if is_alive(db) else start_engine(db, folder=folder)
    try:
        loaded = None if is_loaded(fold_file(db), command, digests) else _load(db, command)
        if process is None or loaded is not None:
            _check_agents(db)
    except BaseException:
        # Also on Ctrl-C: an engine without its team is useless.
        if process is not None:
            process.end()
        raise
    engine = engine_at_work(db)
    if engine is None:
        fail("no_engine", "the engine ended at once", f"its log says why: {log_of(db)}", NO_ENGINE)
    return Launched(db, engine.pid, process is not None, loaded, build=_build_of(db), doubt=doubt_of(engine))


def _build_of(db: Path) -> str:
    engine = state_of(db).engine
    return "" if engine is None else engine.version


def _load(db: Path, command: LoadTeam) -> CommandReply:
    hint = f"its log may say why: {log_of(db)}"
    return perform(db, command, LOADED_WITHIN_S, silent="the engine did not answer", hint=hint)


def _check_agents(db: Path) -> None:
    """Resume agents that could not work: their code may exist, or be trusted, by now."""
    for agent in fold_file(db).agents.values():
        if (agent.error is not None or agent.away) and not agent.paused:
            perform(db, Resume(target=id_target(agent.id)), LOADED_WITHIN_S, silent="the engine did not answer")


def is_loaded(state: State, command: LoadTeam, digests: Mapping[str, str]) -> bool:
    """Return whether a database has loaded exactly this team file with exactly this code."""
    team = state.team
    if team is None or (team.sha256, team.path, team.folder) != (command.sha256, command.path, command.folder):
        return False
    return all(state.trusted.get(reference) == digest for reference, digest in digests.items())


def state_of(db: Path) -> State:
    """Return the state of a database, an empty one if the database does not exist yet.

    Raises:
        StoreError: If the file is not a Quarterdeck database; then no log is written beside it.
    """
    try:
        return fold_file(db)
    except MissingFile:
        return State()
    except NotOurFile:
        if db.is_file() and db.stat().st_size == 0:
            return State()
        raise


def check_same_team(ctx: click.Context, db: Path, state: State, file: Path) -> None:
    """Refuse to load a file into the database of another one, unless `--db` names it."""
    if ctx.ensure_object(OutputSettings).db is None and state.team is not None and Path(state.team.path) != file:
        hint = (
            f"give this team a database of its own: --db FILE; or name that one to add it there: --db {quote_path(db)}"
        )
        fail("other_team", f"{db} holds the team of another file, {state.team.path}", hint)


def _launch_lines(file: "TeamFile", launched: Launched) -> list[str]:
    """Return lines on the launch, and the commands that open and stop the team."""
    state_text = "is up" if launched.started else "was up already"
    lines = [f"{file.name} {state_text}: engine {launched.pid} on {launched.db}{launched.doubt}"]
    if launched.outcome is not None and not launched.started:
        state_text = "the code has changed" if launched.handed_over else "the file has changed"
        lines = [f"{state_text}; {launched.outcome.summary} (engine {launched.pid} on {launched.db})"]
        lines += [f"engine {launched.pid} is a fresh process; what was at work goes on there"] * launched.handed_over
    if launched.is_other_build:
        text = f"engine {launched.pid} runs quarterdeck {launched.build}, and this is {program_build()}"
        lines += [f"{text}: some of what is new here does not work there; to change that, and go on where it is:"]
        lines += [f"  quarterdeck stop --db {quote_path(launched.db)} && quarterdeck up {quote_path(file.path)}"]
    return [*file.warnings, *lines, *reopen_commands(launched.db)]


def plan_load(state: State, command: LoadTeam, digests: Mapping[str, str]) -> list[MemberChange]:
    """Return what loading the file would change in the team that is there; a refusal is exit 3."""
    try:
        return plan_of(state, command, DecisionContext(now_ms=state.at_ms, jitter=0.0, granted=digests))
    except Refused as refusal:
        fail(refusal.code, refusal.reason, "", REFUSED)


def confirm_load(
    ctx: click.Context, db: Path, command: LoadTeam, plan: list[MemberChange], *, prune: bool, keep: bool
) -> LoadTeam:
    """Return the command with the operator's choices: a person is asked, a script gives options.

    Exit 2 if members are missing in the file and no option says whether to keep them.
    """
    if prune and keep:
        fail("usage", "--prune and --keep say the opposite", "give one of them")
    as_json = is_json(ctx)
    drops_members = any(change.change == "dropped" for change in plan)
    is_decided = prune or keep or not plan
    can_ask = not is_decided and is_interactive() and not as_json
    if not as_json:
        for line in plan_lines(plan):
            say(line)
    if can_ask:
        click.confirm("Change the team like that?", abort=True, err=True)
        return copy_with(
            command,
            prune=drops_members and click.confirm("Remove the members that are no longer in the file?", err=True),
        )
    if drops_members and not is_decided:
        hint = "--prune removes them, --keep keeps them"
        about = {**team_fields(db), "items": plan_items(plan)}
        fail("no_longer_in_file", "members are no longer in the file", hint, about=about)
    return copy_with(command, prune=prune)


def plan_items(plan: list[MemberChange]) -> list[dict[str, object]]:
    """Return a plan in the shape of `--json`."""
    return [to_builtins(change) for change in plan]


def print_plan(ctx: click.Context, db: Path, state: State, plan: list[MemberChange]) -> None:
    """Print what would change, without doing it."""
    body = {
        "dry_run": True,
        **team_fields(db, state),
        "seq": state.seq,
        "items": plan_items(plan),
    }
    no_change = (
        "nothing to change" if state.supervisors else f"no team is loaded in {db} yet: all of the file would be added"
    )
    emit(ctx, "plan", body, plan_lines(plan) or [no_change])


def plan_lines(plan: list[MemberChange]) -> list[str]:
    """Return a plan in words."""
    return [describe_change(change) for change in plan]
