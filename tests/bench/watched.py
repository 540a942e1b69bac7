"""What ten dashboards cost the team that they show, by locks and disk and by processor time.

Two engines in one process work in turns: one's file has the dashboards, the other's has none, so that whatever else the
machine does meets both alike. The dashboards are niced, as they may not take a core from a team; those that are stopped
in the middle of whatever they do can only cost locks and disk.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from engine.core.specs.spec import AgentSpec
from tests.bench.engines import crew, engine_with
from tests.bench.measure import Series, interleaved_async
from tests.bench.processes import environment
from tests.bench.report import Row
from tests.bench.terminal import PYTHON, Terminal

DASHBOARDS, AT_ONCE = 10, 50
NICED = ("nice", "-n", "19")
STOPPED, AT_WORK = "stopped in the middle", "at work"


def rows(quick: bool) -> Iterator[Row]:
    """Measure dashboards that stand still, and such that draw."""
    tasks, rounds = (1_000, 4) if quick else (2_000, 15)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        variables = stack.enter_context(environment())
        for how in (STOPPED, AT_WORK):
            took, floor = anyio.run(_measured, folder, how, variables, tasks, rounds)
            yield Row(
                what=f"tasks a second under {DASHBOARDS} dashboards {how}",
                took=took.per(tasks),
                floor=floor.per(tasks),
                floor_is="tasks a second of a team that no dashboard shows, beside it",
                unit="/s",
                floors=0.98,
            )


async def _measured(
    folder: Path, how: str, variables: Mapping[str, str], tasks: int, rounds: int
) -> tuple[Series, Series]:
    teams: dict[str, Any] = {}
    begun, done = {name: anyio.Event() for name in ("shown", "alone")}, anyio.Event()
    found: list[tuple[Series, Series]] = []

    def specs(name: str) -> list[AgentSpec]:
        async def lead(task: Any, ctx: Any) -> str:
            teams[name] = ctx
            begun[name].set()
            await done.wait()
            return "done"

        return [AgentSpec(name="lead", run=lead), *crew(AT_ONCE, _instant)]

    async def work(name: str, number: list[int]) -> None:
        number[0] += 1
        await teams[name].map("work", [f"{number[0]}.{place}" for place in range(tasks)])

    settings = {"max_parallel": AT_ONCE + 1, "max_agents": AT_ONCE + 1}
    paths = {name: folder / f"{name}-{how[:2]}.db" for name in begun}
    async with (
        engine_with(paths["shown"], *specs("shown"), **settings) as shown,
        engine_with(paths["alone"], *specs("alone"), **settings) as alone,
        anyio.create_task_group() as group,
    ):
        group.start_soon(shown.ask, "shown")
        group.start_soon(alone.ask, "alone")
        for one in begun.values():
            await one.wait()
        with ExitStack() as stack:
            pids = await anyio.to_thread.run_sync(stack.enter_context, _dashboards(paths["shown"], variables))
            if how == STOPPED:
                for pid in pids:
                    os.killpg(pid, signal.SIGSTOP)
            number = [0]
            found.append(
                await interleaved_async(lambda: work("shown", number), lambda: work("alone", number), rounds, warm=2)
            )
        done.set()
    return found[0]


async def _instant(text: str) -> str:
    return text


@contextmanager
def _dashboards(path: Path, variables: Mapping[str, str]) -> Iterator[list[int]]:
    """Have dashboards on a file, in terminals that another process reads; yield their process ids."""
    command = [*PYTHON, "-m", "tests.bench.watched", str(path), str(DASHBOARDS)]
    with subprocess.Popen(command, env=dict(variables), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        try:
            yield [int(word) for word in reader.stdout.readline().split()]
        finally:
            reader.stdin.close()


def read_terminals(path: Path, count: int) -> None:
    """Start dashboards, say their process ids once all of them have drawn, and read what they write until told."""
    here = {**os.environ, "QUARTERDECK_DB": str(path)}
    terminals = [Terminal((*NICED, *PYTHON, "-m", "dashboard", "--readonly"), here) for _ in range(count)]
    try:
        for terminal in terminals:
            terminal.wait_for("lead")
        print(*(terminal.pid for terminal in terminals), flush=True)
        os.set_blocking(sys.stdin.fileno(), False)
        while sys.stdin.buffer.read() != b"":
            for terminal in terminals:
                terminal.watch(0.01)
                terminal.written = b""
    finally:
        for terminal in terminals:
            terminal.close()


if __name__ == "__main__":
    read_terminals(Path(sys.argv[1]), int(sys.argv[2]))
