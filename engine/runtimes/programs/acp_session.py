"""One session with an ACP agent: turns its messages into steps, questions and text.

Each ended tool call and each new plan is a step. Its requests are answered in `acp_requests`.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Protocol, Unpack

import anyio

from engine.core.queries.work.excerpts import excerpt_of
from engine.core.records.records import JsonValue
from engine.errors import AttemptInterrupted, EngineError, PermanentFailure
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.acp_calls import Change, SessionCalls, TrackedCall
from engine.runtimes.programs.acp_messages import Abilities, ToolCall, TurnEnd
from engine.runtimes.programs.acp_requests import AcpRequests, cut, diff, json_or_none, redacted_title
from engine.runtimes.programs.acp_servers import SessionServer
from engine.runtimes.programs.attempt_program import AttemptProgram, ProgramFailed
from engine.runtimes.programs.jsonl_conversation import steers_before
from engine.runtimes.typed_output import OutputMismatch, typed_text
from engine.runtimes.values import Amounts, clean, usage_of, without_secrets

START_TIMEOUT_S = 60.0
"""Timeout of the handshake, and of the start of a session."""
EXIT_TIMEOUT_S = 2.0
"""How long an agent may take to exit after its work."""
CANCEL_TIMEOUT_S = 1.5
"""How long it may take to end its turn after a cancellation."""
MAX_TEXT_CHARACTERS = 10_000_000
"""Characters of an attempt's answer, like `output_bytes` of other programs."""
SESSION = "session"
"""Name of the step that records the session id."""
STOPPED = {
    "max_tokens": "stopped at its limit of tokens",
    "max_turn_requests": "stopped at its limit of requests to its model",
    "refusal": "refuses to go on",
    "cancelled": "ended its turn as cancelled without being cancelled",
}


class LineEnded(EngineError):
    """The agent closed its output, or cannot be written to."""


class AgentRefused(EngineError):
    """The agent answered a request with an error, or with an invalid answer."""


class LoginMissing(EngineError):
    """The agent requires a login by a person."""

    retryable = False


class NotAskedFor(PermanentFailure):
    """An agent made a call without permission, although `approve` of its spec requires approval."""


class TurnStopped(EngineError):
    """An agent ended its turn before its work was done."""


class LineEnd(Protocol):
    """How the output of an agent ended."""

    fault: str | None
    """Why reading stopped before the end of the output; None if it did not."""


class AgentLine(Protocol):
    """The connection to the agent: `acp_link.AcpLink`, whose file is slow to import."""

    @property
    def lines(self) -> LineEnd:
        """How its output ended."""

    async def initialize(self) -> Abilities:
        """Exchange the initial handshake."""

    async def new_session(self, cwd: str, servers: Sequence[SessionServer]) -> str:
        """Begin a session; return its id."""

    async def take_up(self, session_id: str, cwd: str, servers: Sequence[SessionServer], *, load: bool) -> None:
        """Resume an earlier session."""

    async def prompt(self, session_id: str, text: str) -> TurnEnd:
        """Send a prompt; return how its turn ended."""

    async def cancel(self, session_id: str) -> None:
        """Ask the agent to stop its turn."""

    async def close(self) -> None:
        """Close the connection."""


