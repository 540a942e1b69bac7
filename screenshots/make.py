"""`make screenshots`: the pictures of the documents, taken from the demo while it is at work.

A real engine in a process of its own reads a part of Python's library, and the real dashboard looks at it; nothing is
drawn by hand. Each picture is an SVG that fetches nothing (`picture.py`). The engine and its folder are gone when this
ends, however it ends.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from dashboard.cli.demo import INCIDENT, REQUEST, crew_file, incident_file
from dashboard.cli.trust import allow, assign
from dashboard.demo.desk import lay_out
from dashboard.demo.library import stdlib_folder
from dashboard.engines.process import Detached, start_engine
from engine.core.commands import Submit
from engine.platform import sender
from engine.supervisor.client import Client
from engine.teamfile import read_team
from engine.teamfile.code import TeamCode
from screenshots.film import film
from screenshots.operating import busy, drawn, go, kind_of, named, said, settle, until
from screenshots.picture import FONTS, standing_alone
from screenshots.tour import tour

HERE = Path(__file__).resolve().parent
DB = Path("demo.db")
"""Relative, because a picture may show it, and names nobody's folders."""
WIDE, SMALL, LARGE, FILMED = (120, 40), (80, 24), (200, 60), (110, 32)
TOUR = "tour"
"""The one that moves."""
AT_WORK = 5
"""So many agents at work, or waiting for what they delegated, are worth a picture."""
LOADED_WITHIN_S = 60.0
FILES, FILMED_FILES, NO_FILES = 500, 700, 0
"""Of the library that the crew reads; none for the scripted models, who look into an incident."""
FADED_S = 3.5
"""After so long without a change no cell is brighter than its neighbours."""


def main() -> int:
    """Take every picture and the tour; 1 if the demo did not get where one of them shows it."""
    home = Path.cwd()
    sender._account = lambda: "ann@box"  # type: ignore[assignment]  # whoever takes the pictures is nobody's business
    taken: dict[str, str] = {}
    try:
        for take, files in ((models, NO_FILES), (pictures, FILES), (recorded, FILMED_FILES)):
            with tempfile.TemporaryDirectory(prefix="") as folder:  # as short as `HOME_FOLDER`, so that columns hold
                os.chdir(folder)
                os.environ["XDG_DATA_HOME"] = folder  # what they trust is not on the list of whoever takes them
                try:
                    with engine_at_work(Path(folder), files) as engine:
                        drawn = anyio.run(take, engine)
                except TimeoutError as error:
                    print(f"screenshots: {error}; the engine's log: {log_tail(Path(folder))}", file=sys.stderr)
                    return 1
                taken |= {name: standing_alone(svg, name, folder) for name, svg in drawn.items()}
    finally:
        os.chdir(home)
    for name, svg in taken.items():
        (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")
    print(f"{len(taken)} pictures in {HERE.name}/: {', '.join(taken)}")
    return 0


@contextmanager
def engine_at_work(folder: Path, files: int) -> Iterator[Detached]:
    """Hold an engine with one of the demo's teams, at work on its first request; it ends with this process."""
    source_folder = stdlib_folder(folder / "stdlib", max_files=files) if files else lay_out()
    engine = start_engine(DB, folder=source_folder, bound=True)
    try:
        client = Client(DB)
        file = read_team(crew_file() if files else incident_file())
        allow(TeamCode(file))
        assign(file, DB, source_folder)
        request = Submit(request=REQUEST if files else INCIDENT)
        for command in (file.load_command(folder=source_folder), request):
            reply = client.perform(command, LOADED_WITHIN_S)
            assert reply.status == "applied", reply.reason
        yield engine
    finally:
        if engine.process.poll() is None:
            engine.end()


async def models(_: Detached) -> dict[str, str]:
    """Wait until a scripted model is silent while two others ask a person, and return that picture."""
    app = QuarterdeckApp(DB)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: app.feed.state.agents, "the team")
        await until(pilot, lambda: len(app.feed.state.escalations) >= 2, "two questions")
        await until(pilot, lambda: kind_of(app, "crawler") == "silent", "a silent model")
        await settle(pilot, FADED_S)
        return {"models": drawn(app)}


async def pictures(engine: Detached) -> dict[str, str]:
    """Walk through the dashboard as an operator would, and return what each screen looked like, as SVG by name."""
    taken: dict[str, str] = {}
    app = QuarterdeckApp(DB)
    async with app.run_test(size=WIDE) as pilot:
        await while_it_works(app, pilot, taken)
        await when_it_is_done(app, pilot, taken)
    small = QuarterdeckApp(DB)
    async with small.run_test(size=SMALL) as pilot:
        await on_a_small_terminal(small, pilot, taken)
    large = QuarterdeckApp(DB)
    async with large.run_test(size=LARGE) as pilot:
        await on_a_large_terminal(large, pilot, taken)
    watching = QuarterdeckApp(DB)
    async with watching.run_test(size=WIDE) as pilot:
        await after_a_kill(watching, pilot, taken, engine)
    return taken


