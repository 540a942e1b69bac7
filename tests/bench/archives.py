"""Export and import of a whole team, from a database to a file and from a file into another state."""

import hashlib
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import anyio
from msgspec import Raw

from engine.archive import export_archive, read_archive
from engine.core.commands import ImportState, Ping
from engine.core.decisions.decision_context import DecisionContext
from engine.core.encoding.codec import encode_state
from engine.core.signals import EngineBegan, StateReady
from engine.core.specs.spec import AgentSpec
from engine.core.state import State
from engine.core.step import step
from engine.trusted_code.trust import TrustList, grant
from tests.bench.databases import written
from tests.bench.engines import engine_with
from tests.bench.histories import Mapped, mapped, succeed
from tests.bench.measure import Series, interleaved
from tests.bench.report import Row
from tests.world import World

PINGS = 300
_MESSAGE = "What an agent had to say, in a few more words than the state itself would keep of an item. " * 3


def rows(quick: bool) -> Iterator[Row]:
    """Measure a small team with long messages, and a large one with much that waits."""
    yield from _both("50 agents, 1,000 messages", _talkative(), 8.0, 12.0, 5 if quick else 15)
    yield from _both("1,000 agents, 10,000 tasks", mapped(10_000, 1_000).world, 90.0, 140.0, 3 if quick else 7)
    yield _waits(mapped(9_990, 1_000).world, 2 if quick else 7)


def _talkative() -> World:
    """Return a team in which 1,000 tasks are done whose texts stand in the journal."""
    world = mapped(0).world
    history = Mapped(world, next(iter(world.started)))
    world.ask(history.lead, "parse", [f"{number}: {_MESSAGE}" for number in range(1_000)], call="texts")
    for key in history.workers():
        succeed(world, key)
    return world


def _both(what: str, world: World, export_ms: float, import_ms: float, rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        database = written(Path(folder) / "team.db", world.journal, snapshot=encode_state(world.state))
        target = Path(folder) / "team.zip"
        took, floor = interleaved(
            lambda: export_archive(database, target, overwrite=True), lambda: _packed(target), rounds
        )
        yield Row(
            what=f"export {what}",
            took=took,
            floor=floor,
            floor_is="json.dumps of the same state and texts, zipped",
            budget=export_ms,
            computes=True,
        )
        took, floor = interleaved(lambda: _imported(target), lambda: _unpacked(target), rounds)
        yield Row(
            what=f"import {what}",
            took=took,
            floor=floor,
            floor_is="json.loads of the same, unzipped",
            budget=import_ms,
            computes=True,
        )


def _waits(world: World, rounds: int) -> Row:
    """Measure the longest that a command waits while a team at work takes in an archive."""
    took, floor = Series(), Series()
    with tempfile.TemporaryDirectory() as folder:
        database = written(Path(folder) / "team.db", world.journal, snapshot=encode_state(world.state))
        archive = export_archive(database, Path(folder) / "team.zip").path
        references = sorted({str(spec.run) for spec in world.state.specs.values()})
        sha256 = hashlib.sha256(archive.read_bytes()).hexdigest()
        wanted = ImportState(path=str(archive), sha256=sha256)
        del world
        for number in range(rounds):
            path = Path(folder) / f"{number}.db"
            grant(TrustList(path.with_name("trust.json")), references, State(), db=path, path=archive, sha256=sha256)
            anyio.run(_longest_waits, path, wanted, took, floor)
    return Row(
        what="a command while 9,990 tasks are imported into a team at work, the longest wait",
        took=took,
        floor=floor,
        floor_is=f"the longest of {PINGS} to the same team alone",
        budget=50.0,
    )


async def _longest_waits(path: Path, wanted: ImportState, took: Series, floor: Series) -> None:
    async def echo(text: str) -> str:
        return text

    async with engine_with(path, AgentSpec(name="echo", run=echo)) as engine:
        alone, beside = Series(), Series()

        async def ask_on_and_on() -> None:
            while True:
                with beside.timing():
                    await engine.host.order(Ping())
                await anyio.sleep(0.002)

        for _ in range(PINGS):
            with alone.timing():
                await engine.host.order(Ping())
        async with anyio.create_task_group() as group:
            group.start_soon(ask_on_and_on)
            await engine.host.order(wanted)
            group.cancel_scope.cancel()
        floor.add(max(alone.wall_s), max(alone.cpu_s))
        took.add(max(beside.wall_s), max(beside.cpu_s))


def _imported(path: Path) -> State:
    """Read and check an archive, and let an empty team take it in."""
    archive = read_archive(path)
    state, context = State(), DecisionContext(now_ms=1_000, jitter=0.5)
    step(state, EngineBegan(pid=1, token=1, version="bench"), context)
    references = archive.contents.references
    ready = StateReady(
        order_id="c1",
        sender="bench",
        role="operator",
        path=str(path),
        sha256="0",
        paused=True,
        state=Raw(archive.body),
        texts=archive.texts,
        counts=archive.contents.counts,
        references=references,
        granted=dict.fromkeys(references, ""),
    )
    step(state, ready, context)
    return state


def _unpacked(path: Path) -> list[object]:
    with zipfile.ZipFile(path) as archive:
        lines = archive.read("texts.jsonl").splitlines()
        return [json.loads(archive.read("state.json")), *(json.loads(line) for line in lines)]


_PARTS: dict[Path, list[object]] = {}


def _packed(path: Path) -> bytes:
    """Write the parts of the archive at `path` again, with nothing around it."""
    if path not in _PARTS:
        _PARTS[path] = _unpacked(path)
    state, *texts = _PARTS[path]
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("state.json", json.dumps(state))
        archive.writestr("texts.jsonl", "\n".join(map(json.dumps, texts)))
    return whole.getvalue()
