"""`swap`, `rollback`, `capability`: what an agent is, changed while it works.

One rule holds inside: nothing is changed here. Each subcommand builds one command and says what the engine made of it.
"""

from pathlib import Path

import click

from dashboard.cli.durations import Length
from dashboard.cli.ordering import Sending, order, sending_options
from dashboard.cli.output import WRONG_USAGE, fail
from dashboard.cli.trusting import ensure_granted
from dashboard.specfile import read_spec_file
from engine.core.commands import ChangeCapabilities, Command, Rollback, RollbackAgents, SwapAgent, SwapAgents
from engine.core.spec import AgentSpec
from engine.core.validation.bounds import NAME

MODES = ("drain", "migrate", "abort")
_mode = click.option(
    "--mode", type=click.Choice(MODES), default="drain", show_default=True,
    help="What is at work ends on the old; goes on with the new from its next step; or begins again on the new.",
)  # fmt: skip


@click.command("swap")
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option("--with", "replacement", metavar="SPEC|FILE", help="A spec of the registry, or a file.")
@click.option(
    "--from",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Swap several: each agent of FILE takes the place of the one of its name, all or none.",
)
@_mode
@click.option("--deadline", type=Length(), metavar="TIME", help="With drain: ask a person when it takes longer.")
@click.option("--rollback-after", metavar="N/M", help="Roll back by itself when N of the first M tasks fail.")
@click.option("--trust", is_flag=True, help="Allow the code that the file names.")
@sending_options
@click.pass_context
def swap(
    ctx: click.Context, agents: tuple[str, ...], *, replacement: str | None, file: Path | None, mode: str,
    deadline: float | None, rollback_after: str | None, trust: bool,
) -> int:  # fmt: skip
    """Give AGENT another spec while it works; its id, its history and its queue stay.

    Several agents get the same spec, as one change: all of them, or none.
    """
    if (replacement is None) == (file is None):
        fail("usage", "say what with", "either --with SPEC|FILE for the agents named, or --from FILE", WRONG_USAGE)
    if replacement is not None and not agents:
        fail("usage", "say which agent", "quarterdeck swap AGENT --with SPEC", WRONG_USAGE)
    failures, tasks = _probation(rollback_after)
    sending = Sending.of(ctx)

    def one(agent: str, *, spec: AgentSpec | None = None, registered: str | None = None) -> SwapAgent:
        return SwapAgent(
            agent=agent,
            spec=spec,
            registered=registered,
            mode=mode,
            deadline_s=deadline,
            rollback_failures=failures,
            rollback_tasks=tasks,
        )

    if replacement is not None and NAME.fullmatch(replacement):
        swaps = [one(agent, registered=replacement) for agent in agents]
    else:
        found = read_spec_file(Path(replacement) if replacement is not None else file or Path())
        ensure_granted(sending, found, trust=trust)
        if replacement is not None and len(found.agents) != 1:
            said = f"{replacement} has {len(found.agents)} agents"
            fail("usage", said, "--with takes a file with one agent; --from takes one with several", WRONG_USAGE)
        pairs = [(agent, found.agents[0]) for agent in agents] if replacement is not None else [
            (spec.name, spec) for spec in found.agents if not agents or spec.name in agents
        ]  # fmt: skip
        swaps = [one(agent, spec=spec) for agent, spec in pairs]
        if not swaps:
            fail("usage", f"{file} has none of these agents", "leave the names out to swap all of them", WRONG_USAGE)
    command: Command = swaps[0] if len(swaps) == 1 else SwapAgents(swaps=swaps)
    return order(ctx, sending, [command])


def _probation(said: str | None) -> tuple[int | None, int]:
    if said is None:
        return None, 10
    failures, _, tasks = said.partition("/")
    if not (failures.isascii() and failures.isdigit() and int(failures) > 0):
        fail("usage", f"{said!r} is not N/M", "such as 2/10: back when 2 of the first 10 tasks fail", WRONG_USAGE)
    if tasks and not (tasks.isascii() and tasks.isdigit() and int(tasks) >= int(failures)):
        fail("usage", f"{said!r}: M must be at least N", "such as 2/10", WRONG_USAGE)
    return int(failures), int(tasks or 10)


@click.command("rollback")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@_mode
@sending_options
@click.pass_context
def rollback(ctx: click.Context, agents: tuple[str, ...], *, mode: str) -> int:
    """Give AGENT the spec of the generation before; a second time takes that back.

    Several agents are rolled back as one change: all of them, or none.
    """
    each = [Rollback(agent=agent, mode=mode) for agent in agents]
    return order(ctx, Sending.of(ctx), [each[0] if len(each) == 1 else RollbackAgents(rollbacks=each)])


@click.command("capability")
@click.argument("agent")
@click.option("--add", "added", multiple=True, metavar="WORD", help="It is able to do this from now on.")
@click.option("--remove", "removed", multiple=True, metavar="WORD", help="It is not asked for this any more.")
@sending_options
@click.pass_context
def capability(ctx: click.Context, agent: str, *, added: tuple[str, ...], removed: tuple[str, ...]) -> int:
    """Change what AGENT is able to do, while it works."""
    if not added and not removed:
        fail("usage", "nothing to change", "say --add WORD or --remove WORD", WRONG_USAGE)
    return order(ctx, Sending.of(ctx), [ChangeCapabilities(agent=agent, add=list(added), remove=list(removed))])
