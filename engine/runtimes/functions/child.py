"""The child process of `run_in="process"`: runs one function after another for the engine.

It is started by path and imports only the standard library, plus the user's module on request. Requests and answers are
lines of JSON on the pipes that were standard input and output; prints of the user's code go to standard error, of which
the engine keeps the end. When the engine is gone, it ends with everything that it started.
"""

import contextlib
import contextvars
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

reporter: contextvars.ContextVar[Callable[[int, int, str], None] | None] = contextvars.ContextVar(
    "reporter", default=None
)
"""Receiver of `report_progress`, set by the runtime of the function."""
MAX_LEAVES = 100
"""Exceptions of an exception group that are examined."""
SHOWN_LEAVES = 3
"""Exceptions of an exception group that a message names."""


def report_progress(done: int, total: int, note: str = "") -> None:
    """Report progress of the running function to the dashboard; does nothing outside of an attempt.

    Works wherever the function runs: in the loop, in a thread or in a process of its own.

    Args:
        done: Amount done, in any unit.
        total: Total amount, in the same unit; 0 if unknown.
        note: A short description of the present work.
    """
    report = reporter.get()
    if report is not None:
        report(done, total, note)


def import_function(reference: str, folder: str, sources: dict[str, Any], path: list[str]) -> Callable[..., Any]:
    """Import the function that `reference` names.

    Args:
        reference: `module:qualname`.
        sources: The modules of the folder from which the reference may be imported.
        path: Search path for other modules, after the present one.

    Raises:
        MissingFunction: If the module has no such function; one line.
    """
    sys.path += [entry for entry in path if entry not in sys.path]
    module, _, qualname = reference.partition(":")
    isolated = _load_sibling("isolated")
    modules = {name: isolated.Source(*source) for name, source in sources.items()}
    target: Any = isolated.load(module, folder, modules) if module in modules else importlib.import_module(module)
    place = getattr(target, "__file__", None) or f"the module {module!r}"
    for name in qualname.split("."):
        target = getattr(target, name, None)
        if target is None:
            raise MissingFunction(f"{place} has no {qualname!r}{removed_code_hint(module)}")
    if not callable(target):
        raise MissingFunction(f"{qualname!r} of {place} cannot be called")
    function: Callable[..., Any] = target
    return function


class MissingFunction(Exception):
    """A module does not have the referenced function."""


class InvalidFunction(Exception):
    """A function cannot be called as an agent."""


