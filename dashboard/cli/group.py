"""The click group: which subcommands there are, loaded when they are called.

Rule: `--help` and a wrong name load no subcommand, so that they answer at once. `--db`, `--json` and `--debug` may
stand before or after the name of a subcommand; both mean the same.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import click

from dashboard.cli.printing.output import OutputSettings, quote_path
from dashboard.interrupts import no_interrupt_lost

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Begin": {
        "demo": ("dashboard.cli.demo:demo", "Watch a team read a folder of source code and report on it."),
        "init": ("dashboard.cli.files:init", "Write a team file and agents to start from."),
        "up": ("dashboard.cli.engines.up:up", "Start a team, or attach to it where it runs."),
        "run": ("dashboard.cli.run:run", "Give a team a request and print its output."),
        "stop": ("dashboard.cli.engines.stop:stop", "End the engine cleanly."),
    },
    "Look": {
        "ps": ("dashboard.cli.lists:ps", "Show the engine and its supervisors."),
        "agents": ("dashboard.cli.lists:agents", "List agents."),
        "tasks": ("dashboard.cli.lists:tasks", "List tasks."),
        "runs": ("dashboard.cli.lists:runs", "List runs."),
        "steps": ("dashboard.cli.steps:steps", "List the recorded steps of a task."),
        "costs": ("dashboard.cli.costs:costs", "Show who spent it: agents, models, tools, tasks."),
        "events": ("dashboard.cli.events:events", "Print events, or follow them."),
        "memory": ("dashboard.cli.knowledge.memory:memory", "Find what the team remembers; forget some of it."),
        "recipes": ("dashboard.cli.knowledge.recipes:recipes", "List agents that agents made; remove or promote some."),
        "explain": ("dashboard.cli.explain:explain", "Say where the time of a run went."),
        "wait": ("dashboard.cli.run:wait", "Wait for a run and print its output."),
        "serve": ("dashboard.cli.web:serve", "Open the dashboard to browsers."),
    },
    "Change": {
        "swap": ("dashboard.cli.members:swap", "Give an agent another spec while it works."),
        "rollback": ("dashboard.cli.members:rollback", "Give an agent its previous spec."),
        "capability": ("dashboard.cli.members:capability", "Change what an agent is able to do."),
        "strategy": ("dashboard.cli.strategy:strategy", "Switch how a supervisor coordinates."),
        "set": ("dashboard.cli.members:set_", "Change the settings of a supervisor."),
        "add": ("dashboard.cli.members:add", "Add agents from a file."),
        "remove": ("engine.core.commands:RemoveMember", "Remove an agent or an empty supervisor."),
        "move": ("engine.core.commands:Move", "Move an agent or a whole team to another supervisor."),
        "replace": ("dashboard.cli.members:replace", "Change the team under a supervisor to match a team file."),
        "pause": ("engine.core.commands:Pause", "Pause an agent, a supervisor or a run at its next step."),
        "resume": ("engine.core.commands:Resume", "Resume what is paused."),
        "steer": ("engine.core.commands:Steer", "Send a message to running work."),
        "remember": ("engine.core.commands:Remember", "Write an insight into the shared memory of a team."),
        "undo": ("dashboard.cli.work:undo", "Undo a change."),
        "cancel": ("dashboard.cli.work:cancel", "Stop a run, a task or an agent's work at its next step."),
        "abort": ("dashboard.cli.work:abort", "Stop it at once."),
        "retry": ("engine.core.commands:RetryWork", "Try a task again, or submit a finished run again."),
        "reassign": ("engine.core.commands:Reassign", "Give a task to another agent."),
        "priority": ("engine.core.commands:SetPriority", "Change how urgent a run or a task is."),
        "deadline": ("dashboard.cli.work:deadline", "Change the deadline of a run or a task."),
        "inbox": ("dashboard.cli.work:inbox", "List the questions that wait for a person."),
        "answer": ("dashboard.cli.work:answer", "Answer one of them, or several at once."),
        "grants": ("dashboard.cli.work:grants", "List or revoke what people allowed for all calls of a tool."),
    },
    "Move": {
        "export": ("dashboard.cli.archive:export", "Write the whole state to an archive."),
        "replay": ("dashboard.cli.replay:replay", "Replay a finished run, or continue it with another model."),
        "diff": ("dashboard.cli.diff:diff", "Show what differs between two moments, files or archives."),
        "fork": ("dashboard.cli.steps:fork", "Create a database that continues from a moment of this one."),
        "import": ("dashboard.cli.archive:import_", "Import an archive."),
    },
    "Care": {
        "check": ("dashboard.cli.files:check", "Check a team file and list its faults."),
        "simulate": ("dashboard.cli.simulate:simulate", "Simulate hours of a team's work and failures in seconds."),
        "catalogue": (
            "dashboard.cli.knowledge.catalogue:catalogue",
            "Keep agents that any team may take: add, search, approve.",
        ),
        "trust": ("dashboard.cli.trust:trust", "Allow a team file to run its code; list or revoke that."),
        "engine": ("dashboard.cli.engines.engine:engine", "Run an engine in the foreground."),
        "doctor": ("dashboard.cli.doctor:doctor", "Check this machine and the databases for problems."),
    },
}
COMMANDS: dict[str, str] = {name: address for section in SECTIONS.values() for name, (address, _) in section.items()}
"""Name of a subcommand to `module:command`; a class of commands of the engine is made into one by `make_subcommand`."""


class UnknownCommand(click.UsageError):
    """No subcommand has this name."""


class LazyGroup(click.Group):
    """A group whose subcommands are imported one at a time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name, in the order of the sections."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one subcommand and give it the options that all of them take."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        with no_interrupt_lost():
            command = getattr(import_module(module), attribute)
            if isinstance(command, type):
                command = import_module("dashboard.cli.sending").make_subcommand(command)
        assert isinstance(command, click.Command)
        option_names = {name for parameter in command.params for name in parameter.opts}
        command.params += [option for option in shared_options() if not option_names.intersection(option.opts)]
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; a wrong name is answered with the nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise UnknownCommand(_describe_unknown(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections without importing anything."""
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in section.items()], col_max=12)


def shared_options() -> list[click.Option]:
    """`--db`, `--json` and `--debug`; an option after the subcommand overrides the same one before it."""
    return [
        click.Option(
            ["--db"],
            metavar="FILE",
            expose_value=False,
            callback=_setting("db", _path),
            help="The team's database; QUARTERDECK_DB says the same.",
        ),
        click.Option(
            ["--json"], is_flag=True, expose_value=False, callback=_setting("json", bool), help="Write JSON to stdout."
        ),
        click.Option(
            ["--debug"], is_flag=True, expose_value=False, callback=_setting("debug", bool), help="Show tracebacks."
        ),
    ]


def _path(text: str) -> object:
    from pathlib import Path  # 6 ms that the help does not need

    return Path(text)


def _setting(name: str, kind: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def remember(ctx: click.Context, parameter: click.Parameter, value: Any) -> Any:
        if value == "":
            raise click.BadParameter("it is empty; give a path", ctx, parameter)
        if value:
            setattr(ctx.ensure_object(OutputSettings), name, kind(value))
        return value

    return remember


def _describe_unknown(name: str) -> str:
    if name.endswith(".db"):
        return f"there is no command {name!r}; to open a database: quarterdeck --db {quote_path(name)}"
    from difflib import get_close_matches  # only a wrong name needs it

    near = get_close_matches(name.lower(), COMMANDS, n=1, cutoff=0.5)
    return f"there is no command {name!r}; {f'did you mean {near[0]}?' if near else 'see: quarterdeck --help'}"
