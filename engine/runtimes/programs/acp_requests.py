"""Answers requests of an ACP agent: for permission, for files, and for programs that the engine runs for it.

Each request becomes a question to a person, unless `approve` of the spec decides it, or a person has answered for all
calls of that kind. Files and programs are confined to the agent's folder.
"""

import difflib
import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from anyio.abc import TaskGroup

from engine.core.decide.people.asking import ALLOW_ALWAYS, ALLOW_ONCE, ALLOWING_ANSWERS, PERMISSION, REJECT_ONCE
from engine.core.records.records import JsonValue
from engine.core.specs.approval import PLAIN
from engine.errors import AttemptInterrupted, EngineError, NotShown
from engine.host.built_in.guards import requires_approval
from engine.runtimes.attempts.questions import FOUR_OPTIONS
from engine.runtimes.attempts.work import Work
from engine.runtimes.functions.threads import Threads
from engine.runtimes.programs.acp_calls import Change, SessionCalls
from engine.runtimes.programs.acp_messages import PermissionOption, ToolCall
from engine.runtimes.programs.confined import OutOfBounds, inside, text_of, write
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.programs.terminals import Terminals
from engine.runtimes.values import SHOWN_CHARACTERS, clean, json_value, shown_input, shown_whole, without_secrets

MAX_TEXT_CHARACTERS = 20_000
"""Characters of a diff, or of a tool's output, that are recorded with the step."""
RUNS_PROGRAMS = frozenset({"execute", "other", "switch_mode", None})
"""Kinds of tools that may run anything, for which no standing permission can be given."""


class AcpRequests:
    """Answers the requests of an agent.

    Args:
        calls: The calls and steps of the session.
        name: Name of the agent in questions.
        folder: Its working folder.
        threads: Threads for files and diffs.
        programs: Starts programs that the agent requests.
        env: Environment of those programs.
    """

    def __init__(
        self,
        work: Work,
        calls: SessionCalls,
        name: str,
        *,
        folder: Path,
        threads: Threads,
        programs: Programs,
        env: Mapping[str, str],
    ) -> None:
        self._work = work
        self._calls = calls
        self._name = name
        self._folder = folder
        self._threads = threads
        self._programs = programs
        self._env = env
        self._terminals: Terminals | None = None

    def open_terminals(self, group: TaskGroup) -> None:
        """Allow programs of the agent to run in a task group."""
        self._terminals = Terminals(self._programs, self._env, group)

    async def permit(self, call: ToolCall, choices: list[PermissionOption]) -> str | None:
        """Return the id of the choice for a request for permission, made by a rule or a person; None to cancel."""
        tracked = self._calls.call(call.id)
        tracked.is_asked_for = True
        title = call.title or tracked.title or call.kind or "a tool"
        kind = tracked.kind = call.kind or tracked.kind
        arguments = tracked.input = json_or_none(call.input) if call.input is not None else tracked.input
        changes = call.diffs or tracked.diffs
        allowing = sorted(
            (choice for choice in choices if choice.kind in ALLOWING_ANSWERS),
            key=lambda choice: choice.kind == ALLOW_ALWAYS,
        )
        if allowing and await self.needs_approval(kind, title, arguments, changes) is False:
            return allowing[0].id
        detail, has_secret = await self._describe(kind or "other", title, arguments, changes)
        by_kind: dict[str, PermissionOption] = {}
        for choice in choices:
            is_unbounded = choice.kind == "allow_always" and kind in RUNS_PROGRAMS
            if not is_unbounded and not (has_secret and choice.kind.endswith("_always")):
                by_kind.setdefault(choice.kind, choice)
        if not by_kind:
            return None
        answer = await self._ask_person(f"{self._name} asks to: {detail['title']}", list(by_kind), detail)
        chosen = by_kind.get(answer) or by_kind.get(answer.replace("once", "always"))
        return None if chosen is None else chosen.id

    async def needs_approval(
        self, kind: str | None, title: str, arguments: JsonValue, changes: Sequence[Change] = ()
    ) -> bool | None:
        """Return whether `approve` of the spec requires approval of a call; None if it has no rule.

        Args:
            kind: Kind of the tool.
            title: The agent's title of the call.
            arguments: Its arguments.
            changes: The files that it changes.
        """
        rule = self._work.spec.approve.get(kind or "other")
        if rule is None or rule in PLAIN:
            return None if rule is None else rule == "always"
        if _size_of(changes) > SHOWN_CHARACTERS:
            return True
        return await requires_approval(rule, await self._value(title, arguments, changes))

    async def _value(self, title: str, arguments: JsonValue, changes: Sequence[Change]) -> dict[str, JsonValue]:
        """Return a call as guards and people get it."""
        value: dict[str, JsonValue] = {"title": clean(title), "arguments": arguments}
        if changes:
            value["diffs"] = [await self._threads.run(partial(whole_diff, *change)) for change in changes]
        return value

    async def _request_approval(
        self, kind: str, tool: str, title: str, arguments: JsonValue, changes: Sequence[Change] = ()
    ) -> tuple[bool, str]:
        """Return whether the engine may do something for the agent, and its title without secrets."""
        self._calls.approved[kind] += 1
        if await self.needs_approval(kind, title, arguments, changes) is False:
            return True, redacted_title(title)
        detail, has_secret = await self._describe(tool, title, arguments, changes)
        options = [ALLOW_ONCE, REJECT_ONCE] if has_secret or tool in RUNS_PROGRAMS else [*FOUR_OPTIONS]
        question = f"{self._name} asks to {'run ' if tool == 'execute' else ''}{detail['title']}"
        return await self._ask_person(question, options, detail) in ALLOWING_ANSWERS, str(detail["title"])

    async def _describe(
        self, tool: str, title: str, arguments: JsonValue, changes: Sequence[Change] = ()
    ) -> tuple[dict[str, JsonValue], bool]:
        """Return a call in full for a person, and whether it contains a secret, which excludes standing permissions.

        Raises:
            NotShown: If it is too long.
        """
        try:
            if _size_of(changes) > SHOWN_CHARACTERS:
                raise ValueError(f"its files have more than the {SHOWN_CHARACTERS:,} characters that can be shown")
            call, has_secret = shown_whole(await self._value(title, arguments, changes))
        except ValueError as error:
            raise NotShown(redacted_title(title)[:200], str(error)) from error
        assert isinstance(call, dict)
        return {"tool": tool, **call}, has_secret

    async def _ask_person(self, question: str, options: list[str], detail: dict[str, JsonValue]) -> str:
        """Return a person's answer, or their standing one for the tool; empty if the attempt is stopped."""
        work, tool = self._work, str(detail["tool"])
        key = work.attempt.key(PERMISSION, [question, list(options), detail])
        try:
            # A secret is not shown, so a grant for certain arguments cannot be compared with it.
            arguments = detail.get("arguments") if ALLOW_ALWAYS in options else None
            granted = None if tool in RUNS_PROGRAMS else await work.questions.find_grant(tool, arguments)
            if granted is not None:
                return ALLOW_ONCE if granted else REJECT_ONCE
            return await work.questions.ask(key, question, options, kind="permission", detail=detail)
        except AttemptInterrupted:
            return ""

    async def read_file(self, path: str, line: int | None, limit: int | None) -> str:
        """Return the text of a file in its folder; a rule for `read` in `approve` may require approval.

        Raises:
            OutOfBounds: If it is not allowed, or there is no such file.
        """
        if "read" in self._work.spec.approve:
            is_allowed, _ = await self._request_approval("read", "read_file", f"read {path}", {"path": path})
            if not is_allowed:
                raise OutOfBounds(f"a person did not allow to read {path:.200}")
        return await self._threads.run(partial(text_of, self._folder, path, line, limit))

    async def write_file(self, path: str, content: str) -> None:
        """Write a file in its folder, after approval."""
        where = await self._threads.run(partial(inside, self._folder, path))
        try:
            before = await self._threads.run(partial(text_of, self._folder, path, None, None))
        except OutOfBounds:
            before = ""
        name = str(where.relative_to(self._folder.resolve()))
        arguments: dict[str, JsonValue] = {"path": name, "content": _digest(content)}
        is_allowed, _ = await self._request_approval(
            "edit", "write_file", f"write {name}", arguments, [(name, before, content)]
        )
        if not is_allowed:
            raise OutOfBounds(f"a person did not allow to write {name}")
        await self._threads.run(partial(write, self._folder, path, content))
        change = await self._threads.run(partial(diff, name, before, content))
        self._calls.record(f"write {name}", {"diffs": [change]}, kind="tool")

    @property
    def terminals(self) -> Terminals:
        """The programs that the engine runs for the agent."""
        assert self._terminals is not None
        return self._terminals

    async def run_program(
        self, argv: list[str], *, cwd: str | None, env: dict[str, str], most_bytes: int | None
    ) -> str:
        """Start a program in its folder, after approval, and return the name of its terminal."""
        where = await self._threads.run(partial(inside, self._folder, cwd or "."))
        arguments: dict[str, JsonValue] = {"argv": [*argv], "cwd": str(where), "env": {**env}}
        is_allowed, shown_argv = await self._request_approval("execute", "execute", shlex.join(argv), arguments)
        if not is_allowed:
            raise OutOfBounds(f"a person did not allow to run {shown_argv:.200}")
        shown = shown_input({**arguments, "env": [*sorted(env)]})
        self._calls.record(f"run {shown_argv}"[:200], shown, kind="tool")
        return await self.terminals.create(argv, cwd=where, env=env, most_bytes=most_bytes)