class ProcessContext:
    """The `ctx` of a function in a child process: `state` alone."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.state = _load_sibling("agent_state").AgentState(values)

    def __getattr__(self, name: str) -> Any:
        """Explain that a process has no other parts of `ctx`."""
        raise AttributeError(f"in a process ctx has no {name!r}, only state; use run_in='thread' for the rest")


def _load_sibling(stem: str) -> Any:
    """Load a file beside this one by its path: importing its package would load the engine into every child."""
    name = f"engine.runtimes.functions.{stem}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, pathlib.Path(__file__).with_name(f"{stem}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def takes_context(target: Callable[..., Any]) -> bool:
    """Return whether a function takes a `ctx` besides the text; raises InvalidFunction unless it is a plain `def`."""
    if inspect.iscoroutinefunction(target) or inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise InvalidFunction("a function in a process is a plain def that returns its output")
    try:
        signature = inspect.signature(target)
    except (TypeError, ValueError):
        return False  # written in C, without a signature
    for takes in (False, True):
        with contextlib.suppress(TypeError):
            signature.bind(*("text", "ctx")[: 1 + takes])
            return takes
    raise InvalidFunction(f"its function must take (text) or (text, ctx), not {signature}")


def traits_of(error: BaseException) -> dict[str, Any]:
    """Return the traits of an exception as JSON; a group has its own and those of its exceptions.

    A task group wraps the errors of its tasks, and a failure policy has to recognize the class that it names.

    Returns:
        `types`, the names of its class and the bases of that; `retryable`, a bool or None; and `retry_after_s`, a
        number of seconds from its attribute of that name or `retry_after`, or None.
    """
    own_traits = _traits_of(error)
    leaf_traits = [_traits_of(leaf) for leaf in _leaves(error)]
    with_retryable = [traits for traits in (own_traits, *leaf_traits) if traits["retryable"] is not None]
    waits = [traits["retry_after_s"] for traits in (own_traits, *leaf_traits) if traits["retry_after_s"] is not None]
    return {
        "types": list(dict.fromkeys(name for traits in (own_traits, *leaf_traits) for name in traits["types"])),
        "retryable": all(traits["retryable"] for traits in with_retryable) if with_retryable else None,
        "retry_after_s": max(waits, default=None),
    }


def _leaves(error: BaseException) -> list[BaseException]:
    """Return the exceptions in an exception group, also nested ones, up to `MAX_LEAVES`; none for other exceptions."""
    leaves: list[BaseException] = []
    open_groups = [error] if isinstance(error, BaseExceptionGroup) else []
    while open_groups and len(leaves) < MAX_LEAVES:
        for exception in BaseExceptionGroup.exceptions.__get__(open_groups.pop()):
            (open_groups if isinstance(exception, BaseExceptionGroup) else leaves).append(exception)
    return leaves[:MAX_LEAVES]


def _traits_of(error: BaseException) -> dict[str, Any]:
    types = [cls.__name__ for cls in type(error).__mro__ if cls not in (object, BaseException)]
    try:
        retryable = getattr(error, "retryable", None)
        waits = [getattr(error, name, None) for name in ("retry_after_s", "retry_after")]
    except BaseException:  # the exception is the user's: its attributes may raise anything, SystemExit too
        retryable = None
        waits = []
    seconds = [wait for wait in waits if isinstance(wait, int | float) and not isinstance(wait, bool)]
    return {
        "types": types,
        "retryable": retryable if isinstance(retryable, bool) else None,
        "retry_after_s": next((float(wait_s) for wait_s in seconds if 0 <= wait_s <= 1e9), None),
    }


class _Channel:
    """The pipes to the engine."""

    def __init__(self) -> None:
        self._requests: BinaryIO = os.fdopen(os.dup(0), "rb")
        self._answers: BinaryIO = os.fdopen(os.dup(1), "wb")
        self._writing = threading.Lock()
        self.waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        # From here on, neither the user's code nor a program that it starts can write into an answer.
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(2, 1)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        # Ends when the engine closes the pipe, also when it is killed.
        for line in self._requests:
            self.waiting.put(json.loads(line))
        with contextlib.suppress(OSError):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    def send(self, line: str) -> None:
        """Write one line; from any thread."""
        with self._writing:
            self._answers.write(line.encode() + b"\n")
            self._answers.flush()

    def progress(self, done: int, total: int, note: str) -> None:
        """Send a progress line."""
        self.send(json.dumps({"progress": [int(done), int(total), str(note)[:200]]}))


def _answer(request: dict[str, Any]) -> str:
    try:
        target = import_function(request["reference"], request["folder"], request["sources"], request["path"])
        if "state" in request:
            ctx = ProcessContext(request["state"])
            output = target(request["value"], ctx)
            return json.dumps({"output": output, "state": ctx.state.take_changes()}, allow_nan=False)
        if "value" in request:
            return json.dumps({"output": target(request["value"])}, allow_nan=False)
        return json.dumps({"output": takes_context(target)})
    except BaseException as error:  # user code: SystemExit and KeyboardInterrupt fail the attempt, not the process
        text = error_text(error)
        if isinstance(error, ModuleNotFoundError):
            text += removed_code_hint(error.name or "", "install it or put it beside the team")
        return json.dumps({"error": text, "type": type(error).__name__, "traits": traits_of(error)})


def removed_code_hint(module: str, default: str = "") -> str:
    """Return what the package of a module advises about code that it has removed, else `default`, behind a semicolon.

    A package defines it as `MISSING_CODE_HINT`.
    """
    hint = getattr(sys.modules.get(module.rpartition(".")[0]), "MISSING_CODE_HINT", default)
    return f"; {hint}" if hint else ""


def error_text(error: BaseException) -> str:
    """Return the text of an exception, with its class if the text is empty or a key; for a group, of its exceptions."""
    leaves = _leaves(error)
    if leaves:
        more = f" and {len(leaves) - SHOWN_LEAVES} more" if len(leaves) > SHOWN_LEAVES else ""
        return "; ".join(_with_class(leaf) for leaf in leaves[:SHOWN_LEAVES]) + more
    try:
        text = str(error)
    except BaseException as inner:  # the exception is the user's: its text may raise anything, SystemExit too
        return f"its text cannot be read ({type(inner).__name__})"
    if text.strip() and not isinstance(error, KeyError | SystemExit):
        return text
    return f"{type(error).__name__}: {text}" if text.strip() else type(error).__name__


def _with_class(error: BaseException) -> str:
    name, text = type(error).__name__, next(iter(error_text(error).strip().splitlines()), "")
    return text if text.startswith(name) else f"{name}: {text}"


def serve() -> None:
    """Answer requests until the engine is gone."""
    # The user's code may import `report_progress` from there: it must be this module, not a second copy of it.
    sys.modules["engine.runtimes.functions.child"] = sys.modules[__name__]
    channel = _Channel()
    reporter.set(channel.progress)
    while True:
        request = channel.waiting.get()
        channel.send(_answer(request))


if __name__ == "__main__":
    serve()
