"""Rows that somebody wrote into the inbox by hand: each is refused in one line, and the engine goes on."""

import json
import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.core.commands import AddAgent, Command, LoadTeam, Pause, Ping, Submit, SupervisorSpec
from engine.core.encoding.codec import decode_command, encode_command
from engine.core.errors import BadValue
from engine.core.queries.team.code import references_in_command
from engine.core.specs.spec import AgentSpec
from store import CommandRow, CommandTooLarge, InboxClient
from store.journals.records import MAX_COMMAND_BYTES
from tests.depth import examples
from tests.runtime.engines import Engine, running, soon

pytestmark = pytest.mark.anyio

TARGETS: list[Command] = [
    Ping(),
    Submit(request={"a": [1, "two", None]}, deadline_s=5.0),
    AddAgent(supervisor=None, spec=AgentSpec(name="ada", run="crew:ada", tools=["crew:search"])),
    LoadTeam(path="/team.yaml", folder="/", text="", sha256="0", team=SupervisorSpec(name="chief", members=[])),
]


def valid(command: Command) -> tuple[object, ...]:
    return (command.type, encode_command(command), "test", "operator", 1)


def write(path: Path, *rows: tuple[object, ...]) -> None:
    """Write rows `(id, kind, body, sender, role, at_ms)` as no client of ours does."""
    with InboxClient(path) as client:
        client.put(CommandRow("first", "ping", b"{}", "test", "operator", 1))
    with closing(sqlite3.connect(f"{path.with_suffix('')}.db-inbox")) as inbox, inbox:
        text = "CAST(? AS TEXT)"
        for row in rows:
            # Bytes in a list stand for a text that is not UTF-8.
            values = ", ".join(text if isinstance(one, list) else "?" for one in row)
            plain = [one[0] if isinstance(one, list) else one for one in row]
            inbox.execute(f"INSERT INTO commands (id, kind, body, sender, role, at_ms) VALUES ({values})", plain)


async def refusals(engine: Engine, rows: int) -> list[str]:
    """Return why rows were refused, once all of them were; the engine still answers then."""

    async def told() -> list[str]:
        found = [json.loads(record.body) for record in await engine.journal("command_refused")]
        return [str(one["reason"]) for one in found] if len(found) == rows else []

    found = await soon(told)
    await engine.host.order(Ping())
    return found


