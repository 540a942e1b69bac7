"""Runtime `process`: agents that are programs.

The task is passed on standard input or as the last argument; standard output is the output, and the exit status the
outcome. asyncio reads the pipes: a thread for each pipe would cost more and stop no sooner.
See docs/reference/programs.md.
"""

import codecs
from functools import partial
from pathlib import Path
from typing import Any

from engine.children.child import Child
from engine.core.queries.team.code import program_reference
from engine.core.records.records import JsonValue
from engine.core.records.values import as_text
from engine.core.specs.spec import AgentSpec
from engine.errors import AttemptInterrupted, EngineError
from engine.runtimes.attempts.work import Work
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.options import options_in
from engine.runtimes.programs.at_most_once import run_once
from engine.runtimes.programs.attempt_program import AttemptProgram
from engine.runtimes.programs.jsonl_conversation import JsonlConversation
from engine.runtimes.programs.options import ProcessOptions
from engine.runtimes.programs.place import open_place
from engine.runtimes.programs.preconditions import check_preconditions
from engine.runtimes.typed_output import check_output_schema, typed_text, typed_value


class OutputTooLong(EngineError):
    """A program wrote more than `output_bytes`."""

    retryable = False


def process_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Create the runtime of a spec whose options name a program.

    Raises:
        Unusable: If the options are invalid; the message names the place.
    """
    return ProcessRuntime(spec, code, options_in(spec, ProcessOptions))


class ProcessRuntime:
    """Runs a program for each attempt."""

    def __init__(self, spec: AgentSpec, code: Code, options: ProcessOptions) -> None:
        self._spec = spec
        self._code = code
        self._options = options
        self._reference = program_reference(options.argv, env=options.env, cwd=options.cwd)
        self._name = Path(options.argv[0]).name

    async def check(self) -> None:
        """Check that the program is trusted and exists."""
        await check_output_schema(self._spec)
        await check_preconditions(self._code, self._options, self._reference, self._code.folder)

    async def execute(self, work: Work) -> JsonValue:
        """Run the program; with `once`, like a tool that is not idempotent."""
        return await (run_once(work, self._name, partial(self._run, work)) if self._options.once else self._run(work))

    async def _run(self, work: Work) -> JsonValue:
        options, threads = self._options, self._code.threads
        env, cwd = await check_preconditions(self._code, options, self._reference, work.folder or self._code.folder)
        speaks = options.protocol == "jsonl"
        async with open_place(work, cwd, threads=threads, worktree=options.worktree, resume=speaks) as place:
            output = await (self._run_jsonl if speaks else self._run_plain)(work, env, place.folder)
        return output if self._spec.output is not None else place.with_note(output)

    async def _run_plain(self, work: Work, env: dict[str, str], cwd: Path) -> JsonValue:
        """Run a program with plain text output, and return the output."""
        options, text = self._options, as_text(await work.value())
        argv = [*options.argv, text] if options.input == "argument" else options.argv
        data = text.encode(errors="replace") if options.input == "stdin" else b""
        program = await self._code.programs.start(argv, env=env, cwd=cwd)
        attempt_program = AttemptProgram(work, program, self._name, self._code.threads)
        talk = _Text(work, program, options.output_bytes)
        await attempt_program.attend(talk.read, partial(_feed, program, data))
        return await typed_text(work, talk.output, self._code.threads)

    async def _run_jsonl(self, work: Work, env: dict[str, str], cwd: Path) -> Any:
        """Run a program with the JSON Lines protocol, and return its result."""
        options = self._options
        program = await self._code.programs.start(options.argv, env=env, cwd=cwd, line_bytes=options.output_bytes)
        attempt_program = AttemptProgram(work, program, self._name, self._code.threads)
        speaking = JsonlConversation(work, program, attempt_program, options.output_bytes)
        try:
            await attempt_program.attend(speaking.read, speaking.greet, before=speaking.cancel)
        except AttemptInterrupted:
            if not speaking.has_result:
                raise
        if not speaking.has_result:
            return await typed_text(work, speaking.text, self._code.threads)
        return await typed_value(work, speaking.result, self._code.threads)


async def _feed(program: Child, data: bytes) -> None:
    await program.send(data)
    program.close_input()


class _Text:
    """The text output of a program."""

    def __init__(self, work: Work, program: Child, most_bytes: int) -> None:
        self._work = work
        self._program = program
        self._most_bytes = most_bytes
        self._parts: list[str] = []

    @property
    def output(self) -> str:
        """The whole output, without trailing line ends."""
        return "".join(self._parts).rstrip("\r\n")

    async def read(self) -> None:
        """Read and show the output as it comes.

        Raises:
            OutputTooLong: If it exceeds the limit.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await self._program.read():
            if self._program.bytes_read > self._most_bytes:
                raise OutputTooLong(f"its output is longer than {self._most_bytes:,} bytes; see options.output_bytes")
            self._add(decoder.decode(chunk))
        self._add(decoder.decode(b"", final=True))

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._work.live.emit(text)
