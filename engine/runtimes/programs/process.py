"""Runtime `process`: an agent that is a program.

It gets the task on standard input or as its last argument; what it writes is the output, and its exit status the
outcome. asyncio starts it and reads its pipes: a thread for each pipe would cost more and stop no sooner.
See docs/reference/programs.md.
"""

import codecs
from functools import partial
from pathlib import Path

from anyio.lowlevel import checkpoint

from engine.core.code import program_reference
from engine.core.fact import JsonValue
from engine.core.signals import StepFinished
from engine.core.spec import AgentSpec
from engine.errors import AttemptInterrupted, EngineError
from engine.runtimes.base import Runtime
from engine.runtimes.code import Code
from engine.runtimes.programs.attending import CHUNK_BYTES, Attended
from engine.runtimes.programs.environment import check_program, environment
from engine.runtimes.programs.options import ProcessOptions, options_of
from engine.runtimes.programs.place import placed
from engine.runtimes.programs.speaking import Speaking
from engine.runtimes.programs.watched import Program
from engine.runtimes.programs.worktree import repository_of
from engine.runtimes.task import as_text
from engine.runtimes.values import shown_input
from engine.runtimes.work import Work, of_attempt


class OutputTooLong(EngineError):
    """A program wrote more than its agent may."""

    retryable = False


def process_runtime(spec: AgentSpec, code: Code) -> Runtime:
    """Make the runtime of a spec whose options name a program.

    Raises:
        Unusable: If the options are not right; the message names the place.
    """
    return ProcessRuntime(spec, code, options_of(spec, ProcessOptions))


class ProcessRuntime:
    """Run a program for each attempt."""

    def __init__(self, spec: AgentSpec, code: Code, options: ProcessOptions) -> None:
        self._code = code
        self._options = options
        self._reference = program_reference(options.argv, env=options.env, cwd=options.cwd)
        self._name = Path(options.argv[0]).name

    async def check(self) -> None:
        """Look whether the program may be executed, and is there."""
        await self._look(self._code.folder)

    async def execute(self, work: Work) -> JsonValue:
        """Run the program; one that must not run twice as a tool that is called once."""
        if not self._options.once:
            return await self._run(work)
        given = await work.value()
        key = work.key(f"tool:{self._name}", given)
        if work.is_recorded(key):
            return await work.recorded(key)
        await work.tool_began(self._name, key)
        began_ms = work.now_ms()
        try:
            output = await self._run(work)
        except Exception as error:  # a program that fails by itself has an end; one that is cut off has none
            await work.tool_raised(key, error)
            raise
        await work.record(
            StepFinished(
                **of_attempt(work.effect),
                what="tool",
                name=f"tool:{self._name}",
                key=key,
                input=shown_input(given),
                output=output,
                duration_ms=work.now_ms() - began_ms,
                usage=work.take_spent(),
            )
        )
        return output

    async def _look(self, folder: Path) -> tuple[dict[str, str], Path]:
        """Return the environment and the folder of the program, which may be executed and is there.

        Raises:
            Unusable: If it may not, or is not.
        """
        await self._code.locate(self._reference)
        options, env = self._options, environment(self._options.env)
        cwd = folder / options.cwd
        run = self._code.threads.run
        await run(partial(check_program, options.argv[0], cwd=cwd, env=env))
        if options.worktree:
            await run(partial(repository_of, cwd))
        return env, cwd

    async def _run(self, work: Work) -> JsonValue:
        env, cwd = await self._look(work.folder or self._code.folder)
        options, threads = self._options, self._code.threads
        speaks = options.protocol == "jsonl"
        async with placed(work, cwd, threads=threads, worktree=options.worktree, goes_on=speaks) as place:
            output = await (self._spoken if speaks else self._written)(work, env, place.folder)
        return place.with_note(output)

    async def _written(self, work: Work, env: dict[str, str], cwd: Path) -> JsonValue:
        """Return what the program writes."""
        options, text = self._options, as_text(await work.value())
        argv = [*options.argv, text] if options.input == "argument" else options.argv
        said = text.encode(errors="replace") if options.input == "stdin" else b""
        program = await self._code.programs.start(argv, env=env, cwd=cwd)
        attended = Attended(work, program, self._name, self._code.threads)
        talk = _Text(work, program, attended, options.output_bytes)
        await attended.attend(talk.read, partial(_feed, program, said), before=checkpoint)
        return talk.output

    async def _spoken(self, work: Work, env: dict[str, str], cwd: Path) -> JsonValue:
        """Return what the program says that its output is."""
        options = self._options
        program = await self._code.programs.start(options.argv, env=env, cwd=cwd, line_bytes=options.output_bytes)
        attended = Attended(work, program, self._name, self._code.threads)
        speaking = Speaking(work, program, attended, options.output_bytes)
        try:
            await attended.attend(speaking.read, speaking.greet, before=speaking.cancel)
        except AttemptInterrupted:
            if not speaking.has_result:
                raise
        return speaking.output


async def _feed(program: Program, said: bytes) -> None:
    await program.send(said)
    program.close_input()


class _Text:
    """What a program writes, as text."""

    def __init__(self, work: Work, program: Program, attended: Attended, most_bytes: int) -> None:
        self._work = work
        self._program = program
        self._attended = attended
        self._most_bytes = most_bytes
        self._parts: list[str] = []

    @property
    def output(self) -> str:
        """All of it, without the line ends at its end."""
        return "".join(self._parts).rstrip("\r\n")

    async def read(self) -> None:
        """Read and show it as it comes.

        Raises:
            OutputTooLong: If there is more than there may be.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while chunk := await self._program.stdout.read(CHUNK_BYTES):
            self._attended.bytes_read += len(chunk)
            if self._attended.bytes_read > self._most_bytes:
                raise OutputTooLong(f"its output is longer than {self._most_bytes:,} bytes; see options.output_bytes")
            self._add(decoder.decode(chunk))
        self._add(decoder.decode(b"", final=True))

    def _add(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._work.emit(text)
