"""One session with an agent that speaks the Agent Client Protocol: what it says becomes steps, questions and text.

Each tool call that ends, and each new plan, is a step. What it asks leave for goes to the inbox.
"""

import difflib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from engine.core.fact import JsonValue
from engine.core.shown import shown
from engine.core.signals import StepFinished
from engine.errors import AttemptInterrupted, EngineError
from engine.runtimes.programs.attending import Attended, ProgramFailed
from engine.runtimes.programs.confined import OutOfBounds, inside, text_of, write
from engine.runtimes.threads import Threads
from engine.runtimes.values import clean, json_value, shown_input, usage_of, without_secrets
from engine.runtimes.work import Work, of_attempt

if TYPE_CHECKING:
    from engine.runtimes.programs.acp_link import AcpLink, Choice, ToolCall

ANSWERS_S = 60.0
"""How long an agent may take to say who it is, and to begin a session."""
ENDS_S = 2.0
"""How long it may take to exit when its work is done."""
CANCELS_S = 1.5
"""How long it may take to end its turn when it is told to."""
MOST_TEXT = 20_000
"""Characters of a diff, or of what a tool said, that are kept with the step."""
SESSION = "session"
"""The step that says which session it is."""
STOPPED = {
    "max_tokens": "stopped at its limit of tokens",
    "max_turn_requests": "stopped at its limit of requests to its model",
    "refusal": "refuses to go on",
    "cancelled": "ended its turn as cancelled, and nobody cancelled it",
}
RUNS_PROGRAMS = frozenset({"execute", "other", "switch_mode", None})
"""Kinds of tools that may run anything: leave for all of them cannot be given at once."""


class TurnStopped(EngineError):
    """An agent ended its turn before its work was done."""


