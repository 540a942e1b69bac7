"""The connection to the provider process, across its death."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from engine.models.child_messages import Facts
from engine.models.link import Link
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux lets the pipe of another process be opened")
async def test_a_process_that_is_heard_of_last_when_the_next_is_at_work_fails_no_request_of_that() -> None:
    found: list[Facts] = []
    async with anyio.create_task_group() as group:
        link = Link(group.start_soon)
        first = await link._running_process()
        # What it has started may hold its output open, and with it the end of what is read from it.
        output = os.open(f"/proc/{first.child.pid}/fd/1", os.O_WRONLY)
        os.kill(first.child.pid, signal.SIGKILL)
        await first.child.exited.wait()

        async def look() -> None:
            found.append(await link.look("gpt-4o"))

        async with anyio.create_task_group() as looking:
            looking.start_soon(look)
            with anyio.fail_after(PATIENCE_S):
                while not link._pending:  # noqa: ASYNC110 - nothing tells when it is sent
                    await anyio.sleep(0.01)
            os.close(output)
        await link.close()

    assert len(found) == 1
