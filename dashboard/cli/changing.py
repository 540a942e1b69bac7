"""`strategy`, `add`, `remove`, `pause`, `resume`, `cancel`, `retry`: change a team while it works.

One rule holds inside: nothing is changed here. Each subcommand builds one command (or one for each agent of a file)
and says what the engine made of it.
"""

import json
from pathlib import Path
from typing import Literal

import click
from pydantic import JsonValue

from dashboard.clean import clean
from dashboard.cli.database import naming
from dashboard.cli.ordering import Sending, order, sending_options, state_of
from dashboard.cli.output import DONE, WRONG_USAGE, emit, fail, is_interactive
from dashboard.cli.planned import strategy_plan
from dashboard.cli.trusting import ensure_granted
from dashboard.specfile import read_spec_file
from engine.core.commands import (
    AddAgent,
    AddSupervisor,
    Cancel,
    Pause,
    RemoveMember,
    Resume,
    RetryWork,
    SwitchStrategy,
)
from engine.core.queries.targets import at
from engine.core.spec import AGGREGATIONS, Aggregation
from engine.core.state import State


@click.command("strategy")
@click.argument("supervisor")
@click.argument("mode")
@click.option("--aggregation", type=click.Choice(AGGREGATIONS), help="How results are joined.")
@click.option("--aggregator", metavar="AGENT", help="Who joins them by synthesis.")
@click.option("--lead", metavar="AGENT", help="Who gets the whole request, for delegate.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the strategy; JSON, or text.")
@click.option("--run", "run_id", metavar="RUN", help="Only this run; the supervisor stays as it is.")
@click.option("--no-preserve", is_flag=True, help="Stop what runs at its next step; its partial results are kept.")
@click.option("--new-only", is_flag=True, help="Leave open runs as they are.")
@click.option("--dry-run", is_flag=True, help="Say what would be kept and what planned anew.")
@sending_options
@click.pass_context
def strategy(
    ctx: click.Context, supervisor: str, mode: str, *, aggregation: Aggregation | None, aggregator: str | None,
    lead: str | None, settings: tuple[str, ...], run_id: str | None, no_preserve: bool, new_only: bool, dry_run: bool,
) -> int:  # fmt: skip
    """Let SUPERVISOR coordinate by MODE from now on, in its open runs too; what is done stays done."""
    sending = Sending.of(ctx, changes=not dry_run)
    scope: Literal["run", "open", "new"] = "run" if run_id is not None else "new" if new_only else "open"
    command = SwitchStrategy(
        supervisor=supervisor,
        mode=mode,
        aggregation=aggregation,
        aggregator=aggregator,
        preserve_agent_states=not no_preserve,
        scope=scope,
        run=run_id,
        lead=lead,
        settings=dict(map(_setting, settings)) if settings else None,
    )
    if not dry_run:
        return order(ctx, sending, [command])
    state = state_of(sending)
    body, told = strategy_plan(state, command)
    emit(ctx, body | naming(sending.path, state), told)
    return DONE


def _setting(said: str) -> tuple[str, JsonValue]:
    key, equals, text = said.partition("=")
    if not equals or not key:
        fail("usage", f"{said!r} is no setting", "write KEY=VALUE, such as --set rounds=3", WRONG_USAGE)
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        value = text
    return key, value


@click.command("add")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--under", metavar="SUPERVISOR", help="Otherwise the first one.")
@click.option("--trust", is_flag=True, help="Allow the code that the file names.")
@sending_options
@click.pass_context
def add(ctx: click.Context, file: Path, *, under: str | None, trust: bool) -> int:
    """Add what stands in FILE: one agent, a list of agents, or a whole team file as a supervisor of its own.

    An agent is written as in a team file: {name: scout, run: "crew.scout:survey", specialties: [survey]}
    """
    sending = Sending.of(ctx)
    found = read_spec_file(file)
    ensure_granted(sending, found, trust=trust)
    if found.team is not None:
        parent = under or _first_supervisor(state_of(sending))
        return order(ctx, sending, [AddSupervisor(parent=parent, team=found.team)])
    return order(ctx, sending, [AddAgent(supervisor=under, spec=spec) for spec in found.agents])


@click.command("remove")
@click.argument("target")
@click.option(
    "--mode",
    type=click.Choice(["drain", "requeue", "abort"]),
    help="What becomes of its work: it ends, another takes it, it is stopped.",
)
@sending_options
@click.pass_context
def remove(ctx: click.Context, target: str, *, mode: Literal["drain", "requeue", "abort"] | None) -> int:
    """Remove the agent TARGET, or a supervisor that has nobody under it."""
    return order(ctx, Sending.of(ctx), [RemoveMember(target=target, mode=mode)])


@click.command("pause")
@click.argument("target")
@sending_options
@click.pass_context
def pause(ctx: click.Context, target: str) -> int:
    """Let the agent, supervisor or run TARGET start nothing new; what is at work goes on."""
    return order(ctx, Sending.of(ctx), [Pause(target=target)])


@click.command("resume")
@click.argument("target")
@sending_options
@click.pass_context
def resume(ctx: click.Context, target: str) -> int:
    """Let the paused agent, supervisor or run TARGET go on."""
    return order(ctx, Sending.of(ctx), [Resume(target=target)])


@click.command("cancel")
@click.argument("target")
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.option("--reason", metavar="TEXT", help="Why; it stands with what was cancelled.")
@sending_options
@click.pass_context
def cancel(ctx: click.Context, target: str, *, yes: bool, reason: str | None) -> int:
    """Stop the run or task TARGET at its next step; what is done is kept."""
    sending = Sending.of(ctx)
    if not yes and is_interactive():
        click.confirm(f"Cancel {clean(_described(state_of(sending), target))}?", abort=True, err=True)
    return order(ctx, sending, [Cancel(target=target) if reason is None else Cancel(target=target, reason=reason)])


@click.command("retry")
@click.argument("target")
@sending_options
@click.pass_context
def retry(ctx: click.Context, target: str) -> int:
    """Try the failed or waiting task TARGET again now; or submit the request of a finished run again."""
    return order(ctx, Sending.of(ctx), [RetryWork(target=target)])


def _first_supervisor(state: State) -> str | None:
    return at(state.roots[0].id) if state.roots else None


def _described(state: State, target: str) -> str:
    """Return what a target is, so that a person sees what they stop."""
    target = target.removeprefix("@")
    if (run := state.runs.get(target)) is not None:
        left = run.total - run.ended
        return f"the run {run.id} ({run.title}), {run.running} of whose {left} open tasks are at work"
    if (task := state.tasks.get(target)) is not None:
        return f"the task {task.id} ({task.title}) of the run {task.run_id}, which is {task.status.value}"
    return repr(target)
