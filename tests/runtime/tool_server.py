"""A server of tools, written with the package's own server side, with every shape of misbehaviour.

    python tests/runtime/tool_server.py stdio [MISBEHAVIOUR] [NOTES]
    python tests/runtime/tool_server.py http [MISBEHAVIOUR] [NOTES]

Over HTTP the first line on standard output is the address. Each start and each call is a line in the file NOTES.
"""

import os
import signal
import sys
import time
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

# After the misbehaviour that needs no server: the package takes 0.7 seconds of processor time to import.
import anyio  # noqa: E402
from mcp.server import MCPServer  # noqa: E402
from mcp.server.mcpserver import Context  # noqa: E402


class Tools(MCPServer):
    async def list_tools(self) -> Any:
        note("list")
        if MISBEHAVIOUR == "lists once in vain" and NOTES.read_text().count("list") == 1:
            await anyio.sleep_forever()
        return await super().list_tools()


server = Tools("tools of the tests")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    note(f"add {a} {b}")
    return a + b


@server.tool()
def echo(text: str) -> str:
    """Say what it is told."""
    return text


@server.tool(name="write", description=os.environ.get("WRITE_SAYS", "Write a line."))
def write(line: str) -> str:
    note(f"write {line}")
    if MISBEHAVIOUR == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return "written"


@server.tool()
def environment() -> dict[str, str]:
    """Return all that it has been given."""
    return dict(os.environ)


@server.tool()
def fails(why: str) -> str:
    """Fail."""
    raise ValueError(why)


@server.tool()
async def slow(seconds: float) -> str:
    """Take its time."""
    note("slow")
    await anyio.sleep(seconds)
    return "at last"


@server.tool()
def huge(characters: int) -> str:
    """Say a lot."""
    return "x" * characters


@server.tool()
def picture() -> Any:
    """Return something that is no text."""
    from mcp.server.mcpserver import Image

    return [Image(data=b"\x89PNG", format="png"), "a picture"]


@server.tool()
def is_authorized(context: Context[Any, Any]) -> str:
    """Tell whether a request has the header that it should have."""
    return "yes" if (context.headers or {}).get("x-token") == os.environ.get("WEB_TOKEN") else "no"


@server.tool(name="odd name!")
def odd() -> str:
    """Have a name that no provider takes."""
    return "odd"


def main() -> None:
    if MISBEHAVIOUR == "garbage":
        print('Welcome!\n{"jsonrpc": 5}\n\x00\xff[]', flush=True)
    if PROTOCOL == "stdio":
        server.run("stdio")
    else:
        over_http()


def over_http() -> None:
    import socket

    import uvicorn

    with socket.socket() as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(("127.0.0.1", int(os.environ.get("PORT", "0"))))
        bound.listen()
        print(f"http://127.0.0.1:{bound.getsockname()[1]}/mcp", flush=True)
        config = uvicorn.Config(server.streamable_http_app(), log_level="error")
        uvicorn.Server(config).run(sockets=[bound])


if __name__ == "__main__":
    main()