class AcpSession:
    """The conversation of one attempt.

    Args:
        attempt_program: Stops the program.
        calls: Its calls and steps.
        requests: Answers requests of the agent.
        name: Name of the agent in errors.
        folder: Its working folder.
        servers: Tool servers for the agent.
        threads: Threads for checking its output.
    """

    def __init__(
        self,
        work: Work,
        attempt_program: AttemptProgram,
        *,
        calls: SessionCalls,
        requests: AcpRequests,
        name: str,
        folder: Path,
        servers: Sequence[SessionServer],
        threads: Threads,
    ) -> None:
        self._work = work
        self._attempt_program = attempt_program
        self._calls = calls
        self._requests = requests
        self._name = name
        self._folder = folder
        self._servers = servers
        self._threads = threads
        self._link: AgentLine | None = None
        self._session_id: str | None = None
        self._is_loading = False
        self._texts: list[str] = []
        self._text_size = 0
        self._last_message = 0
        """Index in the texts at which its last message begins, the one after its last call."""
        self.answer: JsonValue = None
        """The JSON value of its last message, if its spec has an output schema."""
        self._has_repaired = False
        self._is_new_message = False
        """The next text begins a message, because a tool call or a turn came before it."""
        self._turns_scope = anyio.CancelScope()
        self._not_asked: NotAskedFor | None = None
        self._unchecked_calls = 0
        """Number of calls for which it is being checked whether they needed approval."""
        self._call_checked = anyio.Event()
        self._plan: list[dict[str, str]] = []
        self._cost_usd = Decimal(0)
        self._finished = anyio.Event()
        self._cut = anyio.Event()
        self._is_cut = False
        self.broken: str | None = None
        """How the agent ended prematurely; None if it did not."""

    @property
    def too_much(self) -> str | None:
        """The fault of an answer longer than `MAX_TEXT_CHARACTERS`; None if it is shorter."""
        return f"said more than {MAX_TEXT_CHARACTERS:,} characters" if self._text_size > MAX_TEXT_CHARACTERS else None

    @property
    def text(self) -> str:
        """Its whole text."""
        return "".join(self._texts).strip()

    async def converse(self, link: AgentLine, text: str) -> None:
        """Send the task, receive the answer, and let the program exit.

        Raises:
            LoginMissing: If a login is required.
            AgentRefused: If it answers a request with an error.
            TurnStopped: If it ends its turn before its work is done.
        """
        self._link = link
        failure: BaseException | None = None
        async with anyio.create_task_group() as group:  # errors are raised after it, which would wrap them in a group
            self._group = group
            self._requests.open_terminals(group)
            group.start_soon(self._cut_turns, link)
            self._work.steering.on_steer = self._on_steer
            try:
                with self._turns_scope:
                    await self._turns(link, text)
                    while self._unchecked_calls:
                        await self._call_checked.wait()
                failure = self._not_asked
            except (AttemptInterrupted, EngineError) as error:
                failure = error
            finally:
                self._finished.set()
                with anyio.CancelScope(shield=True):
                    await link.close()
                    await self._requests.terminals.close()
            group.cancel_scope.cancel()
        if isinstance(failure, LineEnded):
            self.broken = link.lines.fault or "ended in the middle of its work"
        elif failure is not None:
            raise failure
        else:
            self.broken = self.too_much
        self._attempt_program.program.close_input()
        await self._attempt_program.end_soon(EXIT_TIMEOUT_S)

    async def cancel(self) -> None:
        """Ask the agent to end its turn, and wait until it does or times out."""
        if self._link is not None and self._session_id is not None:
            await self._link.cancel(self._session_id)
            with self._work.limits.move_on_after(CANCEL_TIMEOUT_S):
                await self._finished.wait()

    def raise_if_broken(self) -> None:
        """Raise ProgramFailed if the agent ended prematurely."""
        if self.broken is not None:
            raise ProgramFailed(f"{self._name} {self.broken}")

    async def _turns(self, link: AgentLine, text: str) -> None:
        with self._limit_start("say who it is"):
            abilities = await link.initialize()
        try:
            with self._limit_start("begin a session"):
                session_id, is_resumed = await self._begin(link, abilities)
        except LoginMissing:
            raise LoginMissing(self._login(abilities.logins)) from None
        self._session_id = session_id
        before = await steers_before(self._work)
        schema, instructions = self._work.spec.output, self._work.spec.instructions.strip()
        opening = "Your work on this was interrupted. Look at what is done, and go on." if is_resumed else instructions
        form = "" if schema is None else f"End with JSON alone that fits this JSON Schema: {json.dumps(schema)}"
        text = "\n\n".join(part for part in [opening, text, *before, form] if part)
        while text:
            self._is_cut = False
            await self._turn(link, session_id, text)
            text = "\n\n".join(self._work.steering.steers()) or await self._repair()

    async def _repair(self) -> str:
        """Return the prompt for another answer if the last message does not fit the output schema; else an empty text.

        Raises:
            OutputMismatch: If it does not fit for the second time.
        """
        message = "".join(self._texts[self._last_message :])
        try:
            self.answer = await typed_text(self._work, message, self._threads)
        except OutputMismatch as mismatch:
            if self._has_repaired:
                raise
            self._has_repaired = True
            return f"Your answer cannot be used: {mismatch}. Answer again, with the JSON alone."
        return ""

    async def _turn(self, link: AgentLine, session_id: str, text: str) -> None:
        self._is_new_message = True
        turn = await link.prompt(session_id, text)
        if turn.tokens_in is not None:
            self._spend(tokens_in=turn.tokens_in, tokens_out=turn.tokens_out, tokens_cached=turn.tokens_cached)
        is_cancelled_by_us = self._attempt_program.is_stopped or (self._is_cut and turn.stop_reason == "cancelled")
        if turn.stop_reason in STOPPED and not is_cancelled_by_us:
            raise TurnStopped(f"{self._name} {STOPPED[turn.stop_reason]}")

    async def _cut_turns(self, link: AgentLine) -> None:
        """End the agent's turn early when an urgent message arrives."""
        while True:
            await self._cut.wait()
            self._cut = anyio.Event()
            if self._session_id is not None:
                self._is_cut = True
                await link.cancel(self._session_id)

    def _on_steer(self, now: bool) -> None:
        if now:
            self._cut.set()

    @contextmanager
    def _limit_start(self, action: str) -> Iterator[None]:
        try:
            with anyio.fail_after(START_TIMEOUT_S):
                yield
        except TimeoutError:
            raise ProgramFailed(f"{self._name} did not {action} within {START_TIMEOUT_S:g} s") from None

    def _login(self, ways: list[str]) -> str:
        listed = f" ({', '.join(clean(way) for way in ways)})" if ways else ""
        return f"{self._name} wants a login{listed}: log in with its own program, or name its key under 'env'"

    async def _begin(self, link: AgentLine, abilities: Abilities) -> tuple[str, bool]:
        """Return the id of the session, and whether it is resumed from an earlier attempt."""
        folder, servers = str(self._folder), self._servers
        address = next((server.name for server in servers if server.url is not None), None)
        if address is not None and not abilities.calls_addresses:
            raise AgentRefused(f"can use tool servers that are programs alone, and {address!r} is an address")
        earlier = await self._find_earlier_session() if abilities.loads or abilities.resumes else None
        if earlier is not None:
            self._is_loading = True
            try:
                await link.take_up(earlier, folder, servers, load=abilities.loads)
                return earlier, True
            except AgentRefused:
                pass  # the agent no longer has the session
            finally:
                self._is_loading = False
        session_id = await link.new_session(folder, servers)
        work = self._work
        key = work.attempt.new_key(SESSION)
        await work.attempt.record(work.finished_step("code", SESSION, key, {"session_id": session_id}))
        return session_id, False

    async def _find_earlier_session(self) -> str | None:
        keys = [key for key in self._work.effect.steps if key.startswith(f"{SESSION}:")]
        output = await self._work.attempt.recorded_output(keys[-1]) if keys else None
        return str(output["session_id"]) if isinstance(output, dict) else None

    # Messages of the agent

    def add_text(self, text: str) -> None:
        """Add text to the answer, and show it."""
        if self._is_loading or not text:
            return
        if self._is_new_message:
            self._last_message = len(self._texts)
            text = f"\n\n{text.lstrip()}" if self._texts else text
        self._is_new_message = False
        self._text_size += len(text)
        if self.too_much is None:
            self._texts.append(clean(text))
            self._work.live.emit(text)

    def show_thought(self, text: str) -> None:
        """Show a thought."""
        if not self._is_loading:
            self._work.live.show_thought(text)

    def record_plan(self, entries: list[dict[str, str]]) -> None:
        """Record a plan if it has changed."""
        if not self._is_loading and entries != self._plan:
            self._plan = entries
            plan: JsonValue = [{name: clean(text) for name, text in entry.items()} for entry in entries]
            self._calls.record("plan", plan, kind="code")

    def add_cost(self, cost_usd: float) -> None:
        """Charge the usage since the last report; usage before this attempt is charged already."""
        total = Decimal(str(cost_usd))  # decimal, because differences of floats are not exact
        if not total.is_finite():
            return
        added, self._cost_usd = total - self._cost_usd, total
        if added > 0 and not self._is_loading:
            self._spend(cost_usd=added)

    def _spend(self, **amounts: Unpack[Amounts]) -> None:
        with suppress(ValueError):  # impossible amounts are ignored
            self._work.models.spend(usage_of(amounts))

    def update_call(self, call: ToolCall) -> None:
        """Show a tool call, and record it as a step once it has ended."""
        if self._is_loading:
            return
        tracked = self._calls.call(call.id)
        if tracked.began_ms is None:
            tracked.began_ms = self._work.attempt.now_ms()
        tracked.kind = call.kind or tracked.kind
        tracked.input = tracked.input if call.input is None else json_or_none(call.input)
        tracked.output = tracked.output if call.output is None else json_or_none(call.output)
        tracked.texts = call.texts or tracked.texts
        tracked.diffs = call.diffs or tracked.diffs
        if not tracked.is_shown:
            tracked.title = redacted_title(call.title or tracked.title or call.kind or "tool")[:200]
            # Many agents announce a call as pending before they know its arguments, which come with a better title.
            if tracked.input if call.status is None else call.status != "pending":
                tracked.is_shown = True
                tracked.pulse_step = self._work.live.pulse.begin("tool", tracked.title, tracked.began_ms)
                self._work.live.tool_started(tracked.title, tracked.input)
        if call.status in ("completed", "failed") and not tracked.has_ended:
            tracked.has_ended = self._is_new_message = True
            self._check_approval(tracked)
            self._end_call(tracked, call.status)

    def _check_approval(self, call: TrackedCall) -> None:
        """End the session if a call was made without permission although it needed approval."""
        kind = call.kind or "other"
        if call.is_asked_for:
            return
        if self._calls.approved[kind]:
            self._calls.approved[kind] -= 1
        elif kind in self._work.spec.approve:
            self._unchecked_calls += 1
            self._group.start_soon(self._end_if_not_asked, kind, call.title, call.input, call.diffs)

    async def _end_if_not_asked(self, kind: str, title: str, arguments: JsonValue, diffs: list[Change]) -> None:
        needs_approval = await self._requests.needs_approval(kind, title, arguments, diffs)
        self._unchecked_calls -= 1
        self._call_checked.set()
        self._call_checked = anyio.Event()
        if needs_approval and self._not_asked is None:
            self._not_asked = NotAskedFor(
                f"{self._name} did {title!r} ({kind}) without asking, and 'approve' says that a person is asked; set up"
                " its own permissions so that it asks"
            )
            self._turns_scope.cancel()

    def _end_call(self, call: TrackedCall, status: str) -> None:
        output: dict[str, JsonValue] = {"status": status, "kind": call.kind}
        if call.texts:
            output["text"] = cut("\n".join(call.texts))
        if call.diffs:
            output["diffs"] = [diff(*change) for change in call.diffs]
        if call.output is not None:
            output["output"] = excerpt_of(call.output, without_secrets)
        self._work.live.pulse.end(call.pulse_step)
        self._work.live.tool_ended(call.title, output)
        self._calls.record(call.title, output, kind="tool", step_input=call.input, began_ms=call.began_ms)
        # A session may have thousands of calls, whose results can be large.
        call.texts, call.diffs, call.input, call.output = [], [], None, None
