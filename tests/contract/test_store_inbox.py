"""The inbox: a command gets in once, stays until it is settled, and keeps its first outcome."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import CommandOutcome, CommandRow, InboxClient, MissingFile, NotOurFile, StoreBusy, open_store
from store.inbox import MAX_OUTCOMES
from store.layout.connection import retry_delays_s
from tests.depth import examples
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.anyio


def command(id: str, body: bytes = b"{}") -> CommandRow:
    return CommandRow(id, "swap_agent", body, "ann", "operator", 1_700_000_000_000)


def applied(id: str, seq: int = 1) -> CommandOutcome:
    return CommandOutcome(id, "applied", seq, None, b'{"ok": true}')


def refused(id: str) -> CommandOutcome:
    return CommandOutcome(id, "refused", 2, 'no agent "é"', None)


def pending(id: str) -> CommandOutcome:
    return CommandOutcome(id, "pending", None, None, None)


async def test_commands_are_taken_by_a_bounded_number_of_bytes_at_once(tmp_path: Path) -> None:
    sent = [command(f"c{one}", b"x" * 6_000_000) for one in range(5)]
    async with open_store(tmp_path / "team.db") as store:
        with InboxClient(tmp_path / "team.db") as client:
            client.put(*sent)
            assert client.pending() == sent
        assert await store.inbox.pending() == sent[:3]
        await store.inbox.settle([applied("c0"), applied("c1")])
        assert await store.inbox.pending() == sent[2:]


steps = st.lists(st.tuples(st.sampled_from(["put", "apply", "refuse"]), st.sampled_from("abcd")), max_size=12)


@given(steps)
def test_every_id_gets_in_once_and_keeps_its_first_outcome(steps: list[tuple[str, str]]) -> None:
    async def played() -> None:
        queued: list[str] = []
        ended: dict[str, CommandOutcome] = {}
        async with open_store(":memory:") as store:
            for what, id in steps:
                if what == "put":
                    await store.inbox.put(command(id))
                    queued += [id] if id not in queued else []
                else:
                    outcome = applied(id) if what == "apply" else refused(id)
                    await store.inbox.settle([outcome])
                    if id in queued:
                        ended.setdefault(id, outcome)

                assert [one.id for one in await store.inbox.pending()] == [id for id in queued if id not in ended]
            for id in "abcd":
                expected = ended.get(id) or (pending(id) if id in queued else None)
                assert await store.inbox.outcome(id) == expected

    anyio.run(played)


@settings(max_examples=examples(20))
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["submit", "pause"]), st.booleans()), max_size=10))
def test_commands_of_the_first_kinds_pass_those_of_other_senders_and_never_their_own(
    sent: list[tuple[str, str, bool]],
) -> None:
    async def played() -> None:
        async with open_store(":memory:") as store:
            rows = [
                CommandRow(f"c{place}", kind, b"x" * (70_000 if is_long else 2), sender, "operator", 1)
                for place, (sender, kind, is_long) in enumerate(sent)
            ]
            for row in rows:
                await store.inbox.put(row)
            taken: list[CommandRow] = []
            while left := [row for row in rows if row not in taken]:
                found = await store.inbox.pending(1, priority_kinds=["pause"])
                blocked: set[str] = set()
                ahead = []
                for row in left:
                    if row.kind == "pause" and len(row.body) < 70_000 and row.sender not in blocked:
                        ahead.append(row)
                    elif row.kind != "pause" or len(row.body) >= 70_000:
                        blocked.add(row.sender)
                assert found == list(dict.fromkeys([*ahead, left[0]]))
                await store.inbox.settle([applied(row.id) for row in found])
                taken += found
            for sender in "ab":
                own = [row for row in taken if row.sender == sender]
                assert own == [row for row in rows if row.sender == sender]

    anyio.run(played)


async def test_a_pause_behind_thousands_of_commands_of_others_comes_with_the_next_read(tmp_path: Path) -> None:
    queued = [CommandRow(f"c{place}", "submit", b"{}", f"sender {place % 3}", "operator", 1) for place in range(3_000)]
    pause = CommandRow("pause", "pause", b"{}", "ann", "operator", 2)
    async with open_store(tmp_path / "team.db") as store:
        with InboxClient(tmp_path / "team.db") as client:
            client.put(*queued, pause)
            assert client.pending(10) == queued[:10]

        assert await store.inbox.pending(10, priority_kinds=["pause"]) == [pause, *queued[:10]]


async def test_a_pause_comes_ahead_of_commands_without_a_valid_id_too(tmp_path: Path) -> None:
    pause = CommandRow("pause", "pause", b"{}", "bob", "operator", 2)
    async with open_store(tmp_path / "team.db") as store:
        with InboxClient(tmp_path / "team.db") as client:
            client.put(command("c1"), pause)
        with closing(sqlite3.connect(tmp_path / "team.db-inbox", isolation_level=None)) as connection:
            connection.execute("UPDATE commands SET id = '' WHERE id = 'c1'")

        ahead, unnamed = await store.inbox.pending(1, priority_kinds=["pause"])
        assert ahead == pause
        assert unnamed.id.startswith("unnamed-")


async def test_commands_wait_in_the_order_of_their_arrival_and_come_back_whole(target: Path) -> None:
    sent = [CommandRow(f"c{n}", "add", f'{{"é": {n}}}'.encode(), "ann", "admin", n) for n in range(5)]
    async with open_store(target) as store:
        for one in sent:
            await store.inbox.put(one)

        assert await store.inbox.pending() == sent
        assert await store.inbox.pending(limit=2) == sent[:2]
        await store.inbox.settle([applied("c0"), refused("c1")])
        assert await store.inbox.pending(limit=2) == sent[2:4]
        assert await store.inbox.outcome("c0") == applied("c0")
        assert await store.inbox.outcome("c1") == refused("c1")
        assert await store.inbox.outcome("c2") == pending("c2")
        assert await store.inbox.outcome("nobody") is None


async def test_a_command_that_arrives_ends_the_wait(target: Path) -> None:
    async with open_store(target) as store, store.inbox.arrivals() as arrivals, anyio.create_task_group() as group:
        group.start_soon(store.inbox.put, command("c1"))
        with anyio.fail_after(PATIENCE_S):
            await arrivals

        assert [one.id for one in await store.inbox.pending()] == ["c1"]


async def test_what_was_pending_before_ends_the_first_wait_and_what_is_left_over_the_next(target: Path) -> None:
    async with open_store(target) as store:
        for n in range(3):
            await store.inbox.put(command(str(n)))
        seen: list[str] = []
        async with store.inbox.arrivals() as arrivals:
            with anyio.fail_after(PATIENCE_S):
                while len(seen) < 3:
                    await arrivals.wait()
                    for one in await store.inbox.pending(limit=1):
                        seen.append(one.id)
                        await store.inbox.settle([applied(one.id)])

        assert seen == ["0", "1", "2"]


async def test_waiting_for_arrivals_ends_at_once_when_it_is_cancelled(target: Path) -> None:
    async with open_store(target) as store:
        with anyio.fail_after(PATIENCE_S):
            with anyio.move_on_after(0.01) as scope:
                async with store.inbox.arrivals() as arrivals:
                    await arrivals
            assert scope.cancelled_caught


async def test_a_client_in_another_thread_queues_and_learns_what_became_of_it(tmp_path: Path) -> None:
    path = tmp_path / "team.db"

    def client_puts() -> None:
        with InboxClient(path) as client:
            client.put(command("c1"))
            client.put(command("c1", b'{"second": 1}'))
            assert client.outcome("c1") == pending("c1")
            assert [one.body for one in client.pending()] == [b"{}"]

    def client_asks() -> CommandOutcome | None:
        with InboxClient(path) as client:
            return client.outcome("c1")

    async with open_store(path) as store, store.inbox.arrivals() as arrivals:
        await anyio.to_thread.run_sync(client_puts)
        with anyio.fail_after(PATIENCE_S):
            await arrivals
        assert await store.inbox.pending() == [command("c1")]
        await store.inbox.settle([applied("c1", 7)])

        assert await anyio.to_thread.run_sync(client_asks) == applied("c1", 7)


async def test_a_command_queued_without_an_engine_waits_for_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path):
        pass
    for name in ("team.db-inbox", "team.db-live", "team.db-lock"):
        (tmp_path / name).unlink()
    with InboxClient(path) as client:
        assert client.pending() == []
        assert client.outcome("c1") is None
        client.put(command("c1"))

        assert (tmp_path / "team.db-inbox").stat().st_mode & 0o777 == 0o600
    async with open_store(path) as store:
        assert await store.inbox.pending() == [command("c1")]


def test_a_client_of_a_database_that_is_not_there_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        InboxClient(tmp_path / "team.db")
    assert list(tmp_path.iterdir()) == []


async def test_clients_that_write_at_once_all_get_in(tmp_path: Path) -> None:
    path = tmp_path / "team.db"

    def put_ten(who: int) -> None:
        with InboxClient(path) as client:
            for n in range(10):
                client.put(command(f"{who}-{n}"))

    async with open_store(path) as store:
        async with anyio.create_task_group() as group:
            for who in range(4):
                group.start_soon(anyio.to_thread.run_sync, put_ten, who)

        arrived = [one.id for one in await store.inbox.pending()]
        assert sorted(arrived) == sorted(f"{who}-{n}" for who in range(4) for n in range(10))
        assert [id for id in arrived if id.startswith("2-")] == [f"2-{n}" for n in range(10)]


async def test_a_client_stopped_inside_its_write_locks_nobody_out_of_the_journal(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        await store.inbox.put(command("c1"))
        with write_lock_on(tmp_path / "team.db-inbox"):
            with anyio.fail_after(PATIENCE_S):
                await store.inbox.settle([applied("c1")])

            assert await store.inbox.pending() == []
            assert await store.inbox.outcome("c1") == applied("c1")
        await store.inbox.settle([])
        with InboxClient(tmp_path / "team.db") as client:
            assert client.outcome("c1") == applied("c1")


async def test_a_client_gives_up_on_a_locked_inbox_and_says_so(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db"):
        pass
    with InboxClient(tmp_path / "team.db", timeout_s=0.02) as client:
        client.put(command("c1"))
        with write_lock_on(tmp_path / "team.db-inbox"), pytest.raises(StoreBusy) as busy:
            client.put(command("c2"))

    assert busy.value.path == tmp_path / "team.db-inbox"
    assert str(busy.value).endswith("by other senders for 0.02 s, so the command was not sent: send it again")


def test_waits_for_a_lock_are_random_and_grow_to_a_bound() -> None:
    delays_s = list(islice(retry_delays_s(), 400))

    assert max(delays_s[:1]) <= 0.001
    assert max(delays_s) <= 0.032
    assert sum(delays_s[200:]) > 20 * sum(delays_s[:6])
    assert len(set(delays_s)) == 400


async def test_the_log_of_the_inbox_stays_short_while_an_engine_runs(tmp_path: Path) -> None:
    async with open_store(tmp_path / "team.db") as store:
        for n in range(24):
            await store.inbox.put(command(str(n), b"x" * 500_000))
            await store.inbox.settle([applied(str(n))])

        assert (tmp_path / "team.db-inbox-wal").stat().st_size < 8 * 1024 * 1024


async def test_an_inbox_left_over_from_another_database_is_replaced_unless_commands_wait_in_it(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.inbox.put(command("old"))
        await store.inbox.settle([applied("old")])
    path.unlink()
    async with open_store(path) as store:
        assert await store.inbox.outcome("old") is None
        await store.inbox.put(command("waiting"))
    path.unlink()

    with pytest.raises(NotOurFile, match=r"commands for another database.*delete it"):
        async with open_store(path):
            pass


async def test_old_outcomes_are_forgotten_and_waiting_commands_never(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path) as store:
        await store.inbox.put(command("waits"))
        await store.inbox.put(command("old"))
        await store.inbox.settle([applied("old")])
        fill_inbox(tmp_path / "team.db-inbox", MAX_OUTCOMES)
        await store.inbox.settle([applied(f"f{n}") for n in range(MAX_OUTCOMES)])

        assert await store.inbox.outcome("old") is None
        assert await store.inbox.outcome(f"f{MAX_OUTCOMES - 1}") is not None
        assert [one.id for one in await store.inbox.pending()] == ["waits"]


def fill_inbox(path: Path, commands: int) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.executemany(
            "INSERT INTO commands (id, kind, body, sender, role, at_ms) VALUES (?, 'k', '{}', 's', 'r', 0)",
            [(f"f{n}",) for n in range(commands)],
        )
    connection.close()


@contextmanager
def write_lock_on(path: Path) -> Iterator[None]:
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def test_a_client_gives_its_commands_to_the_inbox_that_stands_there_now(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with open_store(path):
        pass
    with InboxClient(path) as client:
        client.put(command("a"))
        for name in ("team.db-inbox", "team.db-inbox-wal", "team.db-inbox-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        async with open_store(path) as store:
            client.put(command("b"))

            assert [one.id for one in await store.inbox.pending()] == ["b"]
