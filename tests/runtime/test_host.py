"""The host: orders in, events on disk, outcomes out; once, in order, also after a crash."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from engine.core.commands import ImportState, Ping, StopEngine, Submit
from engine.core.decide import ON_COMMAND
from engine.core.encoding.codec import encode_command
from engine.core.signals import AttemptSucceeded, StepFinished
from engine.core.specs.spec import AgentSpec
from engine.errors import CommandRefusedError, Defect, HostStopped, UnknownRun
from engine.host.host import Host
from store import CommandRow, InboxClient
from store.layout.opening import open_store
from tests.runtime.engines import Engine, Engines, running, soon

pytestmark = pytest.mark.anyio


async def echo(text: str) -> str:
    return text


ECHO = AgentSpec(name="echo", run=echo)


async def outcome(running: Engine, command_id: str) -> Any:
    """Return what the inbox says of a command, once it says it."""

    async def settled() -> Any:
        found = await running.store.inbox.outcome(command_id)
        return found if found is not None and found.state != "pending" else None

    return await soon(settled)


def row(command_id: str, command: Any) -> CommandRow:
    return CommandRow(command_id, command.type, encode_command(command), "test", "operator", 1)


async def test_a_refused_order_says_why_and_changes_nothing(engine: Engines) -> None:
    async with engine(ECHO) as running:
        with pytest.raises(CommandRefusedError) as refused:
            await running.host.order(Submit(request="x", supervisor="taem"))

    assert refused.value.code == "unknown_supervisor"
    assert "team" in refused.value.reason


async def test_an_order_that_cannot_be_written_is_refused(engine: Engines) -> None:
    async with engine(ECHO) as running:
        with pytest.raises(CommandRefusedError) as refused:
            await running.host.order(Submit(request="half \ud83d"))

        assert refused.value.code == "bad_value"
        assert await running.ask("whole") == "whole"


async def test_a_second_order_with_the_same_id_is_not_carried_out(engine: Engines) -> None:
    async with engine(ECHO) as running:
        first = await running.host.order(Submit(request="x"), id="one")
        second = await running.host.order(Submit(request="x"), id="one")

        assert second.seq == first.seq
        assert running.state.runs_total == 1


async def test_orders_with_the_same_id_at_once_are_carried_out_once(engine: Engines) -> None:
    async with engine(ECHO) as running:
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(lambda: running.host.order(Submit(request="x"), id="one"))

        assert running.state.runs_total == 1


async def test_a_command_of_another_process_is_carried_out_and_settled(engine: Engines, tmp_path: Path) -> None:
    async with engine(ECHO, path=tmp_path / "team.db") as running:
        with InboxClient(tmp_path / "team.db") as client:
            client.put(row("c1", Submit(request="from outside")))
        found = await outcome(running, "c1")

        assert found.state == "applied"
        assert b'"run_id": "r1"' in found.result


async def test_a_command_that_cannot_be_read_is_refused_and_the_next_one_works(engine: Engines) -> None:
    async with engine(ECHO) as running:
        await running.store.inbox.put(CommandRow("c1", "dance", b"{}", "test", "operator", 1))
        await running.store.inbox.put(CommandRow("c2", "submit", b'{"type": "submit"}', "test", "operator", 1))
        await running.store.inbox.put(row("c3", Ping()))

        assert "unknown command 'dance'" in (await outcome(running, "c1")).reason
        assert "request" in (await outcome(running, "c2")).reason
        assert (await outcome(running, "c3")).state == "applied"


async def test_more_commands_than_are_taken_at_once_are_all_carried_out(engine: Engines) -> None:
    async with open_store(":memory:") as store, anyio.create_task_group() as group:
        for number in range(1200):
            await store.inbox.put(row(f"c{number}", Ping()))
        host = Host(store)
        await group.start(host.run)

        found = await outcome(Engine(host, store), "c1199")
        await host.stop()

    assert found.state == "applied"


async def test_a_command_that_was_decided_before_the_crash_is_only_settled_after_it(tmp_path: Path) -> None:
    async with running(ECHO, path=tmp_path / "team.db") as before:
        applied = await before.host.order(Submit(request="x"), id="c1")
        await before.ended("r1")

    async with open_store(tmp_path / "team.db") as store:
        await store.inbox.put(row("c1", Submit(request="x")))
    async with running(path=tmp_path / "team.db") as after:
        found = await outcome(after, "c1")

        assert (found.state, found.seq) == ("applied", applied.seq)
        assert after.state.runs_total == 1


async def test_events_are_heard_in_order_with_their_seqs(engine: Engines) -> None:
    async with engine(ECHO) as running:
        with running.host.subscribe() as events:
            begin = running.state.seq
            await running.ask()
            heard = [await anext(events) for _ in range(running.state.seq - begin)]
        kinds = [record.kind for record in (await running.journal())[begin:]]

    assert [event.type for _, event in heard] == kinds
    assert [seq for seq, _ in heard] == list(range(begin + 1, begin + 1 + len(kinds)))


@pytest.mark.parametrize("where", ["memory", "file"])
async def test_a_slow_reader_gets_every_event_from_the_journal_where_there_was_no_room(
    engine: Engines, tmp_path: Path, where: str
) -> None:
    async with engine(ECHO, path=":memory:" if where == "memory" else tmp_path / "team.db") as running:
        with running.host.subscribe(buffered=3) as events:
            begin = running.state.seq
            await running.ask()
            heard = [await anext(events) for _ in range(running.state.seq - begin)]
            await running.ask()
            heard += [await anext(events) for _ in range(running.state.seq - heard[-1][0])]
        kinds = [record.kind for record in (await running.journal())[begin:]]

    assert [event.type for _, event in heard] == kinds
    assert [seq for seq, _ in heard] == list(range(begin + 1, begin + 1 + len(kinds)))


async def test_a_subscription_ends_with_the_engine(engine: Engines) -> None:
    async with engine(ECHO) as running:
        with running.host.subscribe() as events:
            await running.host.stop("done")
            kinds = [event.type async for _, event in events]

    assert kinds == ["engine_stopped"]


async def test_nothing_can_be_ordered_after_the_end(engine: Engines) -> None:
    async with engine(ECHO) as running:
        await running.host.order(StopEngine())
        await running.host.stop()

        with pytest.raises(HostStopped):
            await running.host.order(Ping())


async def test_who_waits_for_a_run_is_told_when_the_engine_ends_first(engine: Engines) -> None:
    async def forever(text: str) -> str:
        await anyio.sleep_forever()
        return "never"

    told = []

    async def wait(running: Engine, run_id: str) -> None:
        with pytest.raises(HostStopped):
            await running.host.run_ended(run_id)
        told.append(run_id)

    async with engine(AgentSpec(name="forever", run=forever)) as running, anyio.create_task_group() as group:
        group.start_soon(wait, running, await running.submit())
        await running.host.stop()

    assert told == ["r1"]


async def test_an_unknown_run_is_an_error(engine: Engines) -> None:
    async with engine(ECHO) as running:
        with pytest.raises(UnknownRun):
            await running.host.run_ended("r99")


async def test_a_defect_in_deciding_is_said_and_the_team_goes_on(
    engine: Engines, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[Exception | None] = []

    async def lead(task: Any, ctx: Any) -> str:
        broken = StepFinished(task_id=task.id, attempt=1, name="x", key="x", output=object())  # type: ignore[arg-type]
        host.signal(broken, heard.append)
        return await ctx.step("fine", echo, "on and on") or ""

    async with engine(AgentSpec(name="lead", run=lead)) as running:
        host = running.host

        assert await running.ask() == "on and on"
        assert len(await running.journal("signal_dropped")) == 1
    assert isinstance(heard[0], Defect)
    assert sum("a defect in deciding StepFinished" in record.message for record in caplog.records) == 1


async def test_a_defect_in_deciding_a_command_is_told_as_one_and_logged_with_its_traceback(
    engine: Engines, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Any:
        raise ValueError("'x' is not in list")

    monkeypatch.setitem(ON_COMMAND, Ping, broken)
    async with engine(ECHO) as running:
        with pytest.raises(CommandRefusedError, match="a defect in the engine, please report it") as refused:
            await running.host.order(Ping())

        assert refused.value.code == "defect"
        assert await running.ask("on and on") == "on and on"
    (record,) = (one for one in caplog.records if "a defect in deciding ping" in one.message)
    assert record.exc_info is not None


async def test_a_caller_that_is_cancelled_leaves_nothing_behind_until_the_run_ends(engine: Engines) -> None:
    async def forever(text: str) -> None:
        await anyio.sleep_forever()

    async with engine(AgentSpec(name="forever", run=forever)) as running:
        run_id = await running.submit()
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(running.host.run_ended, run_id)
            await anyio.wait_all_tasks_blocked()
            assert len(running.host._run_slots[run_id]) == 5
            group.cancel_scope.cancel()

        assert running.host._run_slots == {}


async def test_an_end_that_cannot_be_decided_fails_its_attempt(engine: Engines) -> None:
    begun = anyio.Event()

    async def forever(text: str) -> str:
        begun.set()
        await anyio.sleep_forever()
        return "never"

    async with engine(AgentSpec(name="forever", run=forever)) as running:
        run_id = await running.submit()
        await begun.wait()
        (task_id,) = (task.id for task in running.state.tasks.values() if task.kind == "agent")
        running.host.signal(AttemptSucceeded(task_id=task_id, attempt=1, output=object()))  # type: ignore[arg-type]
        summary, _ = await running.ended(run_id)

    assert "a defect in the engine" in (summary.error or "")


async def test_an_archive_that_cannot_be_read_is_refused_with_the_reason(engine: Engines, tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(b"no archive")
    async with engine(ECHO) as running:
        with pytest.raises(CommandRefusedError) as refused:
            await running.host.order(ImportState(path=str(path), sha256="0"))

    assert "x.zip" in refused.value.reason


async def test_the_code_of_an_agent_that_nobody_trusts_is_not_imported(engine: Engines, tmp_path: Path) -> None:
    tmp_path.joinpath("hostile.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    async with engine(host={"folder": tmp_path, "is_program": False}) as running:
        with pytest.raises(CommandRefusedError) as refused:
            await running.hire(AgentSpec(name="bad", run="hostile:run"))

        assert refused.value.code == "not_trusted"


async def test_code_that_is_not_there_puts_the_agent_in_error_in_words(engine: Engines) -> None:
    async with engine(AgentSpec(name="gone", run="no_such_module_here:run")) as running:
        await running.until(lambda state: "no module 'no_such_module_here'" in (state.agents["a1"].error or ""))
