"""The command line: `quarterdeck` and its subcommands, one file a group of them.

Rule: every failure is one line on stderr that says what to do next, and an exit status that a script can rely on; a
traceback is shown only with `--debug`. Subcommands are listed in `group.SECTIONS`, what they print goes through
`output`, which database they mean is decided in `database`. See docs/operating.md.
"""

import errno
import os
import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from os.path import realpath  # pathlib is 6 ms of every `--help`
from typing import Any

import click

from dashboard.cli.group import LazyGroup, UnknownCommand, shared_options
from dashboard.cli.printing.output import (
    DONE,
    INTERRUPTED,
    NO_ENGINE,
    REFUSED,
    WORK_FAILED,
    WRONG_USAGE,
    CommandFailure,
    OutputSettings,
    fail,
    show_failure,
)
from dashboard.interrupts import one_interrupt

_COMPLETION = "_QUARTERDECK_COMPLETE"
"""Set by a shell that asks for completions."""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _version(ctx: click.Context, _parameter: click.Parameter, is_requested: bool) -> None:
    if is_requested and not ctx.resilient_parsing:
        from importlib.metadata import version  # 15 ms that only this option needs

        click.echo(f"quarterdeck {version('quarterdeck')}")
        ctx.exit()


@click.command(
    cls=LazyGroup,
    name="quarterdeck",
    params=shared_options(),
    invoke_without_command=True,
    context_settings=_CONTEXT,
    epilog="Every command takes --db, --json and --debug; 'quarterdeck COMMAND --help' shows its other options.",
)
@click.option("--readonly", is_flag=True, help="Open a dashboard that changes nothing.")
@click.option("--open", "place", metavar="PLACE", help="Open it at SCREEN[/ID][?FILTER][@SEQ], such as tasks?tides.")
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@click.pass_context
def quarterdeck(ctx: click.Context, readonly: bool, place: str | None) -> int:
    """Open the control room for a live team of agents.

    Without a command the dashboard opens on the team that runs, or on the one of --db.
    To see one at work: quarterdeck demo
    """
    if ctx.invoked_subcommand is not None:
        if readonly or place is not None:
            option = "--readonly" if readonly else "--open"
            fail("usage", f"{option} is for the dashboard", "leave out the command, or the option")
        return DONE
    from dashboard.cli.screen import open_chosen_dashboard

    return open_chosen_dashboard(ctx, readonly=readonly, place=place)


