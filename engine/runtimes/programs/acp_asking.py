"""What an agent of the Agent Client Protocol asks for: permission, files, and programs that we run for it.

Each question goes to the inbox, unless a person has answered it for all calls of that kind. Files and programs are
confined to the agent's folder.
"""

import difflib
import shlex
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.core.decide.asking import ALLOW_ONCE, ALLOWS, PERMISSION, REJECT_ONCE
from engine.core.records import JsonValue
from engine.errors import AttemptInterrupted, EngineError
from engine.runtimes.people import FOUR_OPTIONS
from engine.runtimes.programs.confined import OutOfBounds, inside, text_of, write
from engine.runtimes.programs.terminals import Terminals
from engine.runtimes.threads import Threads
from engine.runtimes.values import clean, json_value, shown_input, without_secrets
from engine.runtimes.work import Work

if TYPE_CHECKING:
    from engine.runtimes.programs.acp_link import Choice, ToolCall

MOST_TEXT = 20_000
"""Characters of a diff, or of what a tool said, that are kept with the step."""
RUNS_PROGRAMS = frozenset({"execute", "other", "switch_mode", None})
"""Kinds of tools that may run anything: leave for all of them cannot be given at once."""


class AcpAsking:
    """The part of a session that answers what the agent asks."""

    _work: Work
    _name: str
    _folder: Path
    _threads: Threads
    _calls: dict[str, dict[str, Any]]
    _terminals: Terminals | None = None

    def _record(
        self, name: str, output: JsonValue, *, given: JsonValue = None, began_ms: int | None = None,
        is_tool: bool = False,
    ) -> None:  # fmt: skip
        """Keep something as a step."""
        raise NotImplementedError

    async def permit(self, call: "ToolCall", choices: list["Choice"]) -> str | None:
        """Ask a person whether the agent may do something, and return what they choose."""
        known = self._calls.get(call.id, {})
        title = line_of(call.title or known.get("title") or call.kind or "a tool")
        kind = call.kind or known.get("kind")
        by_kind: dict[str, Choice] = {}
        for one in choices:
            if one.kind != "allow_always" or kind not in RUNS_PROGRAMS:
                by_kind.setdefault(one.kind, one)
        if not by_kind:
            return None
        given = json_or_none(call.input) if call.input is not None else known.get("input")
        detail: dict[str, JsonValue] = {"tool": kind or "other", "title": title, "arguments": shown_input(given)}
        diffs = call.diffs or known.get("diffs")
        if diffs:
            detail["diffs"] = [diff(*one) for one in diffs]
        answer = await self._allowed(f"{self._name} asks to: {title}", list(by_kind), detail)
        found = by_kind.get(answer) or by_kind.get(answer.replace("once", "always"))
        return None if found is None else found.id

    async def _allowed(self, question: str, options: list[str], detail: dict[str, JsonValue]) -> str:
        """Return what a person answers, or has said of all calls of the tool; empty where the attempt is stopped."""
        work, tool = self._work, str(detail["tool"])
        key = work.key(PERMISSION, [question, list(options), detail.get("arguments")])
        granted = None if tool in RUNS_PROGRAMS else work.granted(tool)
        if granted is not None:
            return ALLOW_ONCE if granted else REJECT_ONCE
        try:
            return await work.ask_person(key, question, options, kind="permission", detail=detail)
        except AttemptInterrupted:
            return ""

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
        detail: dict[str, JsonValue] = {
            "tool": "write_file",
            "title": f"write {name}",
            "arguments": {"path": name, "content": _digest(content)},
        }
        detail["diffs"] = [diff(name, before, content)]
        said = await self._allowed(f"{self._name} asks to write {name}", [*FOUR_OPTIONS], detail)
        if said not in ALLOWS:
            raise OutOfBounds(f"a person did not allow to write {name}")
        await self._threads.run(partial(write, self._folder, path, content))
        self._record(f"write {name}", {"diffs": detail["diffs"]}, is_tool=True)

    @property
    def terminals(self) -> Terminals:
        """The programs that it has had us run."""
        assert self._terminals is not None
        return self._terminals

    async def run_program(
        self, argv: list[str], *, cwd: str | None, env: dict[str, str], most_bytes: int | None
    ) -> str:  # fmt: skip
        """Start a program in its folder, once a person lets it, and return what its terminal is called."""
        where = await self._threads.run(partial(inside, self._folder, cwd or "."))
        shown_argv, names = line_of(shlex.join(argv)), sorted(env)
        arguments = shown_input({"argv": [*argv], "cwd": str(where), "env": [*names]})
        detail: dict[str, JsonValue] = {"tool": "execute", "title": shown_argv, "arguments": arguments}
        said = await self._allowed(f"{self._name} asks to run {shown_argv}", [ALLOW_ONCE, REJECT_ONCE], detail)
        if said not in ALLOWS:
            raise OutOfBounds(f"a person did not allow to run {shown_argv:.200}")
        self._record(f"run {shown_argv}"[:200], arguments, is_tool=True)
        return await self.terminals.create(argv, cwd=where, env=env, most_bytes=most_bytes)


def line_of(text: str) -> str:
    """Return what an agent calls something: its command line can hold a key that it got from the environment."""
    return without_secrets(clean(text))


def json_or_none(value: Any) -> JsonValue:
    """Return what an agent sends as plain JSON; None where it is none that can be kept."""
    try:
        return json_value(value)
    except EngineError:
        return None


def _digest(text: str) -> str:
    return f"{len(text):,} characters, sha256 {sha256(text.encode(errors='replace')).hexdigest()[:16]}"


def cut(text: str) -> str:
    """Return a text, or its beginning with how long it is."""
    text = clean(text)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}\n[cut; {len(text):,} characters in all]"


def diff(path: str, old: str, new: str) -> JsonValue:
    """Return a diff as git shows it; of what is very long, that it is."""
    if len(old) + len(new) > 50 * MOST_TEXT:
        return {"path": clean(path), "diff": f"[{len(old):,} characters before, {len(new):,} after]"}
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"a/{path}", f"b/{path}", lineterm="")
    return {"path": clean(path), "diff": cut("\n".join(lines))}