def redacted_title(text: str) -> str:
    """Return a title of the agent without secrets: a command line can contain a key from the environment."""
    return without_secrets(clean(text))


def json_or_none(value: Any) -> JsonValue:
    """Return a value from an agent as plain JSON; None if it cannot be recorded."""
    try:
        return json_value(value)
    except EngineError:
        return None


def _digest(text: str) -> str:
    return f"{len(text):,} characters, sha256 {sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def cut(text: str) -> str:
    """Return a text, or its beginning with its length if it is long."""
    text = clean(text)
    if len(text) <= MAX_TEXT_CHARACTERS:
        return text
    return f"{text[:MAX_TEXT_CHARACTERS]}\n[cut; {len(text):,} characters in all]"


def _size_of(changes: Sequence[Change]) -> int:
    return sum(len(text) for change in changes for text in change)


def diff(path: str, old: str, new: str) -> JsonValue:
    """Return a diff for a step, cut if it is long; for very long texts only their lengths."""
    if len(old) + len(new) > 50 * MAX_TEXT_CHARACTERS:
        return {"path": clean(path), "diff": f"[{len(old):,} characters before, {len(new):,} after]"}
    change = whole_diff(path, old, new)
    return {**change, "diff": cut(str(change["diff"]))}


def whole_diff(path: str, old: str, new: str) -> dict[str, JsonValue]:
    """Return a diff as git shows it."""
    lines = difflib.unified_diff(_lines(old), _lines(new), f"a/{path}", f"b/{path}", lineterm="")
    return {"path": clean(path), "diff": clean("\n".join(lines))}


def _lines(text: str) -> list[str]:
    """Return lines as git splits them, so that a diff shows changes of line ends."""
    *lines, last = text.split("\n")
    return [*lines, f"{last}\n\\ No newline at end of file"] if last else lines
