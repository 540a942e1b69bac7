"""A tool server with every shape of misbehaviour.

    python tests/runtime/tool_server.py stdio [MISBEHAVIOUR] [NOTES]
    python tests/runtime/tool_server.py http [MISBEHAVIOUR] [NOTES]
    python tests/runtime/tool_server.py web [MISBEHAVIOUR] [NOTES]

`stdio` and `web` (HTTP) write messages by hand, and know the table HABITS: what a server may answer to one call. `http`
is the package's own server, which takes 0.7 seconds of processor time to import. Over HTTP the first line on standard
output is the address. Each start and each call is a line in the file NOTES.
"""

import base64
import json
import os
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ARGUMENTS = [*(sys.argv[1:] if __name__ == "__main__" else []), "", "", ""]
PROTOCOL, MISBEHAVIOUR = ARGUMENTS[:2]
NOTES = Path(ARGUMENTS[2] or os.devnull)


def note(text: str) -> None:
    with NOTES.open("a") as file:
        file.write(f"{text}\n")


def begin() -> None:
    note(f"start {os.getpid()}")
    if MISBEHAVIOUR == "exits":
        sys.exit("no configuration")
    if MISBEHAVIOUR == "silent":
        time.sleep(3600)
    if MISBEHAVIOUR == "endless":
        sys.stdout.write("x" * 100_000_000)
    if MISBEHAVIOUR == "garbage":
        os.write(1, b'Welcome!\n{"jsonrpc": 5}\n\x00\xff[]\n{"jsonrpc": "2.0", "id": 990, "result": {}}\n')


@dataclass(frozen=True)
class Habit:
    """What a server sends in place of the answer to a call."""

    answer: bytes | Callable[[], bytes]
    """Its messages, a line each; `ID` stands for the id of the call."""
    outcome: str
    """A part of what the caller gets: of the result, or of the error."""
    is_error: bool = True
    status: int = 200
    """The status over HTTP; over pipes there is none, and the habit is left out where it has another."""


def result(body: str) -> bytes:
    return b'{"jsonrpc": "2.0", "id": ID, "result": %s}' % body.encode()


def text(words: str) -> bytes:
    return result('{"content": [{"type": "text", "text": ' + words + "}]}")


UNUSABLE = "the server has ended the call, but its answer cannot be used: "
FORGETS = "the server does not know its session any more"
HUGE = 33 * 1024 * 1024

HABITS: dict[str, Habit] = {
    "odd characters": Habit(text('"\u2028 \u2029 \x85 \\u0000 😀"'), "😀", is_error=False),
    "not UTF-8": Habit(text('"bad"').replace(b"bad", b"\xff\xfe"), f"{UNUSABLE}it is not UTF-8 at byte 7"),
    "lone surrogate": Habit(text('"\\ud800"'), f"{UNUSABLE}it is not JSON: "),
    "deep": Habit(result('{"content": %s}' % ("[" * 50_000 + "]" * 50_000)), f"{UNUSABLE}it is not JSON: recursion"),
    "deep, id last": Habit(
        b'{"result": {"content": %s}, "id": ID}' % (b"[" * 50_000 + b"]" * 50_000),
        f"{UNUSABLE}it is not JSON: recursion",
    ),
    "cut": Habit(b'{"jsonrpc": "2.0", "id": ID, "result": {"content": [}}', f"{UNUSABLE}it is not JSON: "),
    "huge": Habit(lambda: text('"%s"' % ("x" * HUGE)), f"{UNUSABLE}it is too large: more than 32 MB"),
    "many blocks": Habit(
        lambda: result(json.dumps({"content": [{"type": "text", "text": "x"}] * 1_001})),
        f"{UNUSABLE}it has more than 1,000",
    ),
    "no version": Habit(b'{"id": ID, "result": {"content": []}}', f"{UNUSABLE}it is no message of the protocol"),
    "no result": Habit(b'{"jsonrpc": "2.0", "id": ID, "result": null}', f"{UNUSABLE}it is no message of the protocol"),
    "content null": Habit(result('{"content": null}'), f"{UNUSABLE}it does not follow the protocol (content: "),
    "no content": Habit(result("{}"), f"{UNUSABLE}it does not follow the protocol (content: "),
    "unknown block": Habit(result('{"content": [{"type": "smell"}]}'), f"{UNUSABLE}it does not follow the protocol ("),
    "empty": Habit(result('{"content": []}'), "", is_error=False),
    "structured alone": Habit(result('{"structuredContent": {"a": [1, null]}}'), '{"a": [1, null]}', is_error=False),
    "no number": Habit(
        result('{"content": [], "structuredContent": {"a": NaN}}'),
        f"{UNUSABLE}its structured content is no JSON: a is nan, which",
    ),
    "id as text": Habit(text('"well"').replace(b"ID", b'"ID"'), "well", is_error=False),
    "id null": Habit(b'{"jsonrpc": "2.0", "id": null, "error": {"code": 1, "message": "which?"}}', "which?"),
    "twice": Habit(text('"first"') + b"\n" + text('"second"'), "first", is_error=False),
    "error": Habit(b'{"jsonrpc": "2.0", "id": ID, "error": {"code": -32603, "message": "no disk"}}', "no disk"),
    "error of no words": Habit(
        b'{"jsonrpc": "2.0", "id": ID, "error": {"code": 7, "message": ""}}',
        "the server reports error 7, and does not say",
    ),
    "error without a message": Habit(
        b'{"jsonrpc": "2.0", "id": ID, "error": {"code": 7}}', f"{UNUSABLE}it is no message"
    ),
    "failure of no words": Habit(result('{"content": [], "isError": true}'), "the tool failed, and does not say why"),
    "log and progress": Habit(
        b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}\n'
        b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": ID, "progress": 1}}\n'
        b'{"jsonrpc": "2.0", "method": "notifications/unknown"}\n' + text('"well"'),
        "well",
        is_error=False,
    ),
    "requests": Habit(
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n{"jsonrpc": "2.0", "id": 2, "method": "roots/list"}\n'
        b'{"jsonrpc": "2.0", "id": 3, "method": "no/such"}\n' + text('"well"'),
        "well",
        is_error=False,
    ),
    "new tools": Habit(
        b'{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n' + text('"well"'), "well", is_error=False
    ),
    "500": Habit(b"Traceback", "the server answered with status 500 Internal Server Error", status=500),
    "429": Habit(b"", "the server answered with status 429 Too Many Requests", status=429),
    "400 with an error": Habit(
        b'{"jsonrpc": "2.0", "id": ID, "error": {"code": -32602, "message": "no such file"}}',
        "no such file",
        status=400,
    ),
    "accepted": Habit(b"", "202 Accepted", status=202),
    "404 for ever": Habit(b"", f"{FORGETS} (status 404)", status=404),
}
ONCE = {"404 once": 404, "410 once": 410, "400 once": 400}
"""Calls that forget the session as a restart does, with the status that tells; the repeated call is answered."""
GATEWAYS = {"502": 502, "504": 504}
"""Calls of which a gateway says that it has lost the server, with its status."""

