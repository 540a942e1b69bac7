"""The conversation with a program in the JSON Lines protocol: records steps, asks questions, passes on messages."""

from contextlib import suppress

import anyio
import msgspec
from anyio.abc import TaskGroup

from engine.children.child import Child
from engine.core.records.records import JsonValue
from engine.errors import AttemptInterrupted, EngineError
from engine.runtimes.attempts.steering import STEERED, turn_of
from engine.runtimes.attempts.work import Work
from engine.runtimes.programs import lines
from engine.runtimes.programs.attempt_program import AttemptProgram
from engine.runtimes.values import Amounts, clean, json_value, usage_of

EXIT_TIMEOUT_S = 5.0
"""How long a program may take to exit after its result."""
CLEANUP_TIMEOUT_S = 1.5
"""How long it may take to exit after a `cancel` line, before it gets a signal."""
STEP = "step:"
"""Prefix of the keys of its steps."""
MAX_PENDING_REQUESTS = 100
"""Open questions of a program."""
MAX_LINES = 1_000_000
"""Lines of an attempt."""
MAX_STEPS = 100_000
"""Steps of an attempt, each of which is journaled."""


class TooManyQuestions(EngineError):
    """A program asked too many questions without waiting for answers."""

    retryable = False


class LineTooLong(EngineError):
    """A line of a program, or its whole text, exceeds `output_bytes`."""

    retryable = False


class TooManyLines(EngineError):
    """A program wrote too many lines or steps."""

    retryable = False