HOSTILE: dict[str, tuple[object, ...]] = {
    "garbage": ("c1", "submit", b"\x00\xff\xfe", "", "", 1),
    "text that is no UTF-8": ("c1", [b"\xff\xfe"], [b"\xff"], [b"\xc3\x28"], [b"\x80"], 1),
    "an id that is no text": (b"\xff\x00", "ping", b"{}", "", "", 1),
    "an id that is no UTF-8": ([b"\xff"], "ping", b"{}", "", "", 1),
    "an empty id": ("", "ping", b"{}", "", "", 1),
    "an id of a megabyte": ("c" * 1_000_000, "ping", b"{}", "", "", 1),
    "an id with control characters": ("c\0\x1b[2J\n", "ping", b"{}", "", "", 1),
    "an unknown kind": ("c1", "rm -rf", b"{}", "", "", 1),
    "a kind in lines": ("c1", "ping\n\x1b[2Jping", b"{}", "", "", 1),
    "numbers": (7, 8, 9, 10, 11.5, "soon"),
    "blobs": ("c1", b"submit", b"{", b"me", b"operator", b"\xff"),
    "a sender of a megabyte": ("c1", "ping", b"{}", "x" * 1_000_000, "viewer", 1),
    "too large": ("c1", "submit", b'{"request": "' + b"x" * MAX_COMMAND_BYTES + b'"}', "", "", 1),
    "not a number": ("c1", "submit", b'{"request": NaN}', "", "", 1),
    "infinity": ("c1", "submit", b'{"request": 1e999}', "", "", 1),
    "half a character": ("c1", "submit", b'{"request": "\\ud800"}', "", "", 1),
    "a key twice": ("c1", "submit", b'{"request": 1, "request": 2}', "", "", 1),
    "a key in lines": ("c1", "submit", b'{"request": 1, "a\\nb\\u001b[2J": 2}', "", "", 1),
    "endless depth": ("c1", "submit", b'{"request": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "", "", 1),
    "trust in the same breath": (
        "c1", "add_agent", b'{"supervisor": null, "spec": {"name": "a", "run": "os:getcwd"}, "trusted": ["os:getcwd"]}',
        "root", "operator", 1,
    ),
    "code that nobody allowed": (
        "c1", "add_agent", b'{"supervisor": null, "spec": {"name": "a", "run": "os:getcwd"}}', "root", "operator", 1,
    ),
    "a team file that is none": (
        "c1", "load_team",
        b'{"path": "/\\u0000", "folder": "/", "text": "", "sha256": "", "team": {"name": "x", "members": '
        b'[{"name": "a", "run": "os:getcwd"}]}}', "", "", 1,
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_row_is_refused_in_one_line_and_the_engine_goes_on(
    row: tuple[object, ...], tmp_path: Path
) -> None:
    path = tmp_path / "team.db"
    async with running(AgentSpec(name="echo", run=echo), path=path) as engine:
        write(path, row)

        (reason,) = await refusals(engine, 1)

        assert reason == "".join(one for one in reason if one.isprintable())
        assert 10 < len(reason) <= 500
        assert await engine.ask("still there") == "still there"
        assert await soon(partial(is_empty, engine))  # outcomes are written into it a moment after the journal
        assert set(engine.state.trusted) <= {"tests.runtime.test_hostile_inbox:echo"}


async def is_empty(engine: Engine) -> bool:
    return not await engine.store.inbox.pending()


async def echo(text: str) -> str:
    return text


numbers = st.integers() | st.floats(allow_nan=False)  # SQLite keeps a NaN as NULL, which no column takes
anything = st.none() | st.booleans() | numbers | st.text(max_size=5) | st.binary(max_size=5)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[object, ...]:
    """A row of a valid command with bytes, a value or a column changed; without its id."""
    row = list(valid(draw(st.sampled_from(TARGETS))))
    how = draw(st.sampled_from(["bytes", "value", "column"]))
    if how == "column":
        column = draw(st.integers(0, 4))
        value = draw(anything)
        row[column] = [value] if isinstance(value, bytes) else "" if value is None else value
        return tuple(one if not isinstance(one, int) or abs(one) < 2**63 else str(one) for one in row)
    body = bytes(row[1])  # type: ignore[call-overload]
    if how == "bytes":
        at = draw(st.integers(0, len(body)))
        row[1] = body[:at] + draw(st.binary(max_size=4)) + body[at + draw(st.integers(0, 3)) :]
        return tuple(row)
    found = json.loads(body)
    name = draw(st.sampled_from(sorted(found)))
    found[name] = draw(anything.filter(lambda one: not isinstance(one, bytes)) | st.just([found[name]]))
    row[1] = json.dumps(found).encode()
    return tuple(row)


@settings(max_examples=10)
@given(st.data())
def test_mutated_rows_never_stop_the_engine_and_bring_no_code(data: st.DataObject) -> None:
    rows = [(f"c{number}", *data.draw(mutated())) for number in range(data.draw(st.integers(1, 12)))]
    anyio.run(_taken, rows)


async def _taken(rows: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.db"
        async with running(path=path) as engine:
            write(path, *rows)
            await soon(partial(is_empty, engine))

            assert engine.host.stopped is None
            assert engine.state.trusted == {}
            assert all("\n" not in json.loads(one.body)["reason"] for one in await engine.journal("command_refused"))


@settings(max_examples=examples(30))
@given(mutated())
def test_a_body_is_a_command_or_refused(row: Any) -> None:
    kind, body = row[:2]
    if not isinstance(kind, str) or not isinstance(body, bytes):
        return
    with suppress(ValueError):
        command = decode_command(kind, body)
        assert all(isinstance(one, str) for one in references_in_command(command))


def test_a_command_larger_than_an_inbox_takes_is_refused_where_it_is_sent() -> None:
    with pytest.raises(CommandTooLarge, match=r"the command has 8\.0 MB, and at most 8 MB are taken: pass large data"):
        CommandRow("c1", "submit", b"x" * (MAX_COMMAND_BYTES + 1), "", "", 1)


@pytest.mark.parametrize("request_", [float("nan"), float("inf"), "half \ud800", {"a": ["\udfff"]}])
def test_what_an_engine_would_not_read_is_refused_where_it_is_sent(request_: Any) -> None:
    with pytest.raises(BadValue, match=r"^submit cannot be written as JSON: "):
        encode_command(Submit(request=request_))


async def test_a_pause_by_a_person_is_read_before_all_that_others_have_queued(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    async with running(AgentSpec(name="ada", run=echo), path=path):
        pass
    queued: list[tuple[str, Command]] = [("a", Submit(request="go")), ("a", Ping()), ("b", Pause(target="ada"))]
    with InboxClient(path) as client:
        for sender, one in queued:
            client.put(CommandRow(one.type, one.type, encode_command(one), sender, "operator", 1))

    async with running(path=path) as engine:

        async def applied() -> list[str]:
            said = [json.loads(one.body)["command"] for one in await engine.journal("command_applied")]
            return said[1:] if len(said) == 4 else []

        assert await soon(applied) == ["pause", "submit", "ping"]
