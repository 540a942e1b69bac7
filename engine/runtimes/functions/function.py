"""Runtime `function`: agents that are Python functions.

`async def` runs in the loop, a plain `def` in a thread, and with `run_in="process"` in a child process.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio.from_thread
from anyio.lowlevel import current_token

from engine.core.queries.team.code import function_name
from engine.core.queries.team.recipes import path_of_agent
from engine.core.records.records import JsonValue
from engine.core.specs.spec import AgentSpec
from engine.errors import CallFailed, MissingCapability, ProcessDied, Unusable
from engine.runtimes.attempts.footprint import show_footprint
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.functions.child import InvalidFunction, MissingFunction, reporter
from engine.runtimes.functions.context import BlockingContext, Context
from engine.runtimes.functions.kinds import WITHOUT_CONTEXT
from engine.runtimes.functions.tools import options_of
from engine.runtimes.toolbox.calling import is_async
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.kit import Kit
from engine.runtimes.typed_output import check_output_schema, typed_value
from engine.runtimes.values import clean, json_value
from engine.trusted_code.references import Origin, is_bound


def function_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Create the runtime of a spec with `run`.

    Raises:
        Unusable: If it has no function, or one for a child process that a child process cannot import.
    """
    if not isinstance(spec.run, str):
        raise Unusable(f"agent {spec.name!r} has nothing to run: give it run='module:function'")
    if spec.run_in == "process":
        return FunctionProcessRuntime(spec, code, spec.run)
    return FunctionRuntime(spec, code, spec.run)


class FunctionRuntime:
    """Run a function in the loop or in a thread."""

    def __init__(self, spec: AgentSpec, code: Code, reference: str) -> None:
        self._spec = spec
        self._code = code
        self._reference = reference
        self._function: Callable[..., Any] = _not_loaded
        self._tools: dict[str, FunctionTool] = {}
        self._kit = Kit(spec, code, {}) if spec.mcp else None
        self._in_thread = False
        self._takes_context = False
        self._asks_first = False

    async def check(self) -> None:
        """Import the function and its tools, and inspect its parameters."""
        function, name = await self._code.load(self._reference), self._spec.name
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise Unusable(f"agent {name!r}: its function yields; return the output, and stream with ctx.emit")
        run_in = self._spec.run_in
        if run_in == "thread" and is_async(function):
            raise Unusable(f"agent {name!r}: an async def runs in the loop; leave out run_in='thread'")
        self._in_thread = run_in == "thread" or (run_in is None and not is_async(function))
        self._takes_context = count_arguments(function, name) == 2
        if not self._takes_context:
            WITHOUT_CONTEXT.check_keys(self._spec)
        await check_output_schema(self._spec)
        self._tools = await self._code.load_tools(self._spec)
        self._asks_first = options_of(function).approve != "never"
        self._function = function

    async def execute(self, work: Work) -> Any:
        """Call the function."""
        reporter.set(work.live.progress)
        agent = work.attempt.state.agents[work.effect.agent_id]
        if self._asks_first and agent.recipe_id is not None:  # else its maker could call the tool without the question
            raise MissingCapability(path_of_agent(work.attempt.state, agent.id), function_name(self._reference))
        if self._takes_context:
            await work.steering.load_steers()
            await work.changes.load()
            context = Context(work, await work.task(), self._tools, self._kit)
            args: Any = context.task, BlockingContext(context, current_token()) if self._in_thread else context
        else:
            args = (await work.value(),)
        if self._in_thread:
            _report_from_thread(work)
            result = await work.in_thread(partial(self._function, *args))
        else:
            result = self._function(*args)
        output = await result if inspect.isawaitable(result) else result
        return await typed_value(work, output, self._code.threads)


class FunctionProcessRuntime:
    """Run a function in a child process; it receives the value, and a `ctx` with the agent's state if it takes one."""

    def __init__(self, spec: AgentSpec, code: Code, reference: str) -> None:
        self._spec = spec
        self._name = spec.name
        self._code = code
        self._reference = reference
        self._origin = Origin(reference, None)
        self._takes_context = False
        if is_bound(reference):
            raise Unusable(
                f"agent {spec.name!r}: run_in='process' needs a function that can be imported,"
                f" and {function_name(reference)!r} is bound to this process; put it into a module"
            )

    async def check(self) -> None:
        """Check in a child process that the function exists; the engine itself never imports it."""
        origin = await self._code.locate(self._reference)
        try:
            self._takes_context = await self._code.processes.check(origin)
        except CallFailed as failure:
            if failure.error_type == InvalidFunction.__name__:
                raise Unusable(f"agent {self._name!r}: {failure}") from failure
            kind = "" if failure.error_type == MissingFunction.__name__ else f"{failure.error_type}: "
            raise Unusable(f"{self._reference!r}: {kind}{failure}") from failure
        except ProcessDied as death:
            raise Unusable(f"{self._reference!r} cannot be imported: {death}") from death
        self._origin = origin
        await check_output_schema(self._spec)

    async def execute(self, work: Work) -> JsonValue:
        """Call the function in a process."""
        code, live, state = self._code, work.live, None
        if self._takes_context:
            await work.changes.load()
            state = work.changes.open(json_value)
        try:
            output = await code.processes.call(
                self._origin,
                await work.value(),
                report=lambda done, total, note: live.progress(done, total, clean(note)),
                attend=lambda child: show_footprint(work.attempt, child, code.threads),
                state=state,
            )
        finally:
            live.show("process", "")
        return await typed_value(work, output, self._code.threads)


def _not_loaded(text: str) -> str:
    raise Unusable("its function was not loaded")


def count_arguments(function: Callable[..., Any], name: str) -> int:
    """Return 1 for `f(text)` and 2 for `f(task, ctx)`.

    Raises:
        Unusable: If it accepts neither.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return 1  # written in C, without a signature
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [parameter for parameter in signature.parameters.values() if parameter.kind in positional]
    required = [parameter for parameter in parameters if parameter.default is parameter.empty]
    count = 2 if len(required) == 2 else 1
    try:
        signature.bind(*range(count))
    except TypeError:
        raise Unusable(f"agent {name!r}: its function must take (text) or (task, ctx), not {signature}") from None
    return count


def _report_from_thread(work: Work) -> None:
    token, progress = current_token(), work.live.progress
    reporter.set(lambda done, total, note: anyio.from_thread.run_sync(progress, done, total, note, token=token))