def main(args: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        args: The arguments after the program's name; by default those of this process.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if args is None else args)
    # Read before click parses the line, so that a usage error too is reported as JSON where that was asked for.
    settings = OutputSettings(json="--json" in words, debug="--debug" in words)
    _keep_output_from_failing()
    try:
        with one_interrupt():
            check_packages()
            return _invoke(words, settings)
    except BrokenPipeError:
        return _closed_pipe()
    except (KeyboardInterrupt, click.Abort):
        if sys.stderr.isatty():
            sys.stderr.write("\n")
        return INTERRUPTED
    except Exception as error:
        if settings.debug and not isinstance(error, click.ClickException | CommandFailure):
            raise
        return _report_error(error, settings)


def _invoke(words: list[str], settings: OutputSettings) -> int:
    if _COMPLETION in os.environ:
        quarterdeck.main(words, "quarterdeck", complete_var=_COMPLETION)
    # Not click's own `main`, which handles closed pipes and Ctrl-C in its own way.
    try:
        with quarterdeck.make_context("quarterdeck", words, obj=settings) as ctx:
            status = quarterdeck.invoke(ctx)
    except click.exceptions.Exit as click_exit:
        status = click_exit.exit_code
    sys.stdout.flush()
    return status if isinstance(status, int) else DONE


def _report_error(error: Exception, settings: OutputSettings) -> int:
    failure = failure_of(error)
    if settings.database is not None and isinstance(error, CommandFailure):
        from dashboard.cli.database import add_team  # loaded once a database is chosen

        failure = add_team(failure, settings.database)
    try:
        show_failure(failure, as_json=settings.json)
    except BrokenPipeError:
        return _closed_pipe()
    return failure.exit_status


def _keep_output_from_failing() -> None:
    """Make printing safe: a closed stream swallows it, characters that cannot be encoded are escaped."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Takes the lowest number, which is the one that is missing: else a database would get it.
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    for stream in (sys.stdout, sys.stderr):
        reconfigure: Any = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _closed_pipe() -> int:
    """Handle a closed stdout, such as with `| head`: exit quietly."""
    null = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)
    return DONE


def failure_of(error: BaseException) -> CommandFailure:
    """Return what is shown of `error`."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, CommandFailure):
        return error
    if isinstance(error, click.ClickException):
        return _of_click(error)
    failure = _of_packages(error)
    if failure is not None:
        return failure
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        if error.filename is None and error.errno in (errno.ENOSPC, errno.EIO):  # what has no name is a standard stream
            return CommandFailure("os_error", f"what is to be printed cannot be written ({text})", "print it elsewhere")
        where = f": {error.filename}" if error.filename else ""
        return CommandFailure("os_error", f"{text}{where}")
    first = (str(error).splitlines() or [""])[0]
    text = f"this is a defect in quarterdeck: {type(error).__name__}: {first}"
    return CommandFailure("internal_error", text, "the same with --debug shows where", WORK_FAILED)


def _of_click(error: click.ClickException) -> CommandFailure:
    hint = ""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and error.ctx is not None:
        assert isinstance(error.ctx.command, click.Group)
        names = ", ".join(error.ctx.command.list_commands(error.ctx))
        return CommandFailure("usage", f"say what to do: {names}", f"see: {error.ctx.command_path} --help", WRONG_USAGE)
    if isinstance(error, click.UsageError) and error.ctx is not None and not isinstance(error, UnknownCommand):
        hint = f"see: {error.ctx.command_path} --help"
    message = " ".join(error.format_message().split()).rstrip(".")
    return CommandFailure("usage", message[:1].lower() + message[1:], hint, error.exit_code or WRONG_USAGE)


def _of_packages(error: BaseException) -> CommandFailure | None:
    """Return the failure for an error class of our packages; a module that is not loaded cannot have raised it."""
    if _is(error, "engine.core.errors", "Refused"):
        return CommandFailure(str(getattr(error, "code", "refused")), str(error), "", REFUSED)
    for module, base, status in (
        ("store.errors", "StoreError", WRONG_USAGE),
        ("engine.core.errors", "CoreError", WRONG_USAGE),
        ("engine.teamfile", "TeamFileError", WRONG_USAGE),
        ("engine.trusted_code.trust", "TrustError", REFUSED),
        ("engine.errors", "CommandRefusedError", REFUSED),
        ("engine.errors", "CatalogueError", WRONG_USAGE),
        ("engine.errors", "EngineError", WORK_FAILED),
        ("dashboard.engines.process", "EngineDidNotStart", NO_ENGINE),
    ):
        if _is(error, module, base):
            code = getattr(error, "code", None) or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(error).__name__).lower()
            return CommandFailure(str(code), str(error), "", status)
    return None


def _is(error: BaseException, module: str, name: str) -> bool:
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(error, cls)


def check_packages() -> None:
    """Check that `dashboard`, `engine` and `store` are in one folder, without importing them.

    Raises:
        Failure: If another module takes the place of one of them.
    """
    ours = realpath(f"{__file__}/../../..")
    for name in ("engine", "store"):
        spec = find_spec(name)
        origin = realpath(spec.origin) if spec is not None and spec.origin else None
        if origin is None or origin != f"{ours}/{name}/__init__.py":
            fail(
                "shadowed",
                f"{origin or f'something named {name!r}'} takes the place of quarterdeck's own package {name!r}",
                "start it with the command 'quarterdeck', take that folder out of PYTHONPATH, or rename it",
            )
