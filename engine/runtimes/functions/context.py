"""The `ctx` of a function agent: steps, tools, delegation, questions, memory.

Every call raises if the attempt is asked to stop, and is in the journal before it returns. A function that runs again
after a crash therefore gets the same answers without repeating work. See docs/reference/function-agents.md.
"""

import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, MutableMapping, Sequence
from functools import partial, wraps
from itertools import islice
from pathlib import Path
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

import anyio.from_thread
import msgspec
from anyio.lowlevel import EventLoopToken

from engine.core.entities.recipes import KEY
from engine.core.events.attempt import StepKind
from engine.core.records.records import Json, JsonValue, copy_with
from engine.core.validation.bounds import MAX_DURATION_S
from engine.errors import AttemptOver, BlocksLoop, DelegationFailed, EngineError, WrongLoop
from engine.memory.pages import Insight, checkable_tags
from engine.runtimes.attempts.delegations import DelegationResult
from engine.runtimes.attempts.making import call_agent, create_agent, find_made, tasks_of
from engine.runtimes.attempts.questions import checked_question
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.created import CreatedAgent, with_agents
from engine.runtimes.functions.memory import ContextMemory
from engine.runtimes.functions.task import Task
from engine.runtimes.toolbox.calling import ToolError, call_user_code
from engine.runtimes.toolbox.functions import FunctionTool
from engine.runtimes.toolbox.kit import Kit
from engine.runtimes.values import MAX_VALUES, Amounts, clean, copy_json, json_value, one_line, usage_of


class UnknownTool(EngineError):
    """A function called a tool that its spec does not name.

    Attributes:
        name: Name of the tool.
    """

    def __init__(self, name: str, tool_names: Iterable[str]) -> None:
        super().__init__(f"no tool {name!r}; the spec names {', '.join(tool_names) or 'none'}")
        self.name = name


