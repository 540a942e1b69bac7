"""A provider process that stands still or ends because of one request: that one fails, others are sent again."""

import math
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from engine.core.specs.model_spec import ModelSpec
from engine.models import bounds
from engine.models.link import Link, RequestFailed
from engine.models.provider_process import ProviderProcess
from engine.models.records import Message, ModelAnswer, ModelRequest
from tests.model_server import ModelServer, Say, model_server
from tests.patience import PATIENCE_S

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells whether a process is stopped"),
]
SILENT_S = 0.5
ENDLESS, SILENT = Say("x " * 10_000_000, piece=2), Say("fine", stall_after=1)


@pytest.fixture(scope="module")
def served() -> Iterator[ModelServer]:
    """One server for all tests of this file."""
    with model_server() as server:
        yield server


@pytest.fixture
def server(served: ModelServer) -> ModelServer:
    """The server: it gives an endless answer to "endless", and says nothing to others."""
    served.forget()
    served.by(lambda body: ENDLESS if body["messages"][-1]["content"] == "endless" else SILENT)
    return served


class Clock:
    """A clock that stands still but where a test lets it run: a process that a busy machine starves is not silent."""

    def __init__(self) -> None:
        self._s, self._since_s = 0.0, math.inf

    def __call__(self) -> float:
        return self._s + max(0.0, time.monotonic() - self._since_s)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let time pass."""
        self._since_s = time.monotonic()
        try:
            yield
        finally:
            self._s, self._since_s = self(), math.inf


@pytest.fixture(scope="module")
def clock() -> Clock:
    """The clock by which silence is measured."""
    return Clock()


@pytest.fixture(scope="module")
async def link(clock: Clock) -> AsyncIterator[Link]:
    """One link, whose process is looked at often: starting one costs seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bounds, "MAX_SILENCE_S", SILENT_S)
        patch.setattr("engine.models.provider_process.WATCH_INTERVAL_S", 0.1)
        async with anyio.create_task_group() as group:
            link = Link(group.start_soon, now_s=clock)
            yield link
            await link.close()
            group.cancel_scope.cancel()


async def ask(link: Link, server: ModelServer, text: str) -> ModelAnswer:
    """Return the answer to a text."""
    model = ModelSpec(model="openai/tested", base_url=server.url)
    request = ModelRequest(name="fast", model=model, messages=(Message(role="user", text=text),))
    with anyio.fail_after(PATIENCE_S):
        return await link.ask(request, None, lambda chunk: None)


def stop_at(process: ProviderProcess, id: int) -> None:
    """Stop a process in the middle of its work at a request."""
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        os.kill(process.child.pid, signal.SIGSTOP)
        while Path(f"/proc/{process.child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
            os.sched_yield()
        if process.current_request.id == id:
            return
        os.kill(process.child.pid, signal.SIGCONT)
        os.sched_yield()
    raise AssertionError("it never works at the request")


async def stopped(link: Link, server: ModelServer) -> ProviderProcess:
    """Stop the process of a link at the last request that was sent, once the server has it."""
    await anyio.to_thread.run_sync(server.wait_for, 2)
    process = await link._running_process()
    await anyio.to_thread.run_sync(stop_at, process, max(link._pending))
    server.by(lambda body: Say("fine"))
    return process


async def ended_for_silence(process: ProviderProcess, clock: Clock) -> None:
    """Let time pass until a process that is stopped has been ended."""
    with clock.running(), anyio.fail_after(PATIENCE_S):
        await process.child.exited.wait()


@pytest.mark.parametrize("is_killed", [True, False], ids=["killed by the system", "ended for its silence"])
async def test_the_request_that_a_process_worked_at_fails_and_the_others_are_answered(
    link: Link, server: ModelServer, clock: Clock, is_killed: bool
) -> None:
    answers: list[ModelAnswer] = []
    errors: list[RequestFailed] = []

    async def ask_besides() -> None:
        answers.append(await ask(link, server, "hello"))

    async def ask_endless() -> None:
        with pytest.raises(RequestFailed) as raised:
            await ask(link, server, "endless")
        errors.append(raised.value)

    async with anyio.create_task_group() as group:
        group.start_soon(ask_besides)
        await anyio.to_thread.run_sync(server.wait_for, 1)
        group.start_soon(ask_endless)
        process = await stopped(link, server)
        if is_killed:
            os.kill(process.child.pid, signal.SIGKILL)
        else:
            await ended_for_silence(process, clock)

    how = "was killed by SIGKILL" if is_killed else f"stood still for {SILENT_S:g} s, and was ended"
    assert [answer.text for answer in answers] == ["fine"]
    assert [(error.failure.error_type, error.failure.retryable) for error in errors] == [("connection", True)]
    assert how in str(errors[0])


async def test_a_cancelled_request_that_a_process_still_works_at_ends_with_the_process(
    link: Link, server: ModelServer, clock: Clock
) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(ask, link, server, "endless")
        await anyio.to_thread.run_sync(server.wait_for, 1)
        process = await link._running_process()
        await anyio.to_thread.run_sync(stop_at, process, max(link._pending))
        group.cancel_scope.cancel()

    await ended_for_silence(process, clock)
    server.by(lambda body: Say("fine"))
    assert (await ask(link, server, "hello")).text == "fine"


async def test_the_memory_of_the_process_is_bounded(link: Link) -> None:
    await link.look("openai/tested")

    limits = await anyio.Path(f"/proc/{(await link._running_process()).child.pid}/limits").read_text()

    assert str(bounds.MAX_PROCESS_BYTES) in next(
        line for line in limits.splitlines() if line.startswith("Max data size")
    )
