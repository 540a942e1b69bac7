"""Agents whose provider fails: real engines, the real process, a server on this computer, and a clock that jumps."""

from collections.abc import AsyncIterator, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.core.commands import Cancel, Steer
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec, Retry
from engine.models.link import Link
from engine.platform.clock import VirtualClock
from tests.model_server import ModelServer, Say, model_server
from tests.patience import PATIENCE_S
from tests.runtime.engines import Engine, Engines, soon

pytestmark = pytest.mark.anyio
KEY = "sk-planted-0123456789abcdef"
PRICE = Price(in_usd=Decimal(1), out_usd=Decimal(2))


@pytest.fixture(scope="module")
def served() -> Iterator[ModelServer]:
    """One server for all tests of this file."""
    with model_server() as server:
        yield server


@pytest.fixture
def server(served: ModelServer) -> ModelServer:
    """The server, which has seen nothing and has nothing to say."""
    served.forget()
    return served


class Kept(Link):
    """A process that talks to providers and outlives the engine."""

    async def close(self) -> None:
        """Leave it to the next engine."""


@pytest.fixture(scope="module", autouse=True)
async def _one_process() -> AsyncIterator[None]:
    """Let all engines of this file talk through the same process: starting it costs seconds."""
    async with anyio.create_task_group() as group:
        kept = Kept(group.start_soon)

        def link(_: object, variables: Iterable[str]) -> Link:
            assert not tuple(variables)
            return kept

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("engine.models.service.Link", link)
            yield
        await Link.close(kept)
        group.cancel_scope.cancel()


def team(server: ModelServer, *names: str, **spec: Any) -> dict[str, Any]:
    """Settings of a supervisor whose models are the server's."""
    models = {name: ModelSpec(model=f"openai/{name}", base_url=server.url, price=PRICE, **spec) for name in names}
    return {"options": SupervisorOptions(models=models)}


async def times(engine: Engine, kind: str) -> list[int]:
    """When events of a kind happened."""
    return [record.at_ms for record in await engine.journal(kind)]


async def test_a_provider_is_left_alone_as_long_as_it_asks_and_what_was_spent_adds_up(
    engine: Engines, server: ModelServer
) -> None:
    server.say(Say(status=429, retry_after_s=90), Say(status=500), Say("Half of an ans", cut_after=2), Say("Done."))
    server.say(Say("Again done.", tokens=(10, 5)))

    async with engine(
        AgentSpec(name="writer", agent_type="SimpleAgent", model="fast", on_failure=(Retry(5),)),
        clock=VirtualClock(),
        **team(server, "fast"),
    ) as running:
        assert await running.ask("Write.") == "Done."
        assert await running.ask("Write.") == "Again done."
        failed, began = await times(running, "model_failed"), await times(running, "attempt_started")
        total, state = running.state.usage, running.state

    assert len(server.seen) == 5
    assert began[1] - failed[0] >= 90_000
    assert len(failed) == 3
    assert total.tokens_in is not None
    assert total.tokens_in > 10
    assert total.cost_usd is not None
    assert [one.usage.tokens_in for one in state.supervisors.values()] == [total.tokens_in]
    assert sum(run.usage.tokens_in or 0 for run in state.finished) == total.tokens_in
    assert sum(run.usage.cost_usd or 0 for run in state.finished) == total.cost_usd


async def test_a_key_that_is_refused_hands_over_to_the_next_model_in_the_same_attempt(
    engine: Engines, server: ModelServer
) -> None:
    server.say(Say(status=401), Say("Done."))

    async with engine(
        AgentSpec(name="writer", agent_type="SimpleAgent", model=("fast", "good")),
        clock=VirtualClock(),
        **team(server, "fast", "good"),
    ) as running:
        assert await running.ask("Write.") == "Done."
        assert len(await running.journal("attempt_started")) == 1

    assert [one.body["model"] for one in server.seen] == ["fast", "good"]


async def test_where_every_model_fails_one_line_names_them(engine: Engines, server: ModelServer) -> None:
    server.say(Say(status=401), Say(status=404))

    async with engine(
        AgentSpec(name="writer", agent_type="SimpleAgent", model=("fast", "good")),
        clock=VirtualClock(),
        **team(server, "fast", "good"),
    ) as running:
        error = await running.fails("Write.")

    assert "fast: " in error
    assert "good: " in error
    assert len(error.splitlines()) == 1
    assert len(server.seen) == 2


