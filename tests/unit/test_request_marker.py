"""What the process of litellm writes down of its work."""

import anyio
import anyio.lowlevel
import pytest

from engine.models.request_marker import CurrentRequest, RequestMarker

pytestmark = pytest.mark.anyio


async def test_each_step_of_a_request_is_marked_as_its_own_and_no_wait_is() -> None:
    current = CurrentRequest(-1)
    marks: list[tuple[int, int]] = []
    unmarked: list[int] = []

    async def work(id: int) -> int:
        for _ in range(3):
            marks.append((id, current.id))
            await anyio.lowlevel.checkpoint()
        return id

    async def run(id: int) -> None:
        assert await RequestMarker(current, id, work(id)) == id
        unmarked.append(current.id)

    async with anyio.create_task_group() as group:
        for id in (1, 2, 3):
            group.start_soon(run, id)

    assert len(marks) == 9
    assert all(id == mark for id, mark in marks)
    assert unmarked == [0, 0, 0]


async def test_a_request_that_is_cancelled_or_fails_leaves_no_mark() -> None:
    current, ends = CurrentRequest(-1), []

    async def work() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ends.append(current.id)

    async def fail() -> None:
        await anyio.lowlevel.checkpoint()
        raise ValueError("no")

    async def run() -> None:
        await RequestMarker(current, 7, work())

    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await anyio.lowlevel.checkpoint()
            scope.cancel()
    with pytest.raises(ValueError, match="no"):
        await RequestMarker(current, 8, fail())

    assert ends == [7]
    assert current.id == 0
