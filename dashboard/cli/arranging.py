"""`move`, `replace`, `set`: who is under whom, and what a supervisor allows, changed while it works."""

from pathlib import Path

import click

from dashboard.cli.ordering import Sending, order, sending_options
from dashboard.cli.output import WRONG_USAGE, fail
from dashboard.cli.swapping import MODES
from dashboard.cli.trusting import ensure_granted
from dashboard.specfile import read_spec_file
from engine.core.commands import ChangeSupervisor, Move, ReplaceTeam
from engine.core.options import BALANCES, Balance, Preempt, SupervisorOptions


@click.command("move")
@click.argument("target")
@click.argument("parent")
@sending_options
@click.pass_context
def move(ctx: click.Context, target: str, parent: str) -> int:
    """Put the agent or supervisor TARGET, with everything under it, under the supervisor PARENT."""
    return order(ctx, Sending.of(ctx), [Move(target=target, parent=parent)])


@click.command("replace")
@click.argument("supervisor")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(MODES), default="drain", show_default=True, help="Of the swaps.")
@click.option("--trust", is_flag=True, help="Allow the code that the file names.")
@sending_options
@click.pass_context
def replace(ctx: click.Context, supervisor: str, file: Path, *, mode: str, trust: bool) -> int:
    """Make what is under SUPERVISOR like the team file FILE: swap what differs, add what is new, remove the rest."""
    sending = Sending.of(ctx)
    found = read_spec_file(file)
    if found.team is None:
        fail("usage", f"{file} is no team file", "it begins with 'version: 1' and has a supervisor", WRONG_USAGE)
    ensure_granted(sending, found, trust=trust)
    return order(ctx, sending, [ReplaceTeam(supervisor=supervisor, team=found.team, mode=mode)])


@click.command("set")
@click.argument("supervisor")
@click.option("--max-parallel", type=click.IntRange(1, 10_000), help="Attempts its own agents may run at once.")
@click.option("--max-total", type=click.IntRange(1, 100_000), help="Attempts at once in it and everything under it.")
@click.option("--processes", type=click.IntRange(1, 10_000), help="Attempts at once in processes, everything under it.")
@click.option("--max-agents", type=click.IntRange(1, 100_000), help="The most agents it may have.")
@click.option("--balance", type=click.Choice(BALANCES), help="Who of several able agents gets a task.")
@click.option("--ageing", type=click.FloatRange(0, 86_400), metavar="S", help="Waiting that raises a task by one.")
@click.option("--preempt", type=click.Choice(["step", "now", "never"]), help="When an urgent task takes a slot.")
@sending_options
@click.pass_context
def set_(
    ctx: click.Context, supervisor: str, *, max_parallel: int | None, max_total: int | None, processes: int | None,
    max_agents: int | None, balance: Balance | None, ageing: float | None, preempt: str | None,
) -> int:  # fmt: skip
    """Change what SUPERVISOR allows; what is not named stays."""
    options = None
    if any(value is not None for value in (max_total, processes, balance, ageing, preempt)):
        at = None if preempt is None else Preempt(at=preempt)  # type: ignore[arg-type]
        options = SupervisorOptions(
            max_total=max_total, processes=processes, balance=balance, ageing_s=ageing, preempt=at
        )
    if options is None and max_parallel is None and max_agents is None:
        fail("usage", "nothing to change", "see: quarterdeck set --help", WRONG_USAGE)
    command = ChangeSupervisor(supervisor=supervisor, options=options, max_parallel=max_parallel, max_agents=max_agents)
    return order(ctx, Sending.of(ctx), [command])