async def recorded(_: Detached) -> dict[str, str]:
    """Record the tour."""
    app = QuarterdeckApp(DB)
    async with app.run_test(size=FILMED) as pilot:
        return {TOUR: film(await tour(app, pilot), fonts=FONTS)}


async def while_it_works(app: QuarterdeckApp, pilot: Pilot[int], taken: dict[str, str]) -> None:
    """The inspection: a swap of an agent at work, the strategy, and the other screens."""
    await until(pilot, lambda: app.feed.state.agents, "the team")
    await until(pilot, lambda: named(app, "parser-fast").done >= 3 and busy(app, "parser-fast"), "the inspection")
    await go(app, pilot, "network", named(app, "parser-fast").id)
    await pilot.press("h")
    await settle(pilot)
    taken["swap"] = drawn(app)
    await pilot.press("enter")
    await until(pilot, lambda: said(app).startswith("✓ swapped"), "the swap")
    await settle(pilot, 0.15)  # while what was under way still ends on the old spec, as a rule
    taken["network"] = drawn(app)

    await go(app, pilot, "network", app.feed.state.roots[0].id)
    await pilot.press("S")
    await settle(pilot)
    taken["strategy"] = drawn(app)
    await pilot.press("escape")

    await go(app, pilot, "network", named(app, "searcher").id)
    await pilot.press("enter")
    await settle(pilot)
    taken["agent"] = drawn(app)
    await pilot.press("escape")
    for place in ("graph", "agents", "tasks", "events"):
        await go(app, pilot, place)
        taken[place] = drawn(app)


async def when_it_is_done(app: QuarterdeckApp, pilot: Pilot[int], taken: dict[str, str]) -> None:
    """The report of the first request, and the list of requests with a second one under way."""
    await until(pilot, lambda: app.feed.state.finished, "the report")
    await pilot.press("n", *"audit asyncio", "enter")
    await until(pilot, lambda: app.feed.state.runs, "the second request")
    await go(app, pilot, "runs")
    taken["runs"] = drawn(app)
    await go(app, pilot, "runs", app.feed.state.finished[0].id)
    await pilot.press("enter")
    await settle(pilot)
    taken["report"] = drawn(app)
    await pilot.press("escape")
    for place in ("metrics", "timeline"):
        await go(app, pilot, place)
        await settle(pilot, 1.2)  # a plot moves once a second
        taken[place] = drawn(app)
    await go(app, pilot, "network")
    swapped = next(mark for mark in app.feed.activity.marks if mark.glyph == "◆")
    app.past.goto_time(swapped.at_ms)
    await until(pilot, lambda: app.view.past is not None, "the past")
    await settle(pilot, 1.2)
    taken["past"] = drawn(app)
    app.past.live()


async def on_a_large_terminal(app: QuarterdeckApp, pilot: Pilot[int], taken: dict[str, str]) -> None:
    """The network on 200 columns, at work."""
    await at_work(app, pilot)
    await settle(pilot, FADED_S)
    taken["network-200x60"] = drawn(app)


async def on_a_small_terminal(app: QuarterdeckApp, pilot: Pilot[int], taken: dict[str, str]) -> None:
    """The network on 80 columns, at work on a request again."""
    await until(pilot, lambda: len(app.feed.state.finished) == 2, "the end of the second request")
    await at_work(app, pilot)
    await settle(pilot, FADED_S)
    taken["network-80x24"] = drawn(app)


async def after_a_kill(app: QuarterdeckApp, pilot: Pilot[int], taken: dict[str, str], engine: Detached) -> None:
    """What is said when the engine is killed in the middle of its work."""
    await at_work(app, pilot)
    engine.process.kill()
    engine.end()
    await until(pilot, lambda: app.feed.engine is not None and not app.feed.engine.alive, "the engine's end")
    await until(pilot, lambda: app.messages.current is None, "the end of what was said before")
    await settle(pilot, FADED_S)
    taken["killed"] = drawn(app)


async def at_work(app: QuarterdeckApp, pilot: Pilot[int]) -> None:
    """Come to a moment when several agents are busy; give the team a request where it has none."""

    def busy_agents() -> int:
        return sum(bool(agent.running or agent.parked) for agent in app.feed.state.agents.values())

    await until(pilot, lambda: app.feed.has_polled and app.feed.state.agents, "the team")
    while busy_agents() < AT_WORK:
        if not app.feed.state.runs:
            await pilot.press("n", *"audit", "enter")
            await until(pilot, lambda: app.feed.state.runs, "another request")
        await until(pilot, lambda: busy_agents() >= AT_WORK or not app.feed.state.runs, "busy agents")


def log_tail(folder: Path) -> str:
    """The last line of the engine's log."""
    lines = (folder / f"{DB}.log").read_text(encoding="utf-8", errors="replace").splitlines()
    return lines[-1] if lines else "it is empty"


if __name__ == "__main__":
    sys.exit(main())