class AcpSession:
    """The conversation of one attempt.

    Args:
        work: The attempt.
        attended: Stops the program.
        name: What the agent is called in errors.
        folder: Where it works.
        threads: For files.
    """

    def __init__(self, work: Work, attended: Attended, name: str, *, folder: Path, threads: Threads) -> None:
        self._work = work
        self._attended = attended
        self._name = name
        self._folder = folder
        self._threads = threads
        self._link: AcpLink | None = None
        self._session_id: str | None = None
        self._is_loading = False
        self._texts: list[str] = []
        self._between = False
        """A tool was called since it last said something."""
        self._calls: dict[str, dict[str, Any]] = {}
        self._plan: list[dict[str, str]] = []
        self._cost_usd = 0.0
        self._ended = anyio.Event()
        self.broken: str | None = None
        """How it went away in the middle, if it did."""

    @property
    def output(self) -> str:
        """What it answered."""
        return "".join(self._texts).strip()

    async def converse(self, link: "AcpLink", text: str) -> None:
        """Say the task and hear the answer; then let the program end.

        Raises:
            LoginMissing: If somebody has to log in first.
            AgentRefused: If it answers a request with an error.
            TurnStopped: If it does not do its work.
        """
        self._link = link
        try:
            await self._turns(link, text)
        except EngineError as error:
            if type(error).__name__ != "LineEnded":
                raise
            self.broken = link.lines.fault or "ended in the middle of its work"
        finally:
            self._ended.set()
            with anyio.CancelScope(shield=True):
                await link.close()
        self._attended.program.close_input()
        await self._attended.end_soon(ENDS_S)

    async def cancel(self) -> None:
        """Ask it to end its turn, and let it."""
        if self._link is not None and self._session_id is not None:
            await self._link.cancel(self._session_id)
            with self._work.at_most(CANCELS_S):
                await self._ended.wait()

    def raise_if_broken(self) -> None:
        """Raise where it went away in the middle."""
        if self.broken is not None:
            raise ProgramFailed(f"{self._name} {self.broken}")

    async def _turns(self, link: "AcpLink", text: str) -> None:
        with self._answers_soon("say who it is"):
            abilities = await link.initialize()
        try:
            with self._answers_soon("begin a session"):
                session_id, goes_on = await self._begin(link, loads=abilities.loads, resumes=abilities.resumes)
        except EngineError as error:
            if type(error).__name__ == "LoginMissing":
                raise type(error)(self._login(abilities.logins)) from None
            raise
        self._session_id = session_id
        if goes_on:
            text = f"Your work on this was interrupted. Look at what is done, and go on.\n\n{text}"
        turn = await link.prompt(session_id, text)
        if turn.tokens_in is not None:
            spent = usage_of(
                {"tokens_in": turn.tokens_in, "tokens_out": turn.tokens_out, "tokens_cached": turn.tokens_cached}
            )
            self._work.spend(spent)
        if turn.stop_reason in STOPPED and not self._attended.is_stopped:
            raise TurnStopped(f"{self._name} {STOPPED[turn.stop_reason]}")

    def _answers_soon(self, what: str) -> "_Soon":
        return _Soon(f"{self._name} did not {what} within {ANSWERS_S:g} s")

    def _login(self, ways: list[str]) -> str:
        how = f" ({', '.join(clean(way) for way in ways)})" if ways else ""
        return f"{self._name} wants a login{how}: log in with its own program, or name its key under 'env'"

    async def _begin(self, link: "AcpLink", *, loads: bool, resumes: bool) -> tuple[str, bool]:
        """Return the session of an earlier attempt, where the agent takes it up, or a new one."""
        folder = str(self._folder)
        earlier = await self._earlier() if loads or resumes else None
        if earlier is not None:
            self._is_loading = True
            try:
                await link.take_up(earlier, folder, load=loads)
            except EngineError as error:
                if type(error).__name__ != "AgentRefused":
                    raise
            else:
                return earlier, True
            finally:
                self._is_loading = False
        session_id = await link.new_session(folder)
        await self._work.record(self._step(SESSION, {"session_id": session_id}))
        return session_id, False

    async def _earlier(self) -> str | None:
        keys = [key for key in self._work.effect.steps if key.startswith(f"{SESSION}:")]
        said = await self._work.recorded(keys[-1]) if keys else None
        return str(said["session_id"]) if isinstance(said, dict) else None

    # What it says

    def heard_text(self, text: str) -> None:
        """Show more of its answer."""
        if self._is_loading or not text:
            return
        if self._between and self._texts:
            text = f"\n\n{text.lstrip()}"
        self._between = False
        self._texts.append(clean(text))
        self._work.emit(text)

    def heard_thought(self, text: str) -> None:
        """Show what it thinks."""
        if not self._is_loading:
            self._work.thought(text)

    def heard_plan(self, entries: list[dict[str, str]]) -> None:
        """Keep a plan that is another."""
        if not self._is_loading and entries != self._plan:
            self._plan = entries
            self._record("plan", [{name: clean(text) for name, text in one.items()} for one in entries])

    def heard_cost(self, cost_usd: float) -> None:
        """Count what was spent since it was last told; what was spent before this attempt is counted already."""
        more, self._cost_usd = cost_usd - self._cost_usd, cost_usd
        if more > 0 and not self._is_loading:
            self._work.spend(usage_of({"cost_usd": more}))

    def heard_tool(self, call: "ToolCall") -> None:
        """Show a tool call, and keep it as a step once it has ended."""
        if self._is_loading:
            return
        known = self._calls.setdefault(call.id, {"texts": [], "diffs": []})
        if "title" not in known:
            known["title"] = clean(call.title or call.kind or "tool")[:200]
            known["began_ms"] = self._work.now_ms()
            known["input"] = _json(call.input)
            self._work.tool_started(known["title"], known["input"])
        known["kind"] = call.kind or known.get("kind")
        known["input"] = known["input"] if call.input is None else _json(call.input)
        known["output"] = known.get("output") if call.output is None else _json(call.output)
        known["texts"] = call.texts or known["texts"]
        known["diffs"] = call.diffs or known["diffs"]
        if call.status in ("completed", "failed") and not known.get("ended"):
            known["ended"], self._between = True, True
            self._end_call(known, call.status)

    def _end_call(self, known: dict[str, Any], status: str) -> None:
        output: dict[str, JsonValue] = {"status": status, "kind": known["kind"]}
        if known["texts"]:
            output["text"] = _cut("\n".join(known["texts"]))
        if known["diffs"]:
            output["diffs"] = [_diff(*one) for one in known["diffs"]]
        if known["output"] is not None:
            output["output"] = shown(known["output"], without_secrets)
        self._work.tool_ended(known["title"], output)
        self._record(known["title"], output, given=known["input"], began_ms=known["began_ms"], is_tool=True)

    # What it asks

    async def permit(self, call: "ToolCall", choices: list["Choice"]) -> str | None:
        """Ask a person whether the agent may do something, and return what they choose."""
        known = self._calls.get(call.id, {})
        title = clean(call.title or known.get("title") or call.kind or "a tool")
        kind = call.kind or known.get("kind")
        by_kind: dict[str, Choice] = {}
        for one in choices:
            if one.kind != "allow_always" or kind not in RUNS_PROGRAMS:
                by_kind.setdefault(one.kind, one)
        if not by_kind:
            return None
        given = _json(call.input) if call.input is not None else known.get("input")
        detail: dict[str, JsonValue] = {"tool": kind or "other", "title": title, "arguments": shown_input(given)}
        diffs = call.diffs or known.get("diffs")
        if diffs:
            detail["diffs"] = [_diff(*one) for one in diffs]
        return await self._permitted(f"{self._name} asks to: {title}", list(by_kind), detail, by_kind.get)

    async def _permitted(
        self, question: str, options: list[str], detail: dict[str, JsonValue],
        choice: Callable[[str], "Choice | None"],
    ) -> str | None:  # fmt: skip
        work = self._work
        key = work.key("permission", [question, list(options), detail.get("arguments")])
        try:
            answer = await work.ask_person(key, question, options, kind="permission", detail=detail)
        except AttemptInterrupted:
            return None
        found = choice(answer)
        return None if found is None else found.id

    async def read_file(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file in its folder."""
        return await self._threads.run(partial(text_of, self._folder, path, line, limit))

    async def write_file(self, path: str, content: str) -> None:
        """Write a file in its folder, once a person lets it."""
        where = await self._threads.run(partial(inside, self._folder, path))
        try:
            before = await self._threads.run(partial(text_of, self._folder, path, None, None))
        except OutOfBounds:
            before = ""
        name = str(where.relative_to(self._folder.resolve()))
        detail: dict[str, JsonValue] = {"tool": "write_file", "title": f"write {name}", "arguments": {"path": name}}
        detail["diffs"] = [_diff(name, before, content)]
        work = self._work
        key = work.key("permission", ["write_file", name, content])
        options = ["allow_once", "allow_always", "reject_once"]
        answer = await work.ask_person(
            key, f"{self._name} asks to write {name}", options, kind="permission", detail=detail
        )
        if not answer.startswith("allow"):
            raise OutOfBounds(f"a person did not allow to write {name}")
        await self._threads.run(partial(write, self._folder, path, content))
        self._record(f"write {name}", {"diffs": detail["diffs"]}, is_tool=True)

    # What is kept of it

    def _record(
        self, name: str, output: JsonValue, *, given: JsonValue = None, began_ms: int | None = None,
        is_tool: bool = False,
    ) -> None:  # fmt: skip
        if not self._work.over:
            self._work.record_soon(self._step(name, output, given=given, began_ms=began_ms, is_tool=is_tool))

    def _step(
        self, name: str, output: JsonValue, *, given: JsonValue = None, began_ms: int | None = None,
        is_tool: bool = False,
    ) -> StepFinished:  # fmt: skip
        work = self._work
        key = work.key(name, None)
        while work.is_recorded(key):
            key = work.key(name, None)
        return StepFinished(
            **of_attempt(work.effect),
            what="tool" if is_tool else "code",
            name=name,
            key=key,
            input=shown_input(given),
            output=output,
            duration_ms=0 if began_ms is None else work.now_ms() - began_ms,
            usage=work.take_spent(),
        )


class _Soon:
    """Fails what takes too long, with words for it."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._scope = anyio.fail_after(ANSWERS_S)

    def __enter__(self) -> None:
        self._scope.__enter__()

    def __exit__(self, *raised: Any) -> bool | None:
        try:
            return self._scope.__exit__(*raised)
        except TimeoutError:
            raise ProgramFailed(self._words) from None


def _json(value: Any) -> JsonValue:
    try:
        return json_value(value)
    except EngineError:
        return None


def _cut(text: str) -> str:
    text = clean(text)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n[cut; {len(text):,} characters in all]"


def _diff(path: str, old: str, new: str) -> JsonValue:
    """Return a diff as git shows it; of what is very long, that it is."""
    if len(old) + len(new) > 50 * MOST_TEXT:
        return {"path": clean(path), "diff": f"[{len(old):,} characters before, {len(new):,} after]"}
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
    return {"path": clean(path), "diff": _cut("\n".join(lines))}
