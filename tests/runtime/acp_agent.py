"""An agent that speaks the Agent Client Protocol, as a program: it does what the prompt says.

It writes the messages by hand: the package takes 0.7 seconds of processor time to import, and the other end of the line
checks each message by the package. The first argument is a file where it writes down what it was asked; the second one
what it is like.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

LOG = Path(sys.argv[1])
LIKE = sys.argv[2] if len(sys.argv) > 2 else ""
HANGS_S = 1000


def note(**what: Any) -> None:
    with LOG.open("a") as file:
        file.write(json.dumps(what) + "\n")


def prompts() -> int:
    return LOG.read_text().count('"prompt"')


class Refused(Exception):
    """An error of the protocol: one that we were answered with, or one to answer with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


class Agent:
    def __init__(self) -> None:
        self._numbers = count()
        self.cancelled = False

    def write(self, **message: Any) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def read(self) -> dict[str, Any]:
        """Return the next message, once a cancellation is noted; nobody is left to work for at the end of the input."""
        line = sys.stdin.readline()
        if not line:
            sys.exit()
        message: dict[str, Any] = json.loads(line)
        if message.get("method") == "session/cancel":
            note(cancel=message["params"]["sessionId"])
            self.cancelled = True
        return message

    def ask(self, method: str, **params: Any) -> Any:
        """Ask the other side, and wait for its answer."""
        number = next(self._numbers)
        self.write(id=number, method=method, params={"sessionId": "s1", **params})
        while (said := self.read()).get("id") != number or "method" in said:
            pass
        if "error" in said:
            raise Refused(said["error"]["code"], said["error"]["message"])
        return said["result"]

    def serve(self) -> None:
        while True:
            asked = self.read()
            if "method" in asked and "id" in asked:
                try:
                    answer = getattr(self, asked["method"].replace("/", "_"))(asked["params"])
                except Refused as refused:
                    self.write(id=asked["id"], error=refused.error)
                else:
                    self.write(id=asked["id"], result=answer)

    def initialize(self, params: Any) -> Any:
        note(initialize=params["clientCapabilities"])
        if LIKE == "silent":
            time.sleep(HANGS_S)
        if LIKE in NO_HELLO:
            return NO_HELLO[LIKE]
        return {
            "protocolVersion": 7 if LIKE == "newer" else params["protocolVersion"],
            "agentCapabilities": {
                "loadSession": LIKE == "loads",
                "mcpCapabilities": {"http": LIKE == "http"},
                "sessionCapabilities": {"resume": {} if LIKE == "resumes" else None},
            },
            "authMethods": [{"id": "web", "name": "Log in in the browser"}],
        }

    def session_new(self, params: Any) -> Any:
        note(new_session=params["cwd"], servers=params["mcpServers"])
        if LIKE == "login":
            raise Refused(-32000, "Authentication required")
        return {"sessionId": "s1"}

    def session_load(self, params: Any) -> Any:
        note(load_session=params["sessionId"], servers=params["mcpServers"], cwd=params["cwd"])
        self.say("what was said before")
        return {}

    def session_resume(self, params: Any) -> Any:
        note(resume_session=params["sessionId"], servers=params["mcpServers"], cwd=params["cwd"])
        return {}

    def session_prompt(self, params: Any) -> Any:
        text = params["prompt"][0]["text"]
        note(prompt=text)
        lines = [line for line in text.splitlines() if line in HABITS or hasattr(self, "do_" + line)]
        if not lines:
            return self.answer_again(text)
        if lines[-1] in HABITS:
            return HABITS[lines[-1]](self)
        stop = getattr(self, "do_" + lines[-1])()
        usage = {"totalTokens": 17, "inputTokens": 10, "outputTokens": 5, "cachedReadTokens": 2}
        return {"stopReason": stop or "end_turn", "usage": usage}

    def answer_again(self, text: str) -> Any:
        """Do as an agent that is told that its answer does not fit."""
        self.say('{"depth": 4}' if LIKE == "repairs" else "still no JSON")
        return {"stopReason": "end_turn"}

    def update(self, event: str, /, **what: Any) -> None:
        update = {"sessionUpdate": event, **what}
        self.write(method="session/update", params={"sessionId": "s1", "update": update})

    def say(self, text: str, event: str = "agent_message_chunk") -> None:
        self.update(event, content={"type": "text", "text": text})

    def plan(self, status: str) -> None:
        self.update("plan", entries=[{"content": "Read", "priority": "medium", "status": status}])

    def do_work(self) -> None:
        self.say("Let me see.", "agent_thought_chunk")
        self.say("I look ")
        self.say("around.")
        self.plan("in_progress")
        path = "reef.txt"
        self.update("tool_call", toolCallId="c1", title=f"Edit {path}", kind="edit", rawInput={"path": path})
        diff = {"type": "diff", "path": path, "newText": "new\nsame\n", "oldText": "old\nsame\n"}
        self.update("tool_call_update", toolCallId="c1", status="completed", content=[diff])
        self.plan("completed")
        self.update("usage_update", used=5, size=10, cost={"amount": 0.1, "currency": "USD"})
        self.update("usage_update", used=5, size=10, cost={"amount": 0.3, "currency": "USD"})
        self.say("Done.")

    def do_depth(self) -> None:
        self.say("I measure.")
        self.update("tool_call", toolCallId="m1", title="Measure", kind="read", status="completed")
        self.say('{"depth"')
        self.say(": 4}")

    def do_many(self) -> None:
        for number in range(4):
            self.update("tool_call", toolCallId=f"c{number}", title=f"Call {number}")
        for number in (0, 2, 3):
            self.update("tool_call_update", toolCallId=f"c{number}", status="completed")

    def do_edit_asked(self, *kinds: str) -> None:
        call = {"toolCallId": "e1", "title": "Edit reef.txt", "kind": "edit", "rawInput": {"path": "reef.txt"}}
        diff = {"type": "diff", "path": "reef.txt", "newText": "coral = 2\n", "oldText": "coral = 1\n"}
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in kinds or ("allow_once",)]
        self.update("tool_call", **call)
        outcome = self.ask("session/request_permission", toolCall={**call, "content": [diff]}, options=options)
        self.update("tool_call_update", toolCallId="e1", status="completed", content=[diff])
        self.say(outcome["outcome"]["optionId" if kinds else "outcome"])

    def do_edit_asked_with_a_choice(self) -> None:
        self.do_edit_asked("allow_always", "reject_once", "allow_once")

    def do_tell_session(self) -> None:
        self.say(json.dumps([one["name"] for one in json.loads(LOG.read_text().splitlines()[1])["servers"]]))

    def do_tell_prompt(self) -> None:
        self.say(json.loads(LOG.read_text().splitlines()[-1])["prompt"])

    def do_leave_file(self) -> None:
        Path("left.txt").write_text("left")

    def do_late(self) -> None:
        self.update(
            "tool_call", toolCallId="l1", title="Terminal", kind="execute", status="pending", rawInput={"cwd": "."}
        )
        self.update("tool_call_update", toolCallId="l1", title="ls reef", rawInput={"command": "ls reef"})
        self.update("tool_call_update", toolCallId="l1", status="completed")

    def do_measure(self) -> None:
        self.say("It is deep: ")
        self.update("tool_call", toolCallId="m1", title="Measure", kind="read", status="completed")
        self.say('{"depth": "deep"}')

    def do_ask(self) -> None:
        options = [
            {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
            {"optionId": "all", "name": "Always", "kind": "allow_always"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]
        line = "rm -r reef"
        kind = LIKE.removeprefix("kind:") if LIKE.startswith("kind:") else "execute"
        call = {"toolCallId": "c9", "title": line, "kind": kind or None, "rawInput": {"command": line}}
        self.say(json.dumps(self.ask("session/request_permission", toolCall=call, options=options)["outcome"]))

    def do_ask_otherwise(self) -> None:
        """Ask leave for what was announced as a change, with a kind that the protocol does not know."""
        call = {"toolCallId": "c9", "title": "Move the reef", "rawInput": {}}
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "allow_always")]
        self.update("tool_call", **call, kind="edit")
        outcome = self.ask("session/request_permission", toolCall={**call, "kind": "teleport"}, options=options)
        self.say(json.dumps(outcome["outcome"]))

    def do_edit(self, lines: int = 3_000) -> None:
        """Ask leave for a change of a file that is long, and has the environment's token at its end."""
        text = "".join(f"line {number} of the reef\n" for number in range(lines)) + os.environ["ACP_TOKEN"]
        kinds = ("allow_once", "allow_always", "reject_once", "reject_always")
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in kinds]
        diff = {"type": "diff", "path": "reef.txt", "oldText": "", "newText": text}
        call = {"toolCallId": "c8", "title": "Write reef.txt", "kind": "edit", "content": [diff]}
        try:
            self.say(json.dumps(self.ask("session/request_permission", toolCall=call, options=options)["outcome"]))
        except Refused as refused:
            self.say(str(refused))

    def do_edit_all(self) -> None:
        self.do_edit(60_000)

    def do_wait(self) -> str:
        self.say("waiting")
        while not self.cancelled:
            self.read()
        self.cancelled = False
        self.say(", and stopped")
        return "cancelled"

    def do_deaf(self) -> None:
        self.say("deaf")
        time.sleep(HANGS_S)

    def do_hang_once(self) -> None:
        self.say("begun")
        if prompts() == 1:
            time.sleep(HANGS_S)
        self.say(", done")

    def do_leave(self) -> None:
        self.say("x")
        print("no space left", file=sys.stderr, flush=True)
        os._exit(3)

    def do_quit(self) -> None:
        os._exit(0)

    def do_mute(self) -> None:
        os.close(1)
        time.sleep(HANGS_S)

    def do_garbage(self) -> None:
        lines = ["no json", "[1]", '{"id": [1], "result": 0}', '{"method": 5}', '{"id": 99, "result": {}}', '{"a": 1}']
        lines += ['{"method": "session/update", "params": {"sessionId": 5}}', '{"jsonrpc": "2.0", "id": 0, "error": 3}']
        os.write(1, ("\n".join(lines) + "\n\xff\n").encode("latin-1"))
        self.say("fine")

    def do_refuse(self) -> str:
        return "refusal"

    def do_error(self) -> None:
        raise Refused(-32603, "Internal error", {"details": "the model is gone"})

    def do_files(self) -> None:
        found = []
        for path in ("reef.txt", "../outside.txt", "link.txt", "/etc/hostname"):
            try:
                found.append(self.ask("fs/read_text_file", path=path)["content"])
            except Refused as error:
                found.append(f"refused: {error}")
        self.say("|".join(found))

    def do_write(self) -> None:
        try:
            self.ask("fs/write_text_file", path="below/new.txt", content="written\n")
            self.say("written")
        except Refused as error:
            self.say(f"refused: {error}")

    def do_terminal(self) -> None:
        try:
            made = self.ask("terminal/create", command="sh", args=["-c", "pwd; echo oh >&2; exit 4"])
            ended = self.ask("terminal/wait_for_exit", **made)
            said = self.ask("terminal/output", **made)
            self.ask("terminal/release", **made)
            self.say(json.dumps([ended["exitCode"], said["exitStatus"]["exitCode"], sorted(said["output"].split())]))
            slow = self.ask("terminal/create", command="sleep", args=["1000"])
            self.ask("terminal/kill", **slow)
            self.say(f"|{self.ask('terminal/output', **slow)['exitStatus']['signal']}")
            self.ask("terminal/create", command="sleep", args=["1000"], cwd="/")
        except Refused as error:
            self.say(f"|refused: {error}")

    def raw(self, *lines: str | bytes) -> None:
        """Write lines as they are."""
        for line in lines:
            os.write(1, (line if isinstance(line, bytes) else line.encode()) + b"\n")

    def flood(self, line: bytes) -> None:
        """Write a line until nobody reads any more."""
        with contextlib.suppress(BrokenPipeError):
            while True:
                os.write(1, line * 1000)
        os._exit(0)

    def answer_early(self) -> Any:
        """Answer the prompt, and return the answer, which is sent as well."""
        self.say("done")
        self.raw(json.dumps({"jsonrpc": "2.0", "id": 2, "result": END}))
        return END

    def permission(self, count: int = 1, **call: Any) -> Any:
        """Ask for leave without waiting for an answer, and say how that is answered."""
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        params = {"sessionId": "s1", "options": call.pop("options", options), "toolCall": {"toolCallId": "p1", **call}}
        for number in range(count):
            self.write(id=f"p{number}", method="session/request_permission", params=params)
        answers = [self.read() for _ in range(1 if count == 1 else count - 100)]
        self.say("|".join(str(one.get("error", {}).get("message") or one["result"]["outcome"]) for one in answers[:1]))
        return END


