"""A team in the middle of its work, the same at each call: what the screens of the tests show.

The core decides all of it; the ids, the clock and the draws are fixed.
"""

from pathlib import Path

import anyio

from dashboard.reading.feed import Feed
from dashboard.views.event_log import Entry
from dashboard.views.measures.activity import Activity
from engine.core.commands import Pause, RegisterSpec, Submit, SupervisorSpec, SwapAgent
from engine.core.encoding.codec import encode_event
from engine.core.signals import AgentUnusable
from engine.core.specs.spec import Retry
from engine.host.batch import row_of
from store import EngineInfo, open_store
from tests.world import World, agent, team_world

NOW_MS = 1_763_720_671_000
FILES = tuple(
    f"lib/{name}.py"
    for name in (
        "ast", "argparse", "bisect", "calendar", "codecs", "copy", "csv", "datetime", "dis", "doctest", "email/header",
        "enum", "fnmatch", "fractions", "functools", "getopt", "glob", "gzip", "hashlib", "heapq", "html/parser",
        "imaplib", "inspect", "json/decoder", "json/encoder", "keyword", "locale", "logging", "mailbox", "mimetypes",
    )
)  # fmt: skip
CODE = "crew.audit"


def audit(*titles: str, idle: int = 0) -> World:
    """Return a team that audits a library: some work done, some under way, one agent in error, one paused."""
    work = World()
    scouts = [
        agent("scout", "scan", max_concurrency=2, description="Reads one file and says what is in it"),
        agent("scout-thorough", "scan", timeout_s=30.0, on_failure=[Retry(3)]),
        agent("scout-careful", "scan"),
        *(agent(f"scout-{number}", "scan") for number in range(idle)),
    ]
    metrics = [agent("parser", "parse", on_failure=[Retry(3)]), agent("counter", "count"), agent("grapher", "graph")]
    work = team_world(
        agent("planner", "plan"),
        SupervisorSpec(name="survey", mode="parallel", members=list(scouts), max_parallel=8),
        SupervisorSpec(name="metrics", mode="parallel", members=list(metrics), max_parallel=4),
        agent("writer", "write"),
        participants=["planner", "metrics", "writer"],
    )
    work.now_ms = NOW_MS - 767_000
    for name, timeout_s in (("scout-fast", 5.0), ("scout-deep", 60.0)):
        spec = agent(name, "scan", timeout_s=timeout_s, description="Another way to scan")
        work.order(RegisterSpec(spec=spec))
    work.order(Submit(request="Audit the standard library and report what is risky", supervisor="chief"))
    _plan(work, [*titles, *FILES])
    return work


def _plan(work: World, titles: list[str]) -> None:
    """Let the planner hand out the files, and the scouts read some of them."""
    _tick(work)
    planner = next(iter(work.started))
    work.ask(planner, "survey/scan" if False else "scan", list(titles))
    for place in range(16):
        _tick(work, 1_400)
        key = next((key for key in work.started if key != planner), None)
        if key is None:
            break
        if place == 5:
            work.fail(key, "UnicodeDecodeError in line 12")
        else:
            work.now_ms += 30 * place
            work.succeed(key, {"lines": place}, took_ms=41 + 90 * place)
    work.order(SwapAgent(agent="scout-thorough", registered="scout-fast"))
    counter = next(one for one in work.state.agents.values() if one.name == "counter")
    work.say(AgentUnusable(agent_id=counter.id, generation=1, error="crew.audit has no attribute 'count'"))
    work.order(Pause(target="grapher"))
    work.order(Submit(request="Which modules are never imported?", supervisor="metrics"))
    _tick(work, 300)
    parser = next(
        (key for key, start in work.started.items() if work.state.agents[start.agent_id].name == "parser"), None
    )
    if parser is not None:
        work.fail(parser, "SyntaxError: bad_coding.py, line 1")
    _tick(work, 200)
    work.now_ms = max(work.now_ms, NOW_MS - 400)


def _tick(work: World, ms: int = 100) -> None:
    """Let time pass, and the built-in work be done."""
    work.now_ms += ms
    for task_id in list(work.reads):
        work.read(task_id)
    for key in list(work.joins):
        work.join(key)


_FILES: dict[str, dict[str, bytes]] = {}
"""The files of a journal that was written, by what follows the name of its database."""


def written(path: Path, work: World) -> Path:
    """Write a world's journal into a database at `path`."""
    return path if _is_written_again(path, work) else anyio.run(write, path, work)


async def write(path: Path, work: World) -> Path:
    """Write a world's journal into a database at `path`."""
    if not _is_written_again(path, work):
        rows = [row_of(event) for event in work.journal]
        async with open_store(path) as store:
            await store.journal.append(1, rows)
        made = [file for file in path.parent.iterdir() if file.name.startswith(path.name)]
        _FILES[repr(rows)] = {file.name.removeprefix(path.name): file.read_bytes() for file in made}
    return path


def _is_written_again(path: Path, work: World) -> bool:
    """Write the files of the same journal once more, where there are any: a store takes ten times as long to open."""
    files = _FILES.get(repr([row_of(event) for event in work.journal]), {})
    for suffix, content in files.items():
        path.with_name(path.name + suffix).write_bytes(content)
    return bool(files)


class StillFeed(Feed):
    """A feed that has read everything and whose engine, clock and rate stand still."""

    def __init__(self, path: Path, work: World, *, alive: bool = True, live: dict[str, str] | None = None) -> None:
        super().__init__(path)
        self._threads = []
        self.state = work.state
        self.file_seq = self._opening_seq = work.state.seq
        self.live = live or {}
        self.has_polled = True
        self.names.learn(work.journal)
        self.names.learn_state(work.state)
        self.activity = Activity.of(work.state, work.journal)
        self.recent.extend(Entry(seq, event.at_ms, event.type, event) for seq, event in enumerate(work.journal, 1))
        self.engine = EngineInfo(
            pid=4211,
            alive=alive,
            since_ms=NOW_MS - 767_000,
            token=1,
            heartbeat_age_ms=200 if alive else None,
            loop_age_ms=100 if alive else None,
            host="deck",
            started="",
            boot_id="",
        )


__all__ = ["FILES", "NOW_MS", "StillFeed", "audit", "encode_event", "write", "written"]