TOOLS: dict[str, Callable[..., Any]] = {}
DESCRIPTIONS = {"write": os.environ.get("WRITE_SAYS", "Write a line.")}
TYPES = {int: "integer", float: "number", str: "string"}


def tool(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add_to_them(function: Callable[..., Any]) -> Callable[..., Any]:
        return TOOLS.setdefault(name, function)

    return add_to_them


@tool("add")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    note(f"add {a} {b}")
    return a + b


@tool("echo")
def echo(text: str = "nothing said") -> str:
    """Say what it is told."""
    return text


@tool("write")
def write(line: str) -> str:
    note(f"write {line}")
    if MISBEHAVIOUR == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return "written"


@tool("environment")
def environment() -> dict[str, str]:
    """Return all that it has been given."""
    return dict(os.environ)


@tool("fails")
def fails(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@tool("slow")
def slow(seconds: float) -> str:
    """Take its time."""
    note("slow")
    time.sleep(seconds)
    return "at last"


@tool("huge")
def huge(characters: int) -> str:
    """Say a lot."""
    return "x" * characters


@tool("picture")
def picture() -> Any:
    """Return something that is no text."""
    data = base64.b64encode(b"\x89PNG").decode()
    return [{"type": "image", "data": data, "mimeType": "image/png"}, {"type": "text", "text": "a picture"}]


@tool("odd name!")
def odd() -> str:
    """Have a name that no provider takes."""
    return "odd"


@tool("habit")
def habit(name: str) -> str:
    """Answer as the table says."""
    return name


def main() -> None:
    begin()
    {"stdio": over_pipes, "http": over_http, "web": over_web}[PROTOCOL]()


def over_pipes() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked and "method" in asked:
            threading.Thread(target=answer, args=(asked,), daemon=True).start()


def answer(asked: dict[str, Any]) -> None:
    """Answer a request; in a thread, so that one that takes its time keeps no other waiting."""
    data = answered(asked)
    while data:  # at once, because another thread answers at the same time
        data = data[os.write(1, data) :]


def answered(asked: dict[str, Any]) -> bytes:
    """Return the messages that answer a request, a line each."""
    method, params = asked["method"], asked.get("params", {})
    said: dict[str, Any] = {"error": {"code": -32601, "message": f"no method {method}"}}
    if method == "initialize":
        names = {"serverInfo": {"name": "tools of the tests", "version": "1"}, "capabilities": {"tools": {}}}
        said = {"result": {"protocolVersion": params["protocolVersion"], **names}}
    elif method == "tools/list":
        note("list")
        if MISBEHAVIOUR == "lists once in vain" and NOTES.read_text().count("list") == 1:
            return b""
        said = {"result": listed(params)}
    elif method == "tools/call" and (habit := HABITS.get(str((params.get("arguments") or {}).get("name")))):
        note(f"habit {params['arguments']['name']}")
        answer = habit.answer if isinstance(habit.answer, bytes) else habit.answer()
        return answer.replace(b"ID", str(asked["id"]).encode()) + b"\n"
    elif method == "tools/call":
        said = {"result": called(params["name"], params.get("arguments") or {})}
    return (json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}) + "\n").encode()