END = {"stopReason": "end_turn"}
NO_HELLO = {
    "hello is a list": [1],
    "hello without a version": {"agentCapabilities": {}},
    "hello with a version in words": {"protocolVersion": "one"},
}
"""Answers to `initialize` that are none."""


def _update(**update: Any) -> str:
    params = {"sessionId": "s1", "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})


def _call(**call: Any) -> str:
    return _update(**{"sessionUpdate": "tool_call", "toolCallId": "o1", "title": "Look", **call})


def _done(agent: Agent, *lines: str | bytes, answer: Any = END) -> Any:
    """Write lines, say that it is done, and return the answer to the prompt."""
    agent.raw(*lines)
    agent.say("done")
    return answer


NO_NUMBER = _update(sessionUpdate="usage_update", used=1, size=2, cost={"amount": 5, "currency": "USD"}).replace(
    "5,", "NaN,"
)
NO_KIND = {"optionId": "a", "name": "A", "kind": "maybe"}
DEEP = "[" * 100_000 + "]" * 100_000
HABITS: dict[str, Callable[[Agent], Any]] = {
    "an update of an unknown sort": lambda it: _done(it, _update(sessionUpdate="weather", sky="blue")),
    "an unknown notification": lambda it: _done(it, '{"jsonrpc": "2.0", "method": "x/y", "params": null}'),
    "an unknown request": lambda it: _done(it, '{"jsonrpc": "2.0", "id": "q", "method": "x/y", "params": {}}'),
    "an unknown kind of tool": lambda it: _done(it, _call(kind="teleport", status="completed")),
    "a call that ends and never began": lambda it: _done(
        it, _update(sessionUpdate="tool_call_update", toolCallId="never", status="completed")
    ),
    "a call that ends twice": lambda it: _done(it, _call(status="completed"), _call(status="completed")),
    "a call nested deep": lambda it: _done(it, _call(rawInput={"x": 0}).replace("0}", DEEP + "}")),
    "a call with a million values": lambda it: _done(it, _call(rawInput=[0] * 1_000_000, status="completed")),
    "a call with half a character": lambda it: _done(it, _call(title="\ud800", status="completed")),
    "bytes that are no UTF-8": lambda it: _done(it, b"\xff\xfe"),
    "an update with bytes that are no UTF-8": lambda it: _done(it, _call(title="X").encode().replace(b"X", b"\xff")),
    "answers nobody waits for": lambda it: _done(it, *['{"jsonrpc": "2.0", "id": 77, "result": {}}'] * 3),
    "an answer twice": lambda it: it.answer_early(),
    "no stop reason": lambda it: _done(it, answer={}),
    "an unknown stop reason": lambda it: _done(it, answer={"stopReason": "tired"}),
    "null as an answer": lambda it: _done(it, answer=None),
    "usage in words": lambda it: _done(it, answer={**END, "usage": {"inputTokens": "many"}}),
    "usage below zero": lambda it: _done(
        it, answer={**END, "usage": {"totalTokens": -1, "inputTokens": -5, "outputTokens": 4}}
    ),
    "usage under _meta": lambda it: _done(it, answer={**END, "_meta": {"usage": {"inputTokens": 3}}}),
    "money that is no number": lambda it: _done(it, NO_NUMBER),
    "leave with options of no kind": lambda it: it.permission(options=[{**NO_KIND}]),
    "leave without options": lambda it: it.permission(options=[]),
    "leave for a call with a million values": lambda it: it.permission(rawInput=[0] * 1_000_000),
    "leave for two hundred calls at once": lambda it: it.permission(200, kind="edit"),
    "a line that never ends": lambda it: it.flood(b"x" * 100),
    "lines without end": lambda it: it.flood(b"\n"),
    "messages without end": lambda it: it.flood(b'{"jsonrpc":"2.0","method":"x"}\n'),
    "requests whose answers it does not read": lambda it: it.flood(b'{"jsonrpc":"2.0","id":"z","method":"x"}\n'),
    "dies in the middle": lambda it: os._exit(9),
}
"""What an agent does at a prompt of that name, besides what agents should do: to add an odd habit, add a line."""

Agent().serve()