async def test_requests_wait_for_their_minute_without_a_slot(engine: Engines, server: ModelServer) -> None:
    specs = [AgentSpec(name=f"writer{n}", agent_type="SimpleAgent", model="fast") for n in range(5)]

    async with engine(*specs, mode="parallel", clock=VirtualClock(), **team(server, "fast", rpm=2)) as running:
        await running.ask("Write.")
        parked, took = await running.journal("attempt_parked"), running.state.at_ms

    assert len(server.seen) == 5
    assert len(parked) == 3
    assert took >= 120_000


async def test_a_run_that_is_cancelled_hangs_up_and_what_its_request_has_used_is_counted(
    engine: Engines, server: ModelServer
) -> None:
    server.say(Say("A long answer that never ends.", stall_after=3))

    async with engine(
        AgentSpec(name="writer", agent_type="SimpleAgent", model="fast"), **team(server, "fast")
    ) as running:
        run_id = await running.submit("Write a long story.")
        await anyio.to_thread.run_sync(server.wait_for, 1)
        await soon(lambda: came(running))
        await running.host.order(Cancel(target=run_id, grace_s=0.1))
        summary, _ = await running.ended(run_id)
        hung_up = await anyio.to_thread.run_sync(server.seen[0].hung_up.wait, PATIENCE_S)
        total = running.state.usage

    assert hung_up
    assert summary.status == "cancelled"
    assert (total.tokens_in or 0) >= len("Write a long story.") // 4
    assert total.tokens_out
    assert summary.usage.tokens_out == total.tokens_out


async def came(running: Engine) -> bool:
    """Whether some of an answer is shown."""
    return any("A long" in text for text in (await running.shown()).values())


async def test_a_key_stands_in_no_file_and_no_log_also_where_its_provider_repeats_it(
    engine: Engines,
    server: ModelServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    monkeypatch.setenv("TEAM_KEY", KEY)
    repeated = f"Incorrect API key provided: {KEY}. You sent Bearer {KEY}."
    server.say(Say(status=401, message=repeated), Say(status=400, message=repeated), Say("Done."))
    spec = AgentSpec(name="writer", agent_type="SimpleAgent", model=("fast", "good"))

    async with engine(spec, path=tmp_path / "team.db", **team(server, "fast", "good", key_env="TEAM_KEY")) as running:
        error = await running.fails("Write.")
        await running.ask("Write.")
        await running.host.stop()

    assert [seen.headers["Authorization"] for seen in server.seen] == [f"Bearer {KEY}"] * 3
    assert "Incorrect API key provided: [key]" in error
    assert contents(tmp_path)
    assert all(KEY.encode() not in content for content in contents(tmp_path))
    assert KEY not in caplog.text


def contents(folder: Path) -> list[bytes]:
    """What stands in the files of a folder."""
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


async def test_an_answer_that_is_cut_short_for_a_message_is_let_go_of_and_asked_for_anew(
    engine: Engines, server: ModelServer
) -> None:
    server.say(Say("A long story that never ends", stall_after=3), Say("Only facts, then."))

    writer = AgentSpec(name="writer", agent_type="ReactAgent", model="fast")
    async with engine(writer, clock=VirtualClock(), **team(server, "fast")) as running:
        run = await running.submit("Write.")

        async def streams() -> bool:
            return any("story" in text for text in (await running.shown()).values())

        await soon(streams)
        await running.host.order(Steer(target="writer", text="Only facts", now=True))
        summary, output = await running.ended(run)

    assert output == "Only facts, then."
    assert await anyio.to_thread.run_sync(lambda: server.seen[0].hung_up.wait(PATIENCE_S))
    assert [one["content"] for one in server.seen[1].body["messages"][1:]] == ["Write.", "Only facts"]
    assert len(server.seen) == 2
    assert summary.usage.cost_usd is not None
    assert summary.usage.tokens_in is not None
    assert summary.usage.tokens_in > sum(len(one.body["messages"]) for one in server.seen[1:])
