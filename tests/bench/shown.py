"""The dashboard as `frames` starts it in a terminal: visits places one after the other, and measures its own frames.

Time is its own: between two frames pass 200 ms of the team, however busy the machine is. A frame is all the processor
time of the process from one look to the next but that of making, reading and folding events.
"""

import asyncio
import json
import sys
import time
from pathlib import Path

from dashboard.app.app import QuarterdeckApp
from dashboard.deck.pace import REDRAW_S
from dashboard.deck.places import places
from engine.platform.garbage import collect_rarely
from engine.reading.folding import fold_file
from store import open_store
from store.layout.opening import Store
from tests.bench.busy import EVENTS_AN_END, Crew

SETTLES, STRETCH = 15, 10
"""Frames of a place before it is measured, and of one stretch."""
PAINTED_S = 0.05
"""After this long a frame is on the screen."""
_STEP_MS = round(REDRAW_S * 1000)


class Measured(QuarterdeckApp):
    """Visits places by itself, and writes what each costs."""

    def __init__(self, path: Path, asked: list[str], stretches: int, found: Path, *, rate: int = 1_000) -> None:
        self._now_ms = time.time_ns() // 1_000_000
        super().__init__(path, clock=lambda: self._now_ms)
        self._asked, self._stretches, self._found, self._rate = asked, stretches, found, rate
        self._driven = False
        self.crew = Crew(fold_file(path))

    def flush(self) -> None:
        """Do it by the time of the team only."""
        if not self._driven or self.past.is_shown:
            super().flush()

    def collect(self) -> None:
        """Do not: the crew's copy of the state would be walked through, which no dashboard has."""

    async def _tick(self) -> None:
        if not self._driven or self.past.is_shown:
            await super()._tick()

    def on_mount(self) -> None:
        self.run_worker(self._visit(), group="visit")

    async def _visit(self) -> None:
        costs: dict[str, list[float]] = {}
        await self._until(lambda: self.feed.has_polled and not self.feed.opening)
        async with open_store(self.path, durability="normal") as store:
            self._driven = True
            for name in self._asked:
                self._go(name)
                await self._mean_of(store, SETTLES)
                costs[name] = [await self._mean_of(store, STRETCH) for _ in range(self._stretches)]
            self._found.write_text(json.dumps({"costs": costs}))
        self.exit(0)

    def _go(self, name: str) -> None:
        if name in places():
            self.action_go(name)
            return
        self.action_go("network")
        state = self.feed.state
        agent = next(one for one in reversed(state.agents.values()) if one.running)
        key = {
            "supervisor": agent.supervisor_id,
            "agent": agent.id,
            "run": next(reversed(state.runs)),
            "task": next(iter(agent.running)),
            "event": str(state.seq),
        }.get(name, agent.id)
        self.call_after_refresh(self.open, name, key)

    async def _mean_of(self, store: Store, count: int) -> float:
        """Let time pass; return what a frame costs in the mean, in seconds."""
        cost_s = 0.0
        for _ in range(count):
            await self._pass_time(store)
            began_s = time.process_time()
            self.view = self._make_view(self.view)
            self.show()
            self.history.update(self._now_ms)
            await asyncio.sleep(PAINTED_S)
            await self._until(lambda: len([*self.workers]) <= 1)  # what screens read in threads
            cost_s += time.process_time() - began_s
        return cost_s / count

    async def _pass_time(self, store: Store) -> None:
        """Let the team work on for as long as lies between two frames, and fold what it did."""
        self._now_ms += _STEP_MS
        rows = self.crew.end(self._rate * _STEP_MS // 1000 // EVENTS_AN_END, self._now_ms)
        await store.journal.append(store.journal.last_seq + 1, rows)
        store.lease.tick(self._now_ms)
        last = store.journal.last_seq
        await self._until(lambda: self.feed.advance(1.0) and self.feed.state.seq >= last)

    async def _until(self, met: object, timeout_s: float = 60.0) -> None:
        assert callable(met)
        until_s = time.monotonic() + timeout_s
        while not met():
            if time.monotonic() > until_s:
                raise TimeoutError
            await asyncio.sleep(0.005)


if __name__ == "__main__":
    collect_rarely()
    Measured(Path(sys.argv[1]), sys.argv[2].split(","), int(sys.argv[3]), Path(sys.argv[4])).run()
