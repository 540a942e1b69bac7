"""Whether an agent could work, before anything is given to it.

A team at work waits until a person has mended an agent; a program is told at once what it got wrong.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.core.code import references_of
from engine.core.spec import AgentSpec
from engine.references import Origin, resolve
from engine.runtimes.base import Runtime
from engine.runtimes.catalogue import built_in, factory_for
from engine.runtimes.code import Code
from engine.runtimes.processes import Processes
from engine.runtimes.threads import Threads


def runtime_of(
    spec: AgentSpec, bound: Mapping[str, Callable[..., Any]], threads: Threads, processes: Processes | None = None
) -> Runtime:
    """Return what would execute a spec that holds references.

    Raises:
        UnknownRuntime: If nothing is registered for its agent type.
        Unusable: If its runtime cannot take it.
    """
    code = Code(
        bound=bound,
        sources=lambda reference: None,
        folder=Path.cwd(),
        threads=threads,
        processes=processes or Processes(_starts_nothing),
    )
    return factory_for(spec.agent_type or "", built_in())(spec, code)


def check_kind(spec: AgentSpec, bound: Mapping[str, Callable[..., Any]]) -> None:
    """Look at all of a spec that can be looked at without waiting.

    Raises:
        UnknownRuntime, Unusable: As `runtime_of`.
    """
    runtime_of(spec, bound, Threads())


def check_code(spec: AgentSpec, bound: Mapping[str, Callable[..., Any]]) -> None:
    """Import what a spec names, here and now; code that runs in another process is looked at by the engine.

    Raises:
        Unusable: If it is not there or cannot be called.
    """
    for reference in references_of(spec) if spec.run_in != "process" else ():
        if reference not in bound:
            resolve(Origin(reference, Path.cwd()))


async def check_usable(
    spec: AgentSpec, bound: Mapping[str, Callable[..., Any]], processes: Processes | None = None
) -> None:
    """Look at a spec and at the code that it names; code for another process is imported in one of `processes`.

    Raises:
        UnknownRuntime, Unusable: As `runtime_of`, and where the code is not there or cannot be called as an agent.
    """
    threads = Threads()
    try:
        await runtime_of(spec, bound, threads, processes).check()
    finally:
        threads.close()


def _starts_nothing(function: Callable[..., Any], /, *args: object) -> None:
    raise AssertionError("looking at a spec starts no process")