class Context:
    """The `ctx` of an `async def f(task, ctx)`."""

    def __init__(self, work: Work, task: Task, tools: Mapping[str, FunctionTool], kit: Kit | None = None) -> None:
        self._attempt = work
        self._thread = threading.current_thread()
        self._tools = tools
        self._kit = kit
        self.task = task
        """The task that is worked on."""

    @property
    def _work(self) -> Work:
        """The attempt; raises WrongLoop in another thread, and AttemptOver after the function has returned."""
        if threading.get_ident() != self._thread.ident:
            instead = "in a thread use anyio.from_thread.run(ctx.step, …), or anyio.from_thread.run_sync(ctx.emit, …)"
            raise WrongLoop("the ctx of an async def", self._thread.name, instead)
        if self._attempt.has_returned and not self._attempt.outside:
            raise AttemptOver(self.agent, self._attempt.effect.task_id)
        return self._attempt

    @property
    def agent(self) -> str:
        """Name of the agent that works."""
        return self._attempt.effect.agent

    @property
    def folder(self) -> Path | None:
        """The team's folder."""
        return self._attempt.folder

    @property
    def cancelled(self) -> bool:
        """True once the attempt is asked to stop; what the function returns then is kept as its partial result."""
        attempt = self._attempt.attempt
        if attempt.stopping:
            attempt.saw_stopping = True
        return attempt.stopping

    @property
    def state(self) -> MutableMapping[str, Any]:
        """The state that the agent keeps for itself: a mapping of texts to JSON values.

        At most 64 keys, texts of up to 64 characters, and 64 KiB in all. Values are copied in and out: to change one,
        assign it anew. A change is in the journal with the next step that ends, or with the end of the attempt;
        an attempt that fails or is stopped before that loses it. If another attempt of the agent has changed the value
        since this one saw it, that step raises StateConflict, or the attempt fails with it.

        A repeated attempt sees what its task has changed as it was before, until it has repeated the steps that carried
        the changes; those are not applied again.
        """
        work = self._work
        return _open_state(work, self._call_agent)

    async def step(self, name: str, function: Callable[..., Any], *args: Json) -> Any:
        """Run a step once: its output is journaled, and returned from there when the task runs again.

        Args:
            name: Name of the step in the journal.
            function: The work; a plain function runs in a thread.
            args: JSON values; other arguments make another step.

        Returns:
            The output after a round trip through JSON: a tuple becomes a list.

        Raises:
            NotJson: If the input or the output is not JSON.
            StateConflict: If the step is recorded, but changes of `ctx.state` before its end are not applied.
        """
        name = _text("step", "name", name)
        return await self._run_step(name, lambda _: self._call_in_time(name, partial(function, *args)), list(args))

    async def tool(self, name: str, /, *args: Json, **named: Json) -> Any:
        """Call a tool of the agent's spec, as a step.

        Args:
            name: The last part of its reference, or `server/tool` for one of a server under `mcp`.
            args: Its positional arguments.
            named: Its keyword arguments.

        The call of a tool that is not declared idempotent (`@tool(idempotent=True)`) is journaled before it is made. If
        the attempt is interrupted during the call, a person is asked whether it happened. An idempotent tool is called
        again, with the id of the step as `idempotency_key` if it has that parameter.

        Raises:
            UnknownTool: If the spec does not name it.
            ToolTimeout: If it exceeds its timeout.
            ToolRejected: If the call needs approval and is rejected.
            ToolError: If a tool of a server fails.
        """
        arguments = json_value([list(args), named])
        if "/" in name and self._kit is not None:
            return await self._run_step(
                f"tool:{name}", lambda key: self._call_server_tool(name, arguments, key=key), arguments, kind="tool"
            )
        tool = self._tool(name)
        return await self._run_step(
            f"tool:{name}", lambda key: self._call_function(tool, arguments, key=key), arguments, kind="tool"
        )

    async def delegate(self, target: str, value: Json) -> Any:
        """Delegate a task to another member, and wait for its output without a slot.

        Args:
            target: Name of an agent or a sub-supervisor, or a capability.
            value: Input of the task: a text, or any JSON value.

        Returns:
            The output; None if the task was skipped by its failure policies or by a person.

        Raises:
            DelegationFailed: If the task failed, was cancelled, or no agent can do it.
            TypeError, NotJson: If the arguments are invalid.
        """
        work = self._work
        work.attempt.raise_if_stopping()
        target, item = _text("delegate", "target", target), json_value(value)
        (answer,) = await work.delegations.ask("delegate", work.attempt.key(f"delegate:{target}", item), target, [item])
        if answer.error is not None:
            raise DelegationFailed(target, answer.error, answer.task_id)
        return answer.output

    async def map(self, target: str, items: Iterable[Json], *, return_failures: bool = False) -> list[Any]:
        """Delegate one task for each of `items`, and wait for all outputs, in the order of the items.

        Args:
            target: Name of a member, or a capability; all members that can do it share the work.
            items: JSON values, one task each.
            return_failures: Return a `DelegationFailed` in place of each missing output.

        Raises:
            DelegationFailed: The first failure, once all have ended; never with `return_failures`.
            TypeError, NotJson: If the arguments are invalid.
        """
        work = self._work
        work.attempt.raise_if_stopping()
        if not isinstance(items, Iterable) or isinstance(items, str | Mapping):
            raise TypeError(f"ctx.map: items must be a list, not {items!r:.60}")
        target, values = _text("map", "target", target), json_value([*islice(items, MAX_VALUES + 1)])
        assert isinstance(values, list)
        if not values:
            return []
        key = work.attempt.key(f"map:{target}", values)
        return collect_outputs(target, await work.delegations.ask("map", key, target, values), return_failures)

    async def create_agent(
        self,
        name: str,
        primer: str,
        *,
        capabilities: Iterable[str] = (),
        tools: Iterable[str] = (),
        run: str | None = None,
        tasks: Mapping[str, Any] | None = None,
        model: str | None = None,
        tokens: int | None = None,
    ) -> CreatedAgent:
        """Make an agent, or find the equal one that this agent has made before; a recorded step.

        Its recipe is in the journal before it, so that a later attempt, also of a new process, can call it again. Its
        rights are looked up whenever it works: what this agent has lost, it has lost.

        Args:
            name: Its name in the team.
            primer: What its model is told it is.
            capabilities: Names of tools, `server/tool`, words of `may`, `agents` to make agents itself, `model:NAME`,
                or toolsets of the team.
            tools: Further names of tools.
            run: A tool of this agent that does the work in place of a model.
            tasks: What it is called for, `{name: {"doc": …, "input": JSON Schema, "output": JSON Schema}}`.
            model: The model that plays it; by default that of this agent or of its lead.
            tokens: The most tokens that it may spend in all.

        Raises:
            CommandRefusedError: If something is not this agent's to give, the name is taken, there would be more than
                ten in one run, or more than four levels.
            BadValue, TaskMismatch: If an argument cannot be right.
        """
        fields = {
            "name": _text("create_agent", "name", name),
            "primer": _text("create_agent", "primer", primer),
            "capabilities": [_text("create_agent", "a capability", each) for each in (*capabilities, *tools)],
            "run": run,
            "tasks": tasks_of(json_value(dict(tasks or {}))),  # type: ignore[arg-type]  # an object stays one
            "model": model,
            "tokens": tokens,
        }

        async def make(key: str) -> JsonValue:
            return {KEY: (await create_agent(self._work, key, fields)).id}

        await self._run_step("create_agent", make, msgspec.to_builtins(fields), kind="tool")
        recipe = find_made(self._work, name)
        return CreatedAgent(recipe.id, recipe, self._call_agent)

    async def _call_agent(self, recipe_id: str, value: Json, task: str | None) -> Any:
        self._work.attempt.raise_if_stopping()
        return await call_agent(self._work, recipe_id, json_value(value), task)

    async def ask(
        self, question: str, options: Iterable[str] = (), default: str | None = None, due_s: float | None = None
    ) -> str:
        """Ask a person, and wait for the answer without a slot; a rerun does not ask again.

        Args:
            question: One line.
            options: Possible answers; without any the person may write any text.
            default: The answer if none is given within `due_s`; one of `options`, if there are any.
            due_s: Time limit, in seconds; None waits for ever.

        Returns:
            The answer: one of `options`, or what the person wrote.

        Raises:
            ValueError: If options are given twice or are too many, `default` is none of them, or only one of `default`
                and `due_s` is given.
        """
        work = self._work
        work.attempt.raise_if_stopping()
        question = _text("ask", "question", question)
        choices = [_text("ask", "an option", option) for option in options]
        question_fields = checked_question(question, choices, default, due_s)
        return await work.questions.ask(work.attempt.key("ask", [question, *choices]), **question_fields)

    async def remember(self, text: str, tags: Iterable[str] = (), importance: float = 0.5) -> str:
        """Store an insight for this agent's later work, and return its id; `recall` finds it by words and tags.

        Args:
            text: The insight, up to 10,000 characters.
            tags: Words with a higher weight in searches, up to 20.
            importance: From 0 to 1; of more than 200 insights superseded, then unimportant ones are forgotten first.

        Raises:
            BadValue: If an argument is out of range.
        """
        self._work.attempt.raise_if_stopping()
        return await self._work.insights.remember(text, checkable_tags(tags), importance)

    async def recall(self, query: str, limit: int = 5) -> list[Insight]:
        """Return the private insights of this agent that match `query`, best first; a recorded step."""
        insights = await self.step("recall", self._recall, query, limit)
        return [msgspec.convert(insight, Insight) for insight in insights]

    async def _recall(self, query: str, limit: int) -> JsonValue:
        insights: JsonValue = msgspec.to_builtins(await self._work.insights.recall(query, limit))
        return insights

    @property
    def memory(self) -> ContextMemory:
        """Insights that agents share."""
        return ContextMemory(lambda: self._work, self._run_step)

    def steers(self) -> list[str]:
        """Return messages of people to this task since the last call; a rerun gets the same messages."""
        self._work.attempt.raise_if_stopping()
        return self._work.steering.steers()

    def emit(self, text: str) -> None:
        """Show output while it is produced. It becomes the partial result if the attempt is stopped."""
        self._work.attempt.raise_if_stopping()
        self._work.live.emit(clean(str(text)))

    def progress(self, done: int, total: int, note: str = "") -> None:
        """Show progress, in any unit."""
        self._work.attempt.raise_if_stopping()
        self._work.live.progress(done, total, clean(str(note)))

    def spent(self, **amounts: Unpack[Amounts]) -> None:
        """Report usage since the last report; it is charged with the next finished step, or with the attempt.

        Raises:
            ValueError: If an amount is negative or unknown.
        """
        self._work.models.spend(usage_of(amounts))

    async def sleep(self, seconds: float) -> None:
        """Wait on the engine's clock."""
        if not seconds <= MAX_DURATION_S:
            raise ValueError(f"ctx.sleep: seconds must be a number, at most {MAX_DURATION_S:,}, not {seconds!r}")
        await self._work.attempt.sleep(max(0.0, seconds))

    def _tool(self, name: str) -> FunctionTool:
        if name not in self._tools:
            raise UnknownTool(name, self._tools)
        return self._tools[name]

    async def _call_function(self, tool: FunctionTool, arguments: JsonValue, *, key: str) -> JsonValue:
        """Call a tool, and show it in the live output."""
        self._work.live.tool_started(tool.name, _shown_arguments(arguments))
        args, named = _split_arguments(arguments)
        try:
            output = await tool.perform(self._work, args, named, key=key)
        except Exception as error:  # not BaseException: a cancelled call has no end, which leaves it in doubt
            self._work.live.tool_ended(tool.name, one_line(error))
            raise
        self._work.live.tool_ended(tool.name, output)
        return output

    async def _call_server_tool(self, name: str, arguments: JsonValue, *, key: str) -> JsonValue:
        """Call a tool of an MCP server, and show it in the live output."""
        args, named = _split_arguments(arguments)
        tool = None if self._kit is None else await self._kit.server_tool(self._work, name)
        if tool is None:
            raise UnknownTool(name, [*self._tools, *self._work.spec.mcp])
        if args:
            raise TypeError(f"ctx.tool: {name} takes its arguments by name")
        self._work.live.tool_started(name, named)
        try:
            output = await tool.call(self._work, named, key)
        except ToolError as error:
            self._work.live.tool_ended(name, str(error))
            if not tool.options.idempotent:
                await self._work.tool_raised(key, error)
            raise
        self._work.live.tool_ended(name, output)
        return output

    async def _call_in_time(self, name: str, call: Callable[[], Any]) -> JsonValue:
        with self._work.limits.step(name):
            return json_value(await call_user_code(self._work, call))

    async def _run_step(
        self,
        name: str,
        call: Callable[[str], Awaitable[JsonValue]],
        value: object,
        *,
        kind: StepKind = "code",
        reads: Callable[[JsonValue], Sequence[str]] = lambda output: (),
    ) -> JsonValue:
        """Run a step, or return its output from the journal.

        Args:
            name: Name of the step.
            call: Returns the output; gets the key of the step.
            value: The input.
            kind: Kind of the step.
            reads: Returns the ids of the insights in an output.
        """
        work = self._work
        work.attempt.raise_if_stopping()
        step_input = json_value(value)
        key = work.attempt.key(name, step_input)
        if work.attempt.is_recorded(key):
            await work.changes.repeat(key)
            return await work.attempt.recorded_output(key)
        async with work.slot.step(kind, name):
            began_ms = work.attempt.now_ms()
            output = await call(key)
            step = work.finished_step(
                kind, name, key, output, step_input=step_input, began_ms=began_ms, reads=reads(output)
            )
            changes = work.changes.take()
            await work.attempt.record(copy_with(step, **changes) if changes else step)
            if changes:
                await work.changes.settle(key, changes["state_changes"])
            return copy_json(output)