class JsonlConversation:
    """The conversation with a program.

    Args:
        attempt_program: Stops the program.
        most_bytes: Limit on a line, and on the whole text, in bytes.
    """

    def __init__(self, work: Work, program: Child, attempt_program: AttemptProgram, most_bytes: int) -> None:
        self._work = work
        self._program = program
        self._attempt_program = attempt_program
        self._most_bytes = most_bytes
        self._text: list[str] = []
        self._text_bytes = 0
        self._steps = 0
        self.result: JsonValue = None
        self.has_result = False
        """`result` is its output; otherwise `text` is."""
        self._open_questions = 0
        """Questions that wait for an answer."""
        self._step_began_ms = work.attempt.now_ms()
        self._steered = anyio.Event()

    @property
    def text(self) -> str:
        """Its text so far, without trailing line ends."""
        return "".join(self._text).rstrip("\r\n")

    async def greet(self) -> None:
        """Send the task with its recorded steps, and earlier messages of people."""
        work = self._work
        task = await work.task()
        recorded = [key for key in work.effect.steps if key.startswith(STEP)]
        steps: list[JsonValue] = [
            {"name": _name(key), "output": await work.attempt.recorded_output(key)} for key in recorded
        ]
        inputs: list[JsonValue] = [
            {"agent": item.agent, "title": item.title, "output": item.output} for item in task.inputs
        ]
        fields: dict[str, JsonValue] = {"task_id": task.id, "attempt": task.attempt, "text": task.text}
        fields |= {"request": task.request, "labels": {**task.labels}, "inputs": inputs, "steps": steps}
        await self._program.send(lines.encode("task", **fields))
        for text in await steers_before(work):
            await self._program.send(lines.encode("steer", text=text))
        work.steering.on_steer = lambda now: self._steered.set()
        self._steered.set()  # messages may have arrived meanwhile

    async def cancel(self) -> None:
        """Ask the program to stop, and wait until it exits or times out."""
        await self._program.send(lines.encode("cancel"))
        with self._work.limits.move_on_after(CLEANUP_TIMEOUT_S):
            await self._program.exited.wait()

    async def read(self) -> None:
        """Read its output to the end.

        Raises:
            LineTooLong: If a line, or its text, is too long.
            TooManyLines: If it writes too many lines.
            AttemptInterrupted: If the attempt is asked to stop at its next step, and has reached it.
        """
        failure: BaseException | None = None
        async with anyio.create_task_group() as group:  # errors are raised after it, which would wrap them in a group
            group.start_soon(self._pass_on_steers)
            try:
                while line := await self._line():
                    await self._take(line, group)
            except (AttemptInterrupted, EngineError) as error:
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _pass_on_steers(self) -> None:
        while True:
            await self._steered.wait()
            self._steered = anyio.Event()
            for text in self._work.steering.steers():
                await self._program.send(lines.encode("steer", text=text))

    async def _line(self) -> bytes:
        try:
            line = await self._program.line()
        except ValueError:
            raise LineTooLong(f"it wrote a line of more than {self._most_bytes:,} bytes; see output_bytes") from None
        if self._program.lines_read > MAX_LINES:
            raise TooManyLines(f"it wrote more than {MAX_LINES:,} lines")
        return line

    async def _take(self, line: bytes, group: TaskGroup) -> None:
        try:
            parsed = lines.parse(line)
            if isinstance(parsed, str):
                self._add(parsed)
            else:
                await self._follow(parsed, group)
        except lines.NotUnderstood as error:
            self._add(f"{line.decode(errors='replace').rstrip()} [not understood: {error}]\n")

    async def _follow(self, line: lines.Line, group: TaskGroup) -> None:
        if isinstance(line, lines.TextLine):
            self._add(line.text)
        elif isinstance(line, lines.StepLine):
            await self._record(line)
        elif isinstance(line, lines.UsageLine):
            try:
                self._work.models.spend(usage_of(Amounts(**msgspec.structs.asdict(line))))  # type: ignore[typeddict-item]
            except ValueError as error:
                raise lines.NotUnderstood(str(error)) from None
        elif isinstance(line, lines.AskLine):
            self._open_questions += 1
            if self._open_questions > MAX_PENDING_REQUESTS:
                raise TooManyQuestions(f"it asked more than {MAX_PENDING_REQUESTS} questions at once")
            group.start_soon(self._ask, line)
        else:
            assert isinstance(line, lines.ResultLine)
            self.result = json_value(line.output)
            if not self.has_result:
                self.has_result = True
                self._program.close_input()
                group.start_soon(self._attempt_program.end_soon, EXIT_TIMEOUT_S)

    async def _record(self, line: lines.StepLine) -> None:
        work, name = self._work, clean(line.name)
        self._steps += 1
        if self._steps > MAX_STEPS:
            raise TooManyLines(f"it wrote more than {MAX_STEPS:,} steps")
        began_ms, self._step_began_ms = self._step_began_ms, work.attempt.now_ms()
        step = work.finished_step(
            "code", name, work.attempt.new_key(f"{STEP}{name}"), json_value(line.output), began_ms=began_ms
        )
        is_last = work.attempt.stopping and work.patient  # it was asked to stop before this step
        with suppress(AttemptInterrupted):  # the step is recorded; `AttemptProgram` stops the program
            await work.attempt.record(step)
        if is_last:
            work.attempt.raise_if_stopping()

    async def _ask(self, line: lines.AskLine) -> None:
        work = self._work
        options = [clean(option) for option in line.options]
        key = work.attempt.key("ask", [line.question, *options])
        due_s, default = (line.due_s, line.default) if line.due_s and line.default is not None else (None, None)
        with suppress(AttemptInterrupted):
            answer = await work.questions.ask(key, line.question, options, default, due_s)
            await self._program.send(lines.encode("answer", id=line.id, answer=answer))
        self._open_questions -= 1

    def _add(self, text: str) -> None:
        text = clean(text)
        self._text_bytes += len(text.encode())
        if self._text_bytes > self._most_bytes:
            raise LineTooLong(f"its output is longer than {self._most_bytes:,} bytes; see options.output_bytes")
        self._text.append(text)
        self._work.live.emit(text)


async def steers_before(work: Work) -> list[str]:
    """Return the messages of people to earlier attempts of the task, in order."""
    await work.steering.load_steers()
    turns = [turn_of(key) for key in work.effect.steps if key.startswith(STEERED)]
    return [text for _ in range(max(turns, default=0)) for text in work.steering.steers()]


def _name(key: str) -> str:
    return key.removeprefix(STEP).rsplit(":", 2)[0]
