"""A team with a past: three engines led it, one of which was killed; with what lies beside its database."""

import os
from dataclasses import replace
from pathlib import Path

import anyio

from engine.archive import export_archive
from engine.core.commands import HandOver, Submit, SupervisorSpec, SwapAgent
from engine.core.encoding.codec import encode_state
from engine.core.fold import fold
from engine.core.signals import EngineBegan
from engine.core.specs.failure_policies import Retry
from engine.core.state import State
from engine.history.forking import fork
from store import open_store
from store.journals.records import StandbyInfo
from tests.pilot.scene import NOW_MS, StillFeed, audit, written
from tests.story import attempt, done
from tests.world import World, agent, load

LOG = """\
2025-11-21 09:20:31,004 INFO the engine of team.db began at seq 1
2025-11-21 09:48:31,711 INFO hands over to engine 4017, which stands by
2025-11-21 09:48:32,093 INFO the engine of team.db began at seq 17
2025-11-21 10:11:44,880 INFO the engine of team.db began at seq 25
2025-11-21 10:14:02,120 ERROR scout failed: ConnectionError: the harbour master does not answer
"""
MINUTE_MS = 60_000


def led() -> World:
    """Return a team that two engines led before the one at work: the first handed over, the second was killed."""
    members = [agent("planner", "plan"), agent("scout", "scan", on_failure=[Retry(3)]), agent("writer", "write")]
    work = World()
    work.now_ms = NOW_MS - 64 * MINUTE_MS
    work.say(EngineBegan(pid=3901, token=1, version="0.4.0"))
    work.order(load(SupervisorSpec(name="fleet", mode="sequential", members=list(members))))
    work.order(Submit(request="Which ships are due this week?", supervisor="fleet"))
    work.now_ms += 9 * MINUTE_MS
    done(work, "planner", "Ask the harbour master")
    work.now_ms += 19 * MINUTE_MS
    work.order(HandOver(token=1))
    work.now_ms += 400
    work.crash(pid=4017, token=2, version="0.4.0")
    work.now_ms += 11 * MINUTE_MS
    work.fail(attempt(work, "scout"), "ConnectionError: the harbour master does not answer")
    work.now_ms += 2 * MINUTE_MS
    work.order(SwapAgent(agent="scout", spec=agent("scout", "scan", timeout_s=30.0)))
    work.now_ms = NOW_MS - 767_000
    work.crash(pid=4211, token=3, version="0.5.0+8f2c1d90")
    return work


def feed_of(db: Path, work: World) -> StillFeed:
    """Return a feed on a team that the third engine leads, while a fourth stands by."""
    feed = StillFeed(db, work)
    assert feed.engine is not None
    feed.engine = replace(feed.engine, token=3)
    feed.standbys = [StandbyInfo(pid=4302, since_ms=NOW_MS - 9 * MINUTE_MS, beat_ms=40)]
    return feed


def kept(folder: Path, work: World) -> Path:
    """Write a team, its log, two snapshots, an archive and a fork into a folder, and another team above it."""
    folder.mkdir()
    db, seqs = written(folder / "team.db", work), (10, len(work.journal) - 2)

    async def snapshots() -> None:
        async with open_store(db) as store:
            for seq in seqs:
                state = State()
                fold(state, work.journal[:seq])
                await store.snapshots.save(seq, encode_state(state))

    anyio.run(snapshots)
    db.with_name("team.db.log").write_text(LOG)
    archive, forked = db.with_name("team.2025-11-21-100131.zip"), db.with_name("team.at-10.db")
    export_archive(db, archive)
    archive.write_bytes(archive.read_bytes()[:1].ljust(14_200, b"."))  # its compression may differ elsewhere
    fork(db, forked, at_seq=seqs[0])
    for place, path in enumerate((archive, forked), 1):
        os.utime(path, ((NOW_MS - place * 23 * MINUTE_MS) / 1_000,) * 2)
    written(folder.parent / "harbour.db", audit())
    return db