def listed(params: dict[str, Any]) -> dict[str, Any]:
    """Return a page of tools; some as servers should not describe them."""
    tools = [described(name, function) for name, function in TOOLS.items()]
    if MISBEHAVIOUR != "lists oddly":
        return {"tools": tools}
    bomb = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(x+x+)+y"}}}
    odd: list[Any] = [
        {"name": "no type", "inputSchema": {}},
        {"name": "no schema"},
        "no tool",
        {"name": "null", "inputSchema": None},
    ]
    return {"tools": [*tools, *odd, {**tools[0], "outputSchema": bomb}], "nextCursor": "for ever"}


def described(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    takes = {key: kind for key, kind in function.__annotations__.items() if key != "return"}
    last = len(takes) - len(function.__defaults__ or ())
    defaults = {key: {"default": each} for key, each in zip([*takes][last:], function.__defaults__ or (), strict=True)}
    parts = {key: {"type": TYPES[kind], **defaults.get(key, {})} for key, kind in takes.items()}
    schema = {"type": "object", "properties": parts, "required": [key for key in takes if key not in defaults]}
    description = DESCRIPTIONS.get(name, function.__doc__)
    return {"name": name, "description": description, "inputSchema": schema}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        found = TOOLS[name](**arguments)
    except Exception as error:
        return {"content": [{"type": "text", "text": f"Error executing tool {name}: {error}"}], "isError": True}
    if isinstance(found, list):
        return {"content": found}
    text = found if isinstance(found, str) else json.dumps(found, indent=2)
    return {"content": [{"type": "text", "text": text}]}


def over_http() -> None:
    import socket

    import uvicorn
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context

    def is_authorized(context: Context[Any, Any]) -> str:
        """Return whether a request has the header that it should have."""
        return "yes" if (context.headers or {}).get("x-token") == os.environ.get("WEB_TOKEN") else "no"

    server = MCPServer("tools of the tests")
    for name, function in {**TOOLS, "is_authorized": is_authorized}.items():
        server.tool(name=name)(function)

    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
        bound.listen()
        print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="error")
        uvicorn.Server(config).run(sockets=[bound])


class Web(BaseHTTPRequestHandler):
    """One request to the server at an address; MISBEHAVIOUR "events" answers with streams of events."""

    protocol_version = "HTTP/1.1"
    sessions: set[str | None] = set()  # noqa: RUF012 - of the one server

    def log_message(self, *words: Any) -> None:
        """Say nothing."""

    def reply(self, status: int, data: bytes = b"", kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.reply(405)

    def do_DELETE(self) -> None:
        self.reply(200)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in asked or "method" not in asked:
            self.reply(202)
            return
        if asked["method"] == "initialize":
            session = uuid.uuid4().hex
            self.sessions.add(session)
            note("session")
            self.reply(200, answered(asked).strip(), Mcp_Session_Id=session)
            return
        name = (asked.get("params", {}).get("arguments") or {}).get("name")
        if name in ONCE and f"forgets {name}" not in NOTES.read_text():
            note(f"forgets {name}")
            self.sessions.clear()
            error = {"code": -32001, "message": "Session not found"}
            body = {"jsonrpc": "2.0", "id": asked["id"], "error": error}
            self.reply(ONCE[name], json.dumps(body).encode())
        elif self.headers["Mcp-Session-Id"] not in self.sessions:
            self.reply(404, b"Session not found", "text/plain")
        elif name in GATEWAYS:
            note(f"habit {name}")
            self.reply(GATEWAYS[name], b"<html>", "text/html")
        elif name in HABITS and HABITS[name].status != 200:
            self.reply(HABITS[name].status, answered(asked).strip())
        elif MISBEHAVIOUR == "events":
            lines = answered(asked).split(b"\n")[:-1]
            self.reply(
                200, b"".join(b"event: message\r\ndata: " + line + b"\r\n\r\n" for line in lines), "text/event-stream"
            )
        else:
            self.reply(200, answered(asked).strip())


def over_web() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Web)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
