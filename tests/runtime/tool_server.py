"""A tool server with every shape of misbehaviour.

    python tests/runtime/tool_server.py stdio [MISBEHAVIOUR] [NOTES]
    python tests/runtime/tool_server.py http [MISBEHAVIOUR] [NOTES]

Over HTTP it is the package's own server, and the first line on standard output is the address. Over pipes it writes its
messages by hand: the package takes 0.7 seconds of processor time to import, and the other end checks each message by
the package. Each start and each call is a line in the file NOTES.
"""

import base64
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROTOCOL, MISBEHAVIOUR = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
NOTES = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(os.devnull)


def note(text: str) -> None:
    with NOTES.open("a") as file:
        file.write(f"{text}\n")


note(f"start {os.getpid()}")
if MISBEHAVIOUR == "exits":
    sys.exit("no configuration")
if MISBEHAVIOUR == "silent":
    time.sleep(3600)
if MISBEHAVIOUR == "endless":
    sys.stdout.write("x" * 100_000_000)


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
def echo(text: str) -> str:
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


def main() -> None:
    if MISBEHAVIOUR == "garbage":
        print('Welcome!\n{"jsonrpc": 5}\n\x00\xff[]', flush=True)
    if PROTOCOL == "stdio":
        for line in sys.stdin:
            asked = json.loads(line)
            if "id" in asked:
                threading.Thread(target=answer, args=(asked,), daemon=True).start()
    else:
        over_http()


def answer(asked: dict[str, Any]) -> None:
    """Answer a request; in a thread, so that one that takes its time keeps no other waiting."""
    method, params = asked["method"], asked.get("params", {})
    said: dict[str, Any] = {"error": {"code": -32601, "message": f"no method {method}"}}
    if method == "initialize":
        names = {"serverInfo": {"name": "tools of the tests", "version": "1"}, "capabilities": {"tools": {}}}
        said = {"result": {"protocolVersion": params["protocolVersion"], **names}}
    elif method == "tools/list":
        note("list")
        if MISBEHAVIOUR == "lists once in vain" and NOTES.read_text().count("list") == 1:
            return
        said = {"result": {"tools": [described(name, function) for name, function in TOOLS.items()]}}
    elif method == "tools/call":
        said = {"result": called(params["name"], params.get("arguments") or {})}
    # In one write: another thread answers at the same time.
    os.write(1, (json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}) + "\n").encode())


def described(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    takes = {key: kind for key, kind in function.__annotations__.items() if key != "return"}
    schema = {"type": "object", "properties": {key: {"type": TYPES[kind]} for key, kind in takes.items()}}
    description = DESCRIPTIONS.get(name, function.__doc__)
    return {"name": name, "description": description, "inputSchema": {**schema, "required": [*takes]}}


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
        """Tell whether a request has the header that it should have."""
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


if __name__ == "__main__":
    main()