def _open_state(work: Work, call_agent: Callable[[str, Any, str | None], Any]) -> MutableMapping[str, Any]:
    return work.changes.open(partial(with_agents, recipes=work.attempt.state.recipes, call=call_agent))


P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")


class _Blocking(Generic[C]):
    """A context, or a part of one, for a plain function in a thread."""

    def __init__(self, context: C, token: EventLoopToken, loop_thread_id: int) -> None:
        self._context = context
        self._token = token
        self._loop_thread_id = loop_thread_id

    def _check_thread(self) -> None:
        if threading.get_ident() == self._loop_thread_id:
            raise BlocksLoop  # the event loop would wait for itself for ever


def _make_blocking(
    method: Callable[Concatenate[C, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[_Blocking[C], P], T]:
    """Return a method of a context as one that blocks its thread until the loop has the answer."""

    @wraps(method)
    def call(self: _Blocking[C], /, *args: P.args, **named: P.kwargs) -> T:
        self._check_thread()
        return anyio.from_thread.run(partial(method, self._context, *args, **named), token=self._token)

    return call


def _blocking_sync(method: Callable[Concatenate[Context, P], T]) -> Callable[Concatenate["BlockingContext", P], T]:
    """As `_blocking`, for a method that is not a coroutine."""

    @wraps(method)
    def call(self: "BlockingContext", /, *args: P.args, **named: P.kwargs) -> T:
        self._check_thread()
        return anyio.from_thread.run_sync(partial(method, self._context, *args, **named), token=self._token)

    return call


class BlockingMemory(_Blocking[ContextMemory]):
    """The `ctx.memory` of a plain function: the same methods, each of which blocks its thread."""

    write = _make_blocking(ContextMemory.write)
    supersede = _make_blocking(ContextMemory.supersede)
    query = _make_blocking(ContextMemory.query)
    wait = _make_blocking(ContextMemory.wait)


class BlockingContext(_Blocking[Context]):
    """The `ctx` of a plain `def f(task, ctx)`: the same methods, each of which blocks its thread."""

    def __init__(self, context: Context, token: EventLoopToken) -> None:
        super().__init__(context, token, threading.get_ident())
        self.task = context.task
        """The task that is worked on."""

    @property
    def agent(self) -> str:
        """Name of the agent that works."""
        return self._context.agent

    @property
    def folder(self) -> Path | None:
        """The team's folder."""
        return self._context.folder

    @property
    def cancelled(self) -> bool:
        """True once the attempt is asked to stop."""
        return self._context.cancelled

    @property
    def memory(self) -> BlockingMemory:
        """Insights that agents share."""
        return BlockingMemory(self._context.memory, self._token, self._loop_thread_id)

    @property
    def state(self) -> MutableMapping[str, Any]:
        """The state that the agent keeps for itself."""
        work = self._context._attempt
        return _open_state(work, self._call_agent)

    def create_agent(self, name: str, primer: str, **arguments: Any) -> CreatedAgent:
        """Make an agent, as `Context.create_agent`; calling it blocks this thread."""
        self._check_thread()
        make = partial(self._context.create_agent, name, primer, **arguments)
        agent = anyio.from_thread.run(make, token=self._token)
        recipe = self._context._attempt.attempt.state.recipes.get(agent.id)
        return CreatedAgent(agent.id, recipe, self._call_agent)

    _call_agent = _make_blocking(Context._call_agent)
    step = _make_blocking(Context.step)
    tool = _make_blocking(Context.tool)
    delegate = _make_blocking(Context.delegate)
    map = _make_blocking(Context.map)
    ask = _make_blocking(Context.ask)
    remember = _make_blocking(Context.remember)
    recall = _make_blocking(Context.recall)
    sleep = _make_blocking(Context.sleep)
    steers = _blocking_sync(Context.steers)
    emit = _blocking_sync(Context.emit)
    progress = _blocking_sync(Context.progress)
    spent = _blocking_sync(Context.spent)


def _text(call: str, name: str, value: object) -> str:
    """Return a cleaned name for the journal; anything but a text is an error of the agent's code."""
    if not isinstance(value, str):
        raise TypeError(f"ctx.{call}: {name} must be a text, not {value!r:.60}")
    return clean(value)


def _split_arguments(arguments: JsonValue) -> tuple[list[JsonValue], dict[str, JsonValue]]:
    """Return the positional and keyword arguments in the input of a tool call."""
    assert isinstance(arguments, list)
    positional, named = arguments
    assert isinstance(positional, list)
    assert isinstance(named, dict)
    return positional, named


def _shown_arguments(arguments: JsonValue) -> JsonValue:
    """Return the arguments of a tool call for display: only positional or only named ones if the others are empty."""
    positional, named = _split_arguments(arguments)
    return arguments if positional and named else positional or named


def collect_outputs(target: str, answers: list[DelegationResult], return_failures: bool) -> list[Any]:
    """Return outputs and failures in order, or raise the first failure."""
    results: list[Any] = []
    for answer in answers:
        if answer.error is None:
            results.append(answer.output)
            continue
        failure = DelegationFailed(target, answer.error, answer.task_id)
        if not return_failures:
            raise failure
        results.append(failure)
    return results
