"""Which pending commands a read takes: first those that may pass others, each once, and never past its own sender."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import takewhile

from hypothesis import given, settings
from hypothesis import strategies as st

from store import CommandRow
from store.journals.statements import parse_command, pending_commands, put_commands
from store.layout.migrations import INBOX
from store.layout.sidecar_files import lay_out
from tests.depth import examples

LARGEST_FIRST_BYTES, MOST_FIRST = 65_536, 100


@contextmanager
def inbox(rows: list[CommandRow]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        lay_out(connection, INBOX, {"file_id": "f"})
        connection.execute(*put_commands(rows))
        yield connection


def taken(connection: sqlite3.Connection, **limits: object) -> list[CommandRow | None]:
    return [parse_command(row) for row in connection.execute(*pending_commands(**limits))]  # type: ignore[arg-type]


COMMANDS = st.tuples(
    st.sampled_from("ab"), st.sampled_from(["submit", "pause", "stop"]),
    st.sampled_from([2, 2, LARGEST_FIRST_BYTES, LARGEST_FIRST_BYTES + 1]), st.sampled_from([False, False, True]),
)  # fmt: skip


@settings(max_examples=examples(60))
@given(st.lists(COMMANDS, min_size=1, max_size=9), st.integers(1, 4))
def test_commands_that_are_left_out_hold_nobody_up_and_are_not_read(
    sent: list[tuple[str, str, int, bool]], limit: int
) -> None:
    rows = [
        CommandRow(f"c{place}", kind, b"x" * size, sender, "operator", 1)
        for place, (sender, kind, size, _) in enumerate(sent)
    ]
    left_out = {row.id for row, (*_, is_out) in zip(rows, sent, strict=True) if is_out}
    read = [row for row in rows if row.id not in left_out]
    first: list[CommandRow] = []
    for sender in "ab":
        own = [row for row in read if row.sender == sender]
        first += takewhile(lambda row: row.kind != "submit" and len(row.body) <= LARGEST_FIRST_BYTES, own)
    ahead = [row for row in read if row in first]
    expected = [*ahead, *(row for row in read[:limit] if row not in ahead)]

    with inbox(rows) as connection:
        assert taken(connection, limit=limit, excluded_ids=left_out, priority_kinds={"pause", "stop"}) == expected
        assert taken(connection, limit=limit, excluded_ids=left_out) == read[:limit]


def test_no_more_than_a_hundred_come_ahead_and_those_are_the_oldest() -> None:
    rows = [CommandRow("c", "submit", b"{}", "ann", "operator", 1)]
    rows += [
        CommandRow(f"p{place}", "pause", b"{}", f"s{place % 7}", "operator", 1) for place in range(MOST_FIRST + 20)
    ]
    with inbox(rows) as connection:
        assert taken(connection, limit=1, priority_kinds=["pause"]) == [*rows[1 : MOST_FIRST + 1], rows[0]]
