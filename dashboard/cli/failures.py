"""What each error means to a person and to a script: the line that is shown, and the exit status.

One rule holds inside: a package that is not loaded cannot have raised, so none is imported here.
"""

import re
import sys

import click

from dashboard.cli.group import UnknownCommand
from dashboard.cli.output import NO_ENGINE, REFUSED, WORK_FAILED, WRONG_USAGE, Failure


def failure_of(error: BaseException) -> Failure:
    """Return what is shown of `error`."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, Failure):
        return error
    if isinstance(error, click.ClickException):
        return _of_click(error)
    known = _of_packages(error)
    if known is not None:
        return known
    if isinstance(error, OSError):
        where = f": {error.filename}" if error.filename else ""
        return Failure("os_error", f"{error.strerror or error}{where}", "", WRONG_USAGE)
    first = (str(error).splitlines() or [""])[0]
    return Failure(
        "internal_error",
        f"this is a defect in quarterdeck: {type(error).__name__}: {first}",
        "the same with --debug shows where",
        WORK_FAILED,
    )


def _of_click(error: click.ClickException) -> Failure:
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None and not isinstance(error, UnknownCommand):
        hint = f"see: {error.ctx.command_path} --help"
    message = " ".join(error.format_message().split()).rstrip(".")
    return Failure("usage", message[:1].lower() + message[1:], hint, error.exit_code or WRONG_USAGE)


def _of_packages(error: BaseException) -> Failure | None:
    """Errors that our packages raise on purpose: their message is the line."""
    if _is(error, "engine.core.errors", "Refused"):
        return Failure(str(getattr(error, "code", "refused")), str(error), "", REFUSED)
    for module, base, status in (
        ("store.errors", "StoreError", WRONG_USAGE),
        ("engine.core.errors", "CoreError", WRONG_USAGE),
        ("engine.teamfile", "TeamFileError", WRONG_USAGE),
        ("engine.trust", "TrustError", REFUSED),
        ("engine.errors", "CommandRefusedError", REFUSED),
        ("engine.errors", "EngineError", WORK_FAILED),
        ("dashboard.process", "EngineDidNotStart", NO_ENGINE),
    ):
        if _is(error, module, base):
            return Failure(str(getattr(error, "code", _snake(type(error).__name__))), str(error), "", status)
    return None


def _is(error: BaseException, module: str, name: str) -> bool:
    cls = getattr(sys.modules.get(module), name, None)
    return isinstance(cls, type) and isinstance(error, cls)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
