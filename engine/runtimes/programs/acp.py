"""Runtime `acp`: an agent that speaks the Agent Client Protocol over its standard input and output.

Its turn counts as a tool call that must not run twice: after an interruption the task is in doubt, and a retry resumes
the same session if the agent can. See docs/reference/programs.md.
"""

import importlib
from functools import partial
from pathlib import Path
from typing import Any

from engine.core.queries.team.code import program_reference
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.platform.garbage import importing_package
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.options import options_in
from engine.runtimes.programs.acp_calls import SessionCalls
from engine.runtimes.programs.acp_requests import AcpRequests
from engine.runtimes.programs.acp_servers import session_servers
from engine.runtimes.programs.acp_session import AcpSession
from engine.runtimes.programs.at_most_once import run_once
from engine.runtimes.programs.attempt_program import AttemptProgram
from engine.runtimes.programs.environment import check_acp
from engine.runtimes.programs.options import AcpOptions
from engine.runtimes.programs.place import open_place
from engine.runtimes.programs.preconditions import check_preconditions
from engine.runtimes.typed_output import check_output_schema

MAX_LINE_BYTES = 16_000_000
"""Size of a message, which may contain a whole file."""


def acp_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Create the runtime of a spec whose options name an ACP agent.

    Raises:
        Unusable: If the options are invalid; the message names the place.
    """
    return AcpRuntime(spec, code, options_in(spec, AcpOptions))


class AcpRuntime:
    """Runs an ACP agent for each attempt."""

    def __init__(self, spec: AgentSpec, code: Code, options: AcpOptions) -> None:
        self._spec = spec
        self._code = code
        self._options = options
        self._reference = program_reference(options.argv, env=options.env, cwd=options.cwd)
        self._name = Path(options.argv[0]).name
        self._module: Any = None

    async def check(self) -> None:
        """Check that the agent is trusted and exists, and import the package of the protocol."""
        check_acp()
        await check_output_schema(self._spec)
        await check_preconditions(self._code, self._options, self._reference, self._code.folder)
        self._module = await self._code.threads.run(_import_protocol)

    async def execute(self, work: Work) -> JsonValue:
        """Run the agent, at most once for the task."""
        return await run_once(work, self._name, partial(self._run, work))

    async def _run(self, work: Work) -> JsonValue:
        options, code = self._options, self._code
        env, cwd = await check_preconditions(code, options, self._reference, work.folder or code.folder)
        text, servers = as_text(await work.value()), await session_servers(work, code)
        async with open_place(work, cwd, threads=code.threads, worktree=options.worktree, resume=True) as place:
            program = await code.programs.start(options.argv, env=env, cwd=place.folder, line_bytes=MAX_LINE_BYTES)
            attempt_program = AttemptProgram(work, program, self._name, code.threads)
            calls = SessionCalls(work)
            requests = AcpRequests(
                work,
                calls,
                self._name,
                folder=place.folder,
                threads=code.threads,
                programs=code.programs,
                env=env,
            )
            session = AcpSession(
                work,
                attempt_program,
                calls=calls,
                requests=requests,
                name=self._name,
                folder=place.folder,
                servers=servers,
                threads=code.threads,
            )
            reads, writes = options.fs != "none", options.fs == "write"
            link = self._module.AcpLink(program, session, requests, reads=reads, writes=writes, runs=options.terminal)
            await attempt_program.attend(partial(session.converse, link, text), before=session.cancel)
            session.raise_if_broken()
        return place.with_note(session.text) if work.spec.output is None else session.answer


def _import_protocol() -> Any:
    """Import the protocol, which takes more than a second of processor time."""
    with importing_package():
        return importlib.import_module("engine.runtimes.programs.acp_link")
