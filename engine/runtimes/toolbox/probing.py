"""Starts a tool server, asks for its tools, and ends it again: no attempt uses it."""

from pathlib import Path

import anyio

from engine.children.child import Child
from engine.core.specs.model_spec import McpSpec
from engine.errors import Unusable, first_error
from engine.runtimes.programs.environment import build_environment, check_program
from engine.runtimes.programs.external_programs import Programs
from engine.runtimes.toolbox.mcp_connection import connect, load
from engine.runtimes.toolbox.mcp_records import LastWords, OfferedTool
from engine.runtimes.toolbox.mcp_servers import START_TIMEOUT_S
from engine.runtimes.values import one_line


def probe_server(spec: McpSpec, folder: Path) -> list[str]:
    """Start a trusted server and return the names of its tools. Blocks; not for a thread with an event loop.

    Args:
        folder: Its working folder.

    Raises:
        Unusable: If it does not start, or does not list its tools; one line.
    """
    load()
    return anyio.run(_probe, spec, folder)


async def _probe(spec: McpSpec, folder: Path) -> list[str]:
    programs = Programs()
    try:
        return [tool.name for tool in await offered_tools(spec, folder, programs)]
    finally:
        with anyio.CancelScope(shield=True):
            await programs.close()


async def offered_tools(spec: McpSpec, folder: Path, programs: Programs) -> list[OfferedTool]:
    """Start a trusted server and return its tools; `mcp_connection.load` was called before.

    Raises:
        Unusable: If it does not start, or does not list its tools; one line.
    """
    words = LastWords()

    async def start() -> Child:
        env = build_environment(spec.env)
        check_program(spec.argv[0], cwd=folder, env=env)
        return await programs.start(spec.argv, env=env, cwd=folder)

    try:
        with anyio.fail_after(START_TIMEOUT_S):
            async with connect(spec, start, words) as connection:
                return await connection.tools()
    except TimeoutError:
        raise Unusable(f"it did not answer for {START_TIMEOUT_S:g} s") from None
    except Unusable:
        raise
    except Exception as error:  # a server may break the protocol in any way
        raise Unusable(str(words) or one_line(first_error(error))) from error
