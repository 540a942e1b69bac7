"""What a page reads again and again is read on from where it stopped, and is what reading all of it would give."""

from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.reading.newest import Newest
from dashboard.views.words.names import Names
from engine.core.events import AgentPaused
from engine.host.batch import row_of
from store import Reader, open_store
from tests.depth import examples

MOST = 3


async def _written(path: Path, agents: list[str]) -> None:
    async with open_store(path, durability="normal") as store:
        rows = [row_of(AgentPaused(at_ms=0, agent_id=agent)) for agent in agents]
        await store.journal.append(1, rows)


@settings(max_examples=examples(5))
@given(
    st.lists(st.sampled_from(["a1", "a2"]), min_size=1, max_size=12),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from(["a1", "a2"])), min_size=1, max_size=8),
)
def test_reading_on_gives_what_reading_all_gives(
    tmp_path_factory: pytest.TempPathFactory, agents: list[str], asked: list[tuple[int, str]]
) -> None:
    path = tmp_path_factory.mktemp("newest") / "team.db"
    anyio.run(_written, path, agents)
    newest = Newest(MOST)

    with Reader(path) as reader:
        for seq, agent in asked:
            found = newest.up_to(min(seq, len(agents)), reader, Names(), agent_id=agent)

            wanted = [one.seq for one in reader.records(0) if one.seq <= seq and one.agent_id == agent]
            assert [one.seq for one in found] == wanted[-MOST:]
            assert all(isinstance(one.event, AgentPaused) and one.event.agent_id == agent for one in found)
