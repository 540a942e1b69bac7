"""Child processes: what they write is read to its end, and nothing of them stays."""

import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from engine.children.child import CHUNK_BYTES, Child, start_child
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def running(code: str, line_bytes: int = CHUNK_BYTES) -> AsyncIterator[Child]:
    """Run a program of Python."""
    child = await start_child(
        [sys.executable, "-c", f"import os, sys, time\n{code}"], env=os.environ, line_bytes=line_bytes
    )
    try:
        with anyio.fail_after(PATIENCE_S):
            yield child
    finally:
        await child.end()


async def test_lines_of_any_length_are_read_whole_and_one_that_is_cut_off_is_not() -> None:
    async with running("print('a' * 3_000_000); print(); print('b\\nc', end='')") as child:
        assert [len(line) async for line in child.lines()] == [3_000_000, 0, 1]


async def test_a_bounded_line_that_is_too_long_is_refused() -> None:
    async with running("print('a' * 10); print('b' * 1_000_000)", line_bytes=1_000) as child:
        assert await child.line() == b"a" * 10 + b"\n"
        with pytest.raises(ValueError, match="limit"):
            await child.line()


async def test_a_flood_on_its_standard_error_neither_blocks_it_nor_is_kept() -> None:
    async with running("sys.stderr.write('x' * 10_000_000 + '\\nlast\\n'); sys.exit(3)") as child:
        await child.exited.wait()
        await child.reap()

        assert child.ending == "exited with 3; it last said: last"


async def test_the_first_reason_why_it_was_killed_is_told() -> None:
    async with running("time.sleep(1000)") as child:
        child.kill("stood still")
        child.kill("is not needed")
        await child.reap()

        assert child.ending == "stood still"
        assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("code", "status"), [("sys.stdin.read(); sys.exit(4)", 4), ("time.sleep(1000)", -9)])
async def test_it_may_exit_by_itself_once_its_input_is_closed(code: str, status: int) -> None:
    async with running(f"print(flush=True); {code}") as child:
        await child.line()
        await child.end(PATIENCE_S if status > 0 else 0.01)

        assert child.returncode == status


async def test_what_is_sent_to_a_child_that_has_gone_is_dropped() -> None:
    async with running("pass") as child:
        await child.exited.wait()
        for _ in range(10):
            await child.send(b"x" * 1_000_000)
