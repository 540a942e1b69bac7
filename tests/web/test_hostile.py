"""The web server against what a browser would not send, what does not read, and what hangs."""

import asyncio
import itertools
import json
import os
import resource
import signal
import socket
import ssl
import sys
import tempfile
import zlib
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import anyio
import pytest
from anyio.lowlevel import checkpoint
from textual_serve.download_manager import DownloadManager

from dashboard.web.gate import RequestGate
from dashboard.web.running import CrowdingHandler, serve_until_signal
from dashboard.web.server import ServerOptions
from dashboard.web.session import PIECE_BYTES, WINDOW_BYTES, Launch, Session
from tests.patience import PATIENCE_S
from tests.web.visitor import Served, Visitor, inside, listening, served, visitor

pytestmark = pytest.mark.anyio
UNKNOWN = 4005


async def test_garbage_ends_the_tab_that_sent_it_and_no_other(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as good:
        await good.sees("scout")
        async with ann.tab() as tab:
            await tab.socket.send_str('["exec","id"]')
            assert (await tab.closed())[0] == UNKNOWN
        async with ann.tab() as tab:
            await tab.socket.send_str('["drawn",-1]')
            assert (await tab.closed())[0] == UNKNOWN
        async with ann.tab() as tab:
            await tab.socket.send_bytes(b"\xff" * 10)
            assert (await tab.closed())[0] == aiohttp.WSCloseCode.UNSUPPORTED_DATA
        await good.type("5")
        await good.sees("lib/glob.py")


NO_HTTP = (
    b"\x16\x03\x01\x00\r\n\r\n",
    b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000,
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
)


async def test_what_is_no_http_is_refused_and_fills_no_terminal(db: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with served(db) as at:
        host, _, port = at.base.removeprefix("http://").partition(":")
        for sent in NO_HTTP:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            with anyio.fail_after(PATIENCE_S):
                assert b" 400 " in await reader.readline()
            writer.close()
    assert capfd.readouterr().err == ""


async def test_connections_that_say_nothing_keep_nobody_out(db: Path, capfd: pytest.CaptureFixture[str]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        serving = served(db)
        at = await serving.__aenter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    host, _, port = at.base.removeprefix("http://").partition(":")
    try:
        silent = [(await asyncio.open_connection(host, int(port)))[1] for _ in range(300)]
        async with visitor(at) as ann, ann.tab() as tab:
            await tab.sees("scout")
        for writer in silent:
            writer.close()
    finally:
        await serving.__aexit__(None, None, None)
    assert capfd.readouterr().err == ""


async def test_a_connection_that_sends_no_whole_request_is_closed_and_a_tab_stays(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        at.closes_silent_after(0.2)  # not before: the machine may be busy between a connection and its request
        host, _, port = at.base.removeprefix("http://").partition(":")
        for sent in (b"", b"GET / HTTP/1.1\r\nHost: "):
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            with anyio.fail_after(PATIENCE_S):
                assert await reader.read() == b""
            writer.close()
        await tab.sees("scout")
        await tab.type("5")
        await tab.sees("lib/glob.py")


async def test_who_does_not_take_an_answer_is_given_up(db: Path) -> None:
    async with inside(db, stall_s=0.5) as at:
        host, _, port = at.base.removeprefix("http://").partition(":")
        line, loop = socket.socket(), asyncio.get_running_loop()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.setblocking(False)
        await loop.sock_connect(line, (host, int(port)))

        async def ask_on() -> None:
            while True:
                await loop.sock_sendall(line, f"GET /static/textual.js HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                await anyio.sleep(0.02)

        with anyio.fail_after(PATIENCE_S), pytest.raises(ConnectionError):
            await ask_on()
        line.close()


async def test_a_compressed_request_is_not_decompressed(db: Path) -> None:
    async with inside(db) as at, visitor(at, signed_in=False) as ann:
        assert (await ann.post("/login", zlib.compress(at.token.encode()), **{"Content-Encoding": "deflate"}))[0] == 403
        assert await ann.sign_in() == 204


@pytest.mark.parametrize("folder", ["ü" * 60, "u" + "ü" * 60], ids=["even", "odd"])
async def test_why_a_tab_was_closed_is_told_in_whole_characters_with_its_end(db: Path, folder: str) -> None:
    (db.parent / folder).mkdir()
    db = Path(await anyio.Path(db).rename(db.parent / folder / db.name))
    async with inside(db) as at, visitor(at) as ann:
        await anyio.Path(db).rename(db.with_suffix(".away"))
        async with ann.tab() as tab:
            code, reason = await tab.closed()
    assert code == 4003
    assert reason.startswith(str(db)[:10])
    assert "…ü" in reason
    assert "team.db does not exist" in reason


@pytest.mark.parametrize("broken", ["executable", "tempdir"])
async def test_a_tab_that_cannot_be_opened_says_why(
    db: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, broken: str
) -> None:
    async with inside(db) as at, visitor(at) as ann:
        monkeypatch.setattr(sys if broken == "executable" else tempfile, broken, "/nowhere/at-all")
        async with ann.tab() as tab:
            assert await tab.closed() == (4003, "a tab could not be opened: no such file or directory")
        monkeypatch.undo()
        async with ann.tab() as tab:
            await tab.sees("scout")
    assert caplog.text == ""


async def test_with_tls_a_connection_that_says_nothing_is_closed_too(db: Path, certificate: tuple[Path, Path]) -> None:
    class Heard:
        def __init__(self) -> None:
            self.link = ""

        def announce_link(self, link: str) -> None:
            self.link = link
            at_work.set()

        def announce_sign_in(self, where: str, link: str) -> None:
            raise AssertionError((where, link))

    at_work, told = anyio.Event(), Heard()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)
    terms = ServerOptions(db=db, gate=RequestGate("127.0.0.1", tls=True), silent_s=0.2)
    async with anyio.create_task_group() as group:
        group.start_soon(serve_until_signal, terms, 0, context, None, told)
        await at_work.wait()
        port = urlsplit(told.link).port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with anyio.fail_after(30):  # by itself asyncio waits for a minute
            assert await reader.read() == b""
        writer.close()
        group.cancel_scope.cancel()


async def test_a_token_that_never_comes_whole_is_not_waited_for(db: Path) -> None:
    async with inside(db, silent_s=0.2) as at:
        at.closes_silent_after(PATIENCE_S)  # whose head comes late on a busy machine, too
        host, _, port = at.base.removeprefix("http://").partition(":")
        head = f"POST /login HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {at.base}\r\nContent-Length: 50\r\n\r\nabc"
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode())
        with anyio.fail_after(PATIENCE_S):
            assert (await reader.readline()).startswith(b"HTTP/1.1 408 ")
            await reader.read()  # until the server closes it
        writer.close()


async def test_nonsense_for_a_token_and_visitors_who_break_off_write_nothing_on_the_terminal(
    db: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(db) as at, visitor(at) as ann:
        for headers in ({}, {"Content-Type": "text/plain; charset=nonsense"}):
            status, line = await ann.post("/login", b"\xff\xfe", **headers)
            assert (status, line.count("\n")) == (403, 1)
        host, _, port = at.base.removeprefix("http://").partition(":")
        cookies = "; ".join(f"{one.key}={one.value}" for one in ann.http.cookie_jar)
        head = f"Host: {host}:{port}\r\nOrigin: {at.base}\r\nCookie: {cookies}\r\n"
        upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        for sent in (
            f"POST /login HTTP/1.1\r\n{head}Content-Length: 50\r\n\r\nabc",
            f"GET /ws HTTP/1.1\r\n{head}{upgrade}Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        ):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent.encode())
            await writer.drain()
            writer.transport.abort()
            assert await ann.get("/healthz") == (200, "ok\n")
        await at.until_children(0)

    assert "Traceback" not in capfd.readouterr().err


def test_a_server_that_is_full_all_the_same_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    loop, crowded = asyncio.new_event_loop(), CrowdingHandler()
    for _ in range(3):
        crowded(loop, {"message": "socket.accept() out of system resource", "exception": OSError(24, "full")})
    crowded(loop, {"message": "another matter"})
    loop.close()

    assert [record.message for record in caplog.records] == [
        "more connections than this process may have: others have to wait",
        "another matter",
    ]


async def test_a_frame_that_is_too_large_ends_the_tab_and_one_of_a_megabyte_is_typed(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout")
            await tab.type("x" * 2_000_000)
            # The reason may be lost: what the server did not read any more resets the connection.
            codes = aiohttp.WSCloseCode.MESSAGE_TOO_BIG, aiohttp.WSCloseCode.ABNORMAL_CLOSURE
            assert (await tab.closed())[0] in codes
        async with ann.tab() as tab:
            await tab.sees("scout")
            await tab.type("/", "\x1b[200~" + "y" * 1_000_000 + "\x1b[201~")
            await tab.sees("yyyy")
            tab.told.clear()
            await tab.type("\x1b")
            await tab.comes_to("network")
            await tab.type("5")
            await tab.sees("lib/glob.py")


async def test_whatever_size_is_asked_for_one_that_can_be_drawn_is_taken(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab(columns=500, lines=200) as tab:
        await tab.sees("0 Agents")  # a name that stands there from 100 columns: the size of the address counts
        shown = itertools.cycle([("5", "tasks", "lib/glob.py"), ("1", "network", "scout")])
        for width, height in ((-1, -1), (0, 0), (1, 1), (10**9, 10**9), (499, 199)):
            await tab.socket.send_json(["resize", {"width": width, "height": height}])
            await tab.type(f"\x1b[48;{height};{width};0;0t")  # a terminal that reports its size in what is typed
            await tab.socket.send_json(["resize", {"width": 120, "height": 40}])
            key, place, seen = next(shown)
            tab.told.clear()
            await tab.type(key)
            # What is no size is typed, and [ among it goes back in time: sooner or later than the key.
            await tab.until(lambda place=place: any(one[1] in (place, f"{place}@70") for one in tab.told))  # type: ignore[misc]
            await tab.sees(seen)


NONSENSE = (
    "width=x&height=&open=%00",
    "width=-5&height=99999999999&open=" + "a" * 5_000,
    "habits=%5B%7B%22%FF%00",
    "habits=" + "%5B" * 2_000,
    "open=question/e1",
)


@pytest.mark.parametrize("query", NONSENSE, ids=range(5))
async def test_an_address_full_of_nonsense_opens_the_first_screen(db: Path, query: str) -> None:
    async with (
        inside(db) as at,
        visitor(at) as ann,
        ann.http.ws_connect(f"{at.base}/ws?{query}", headers=ann.origin, max_msg_size=0) as socket,
        listening(socket) as tab,
    ):
        await tab.comes_to("network")


async def test_a_process_that_hangs_is_killed_and_its_browser_told(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab, ann.tab() as other:
        await tab.sees("scout")
        await other.sees("scout")
        pids = at.pids()
        os.kill(pids[0], signal.SIGSTOP)
        at.sessions()[0][0]._hang_s = 1.0  # its own alone: on a busy machine the other may be silent for as long

        assert await tab.closed() == (4002, "the screen did not answer and was ended")
        assert at.pids() == pids[1:]
        await other.type("5")
        await other.sees("lib/glob.py")


async def test_a_process_that_is_killed_is_told_as_such(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        os.kill(at.pids()[0], signal.SIGKILL)

        assert (await tab.closed())[0] == 4003
    assert at.pids() == []


PLANTED = """
import sys
from dashboard.web import tab, tab_process
tab.TabApp.update_surroundings = lambda self, *, changed: [][0]
sys.exit(tab_process.main(*sys.argv[4:]))
"""


async def program(folder: Path, script: anyio.Path) -> str:
    """Return a program that runs a script in place of the process of a tab."""
    made = anyio.Path(folder / "python")
    await made.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P "{script}" "$@"\n')
    await made.chmod(0o700)
    return str(made)


async def test_a_defect_that_ends_a_screen_is_told_as_such(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = anyio.Path(tmp_path / "planted.py")
    await planted.write_text(PLANTED)
    monkeypatch.setattr(sys, "executable", await program(tmp_path, planted))
    async with inside(db) as at, visitor(at) as ann, ann.tab(columns=60) as tab:
        code, reason = await tab.closed()
    assert code == 4003
    assert reason == "the dashboard has a defect, the team keeps running: IndexError: list index out of range"


async def test_a_browser_that_does_not_read_loses_its_tab_and_slows_nobody_down(db: Path) -> None:
    async with inside(db, stall_s=5.0) as at, visitor(at) as ann, ann.tab() as good:
        await good.sees("scout")
        slow = await deaf(ann, at)
        try:
            with anyio.fail_after(PATIENCE_S):
                while len(at.pids()) < 2:  # noqa: ASYNC110
                    await anyio.sleep(0.01)
                flood = asyncio.create_task(type_on(slow))
                while len(at.pids()) > 1:
                    for key, place in (("5", "tasks"), ("1", "network")):
                        good.told.clear()
                        await good.type(key)
                        await good.comes_to(place)
                flood.cancel()
        finally:
            slow.close()
        await good.type("5")
        await good.sees("lib/glob.py")


FLOODS = """
import os
os.close(0)
os.write(1, b"__GANGLION__\\n")
while True:
    os.write(1, b"D\\0\\0\\xff\\xff" + bytes(65_535))
    os.write(2, bytes(65_536))
"""


async def test_a_process_that_floods_its_pipes_and_hears_nothing_can_be_ended(
    db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawing = anyio.Event()

    async def write(_: bytes) -> None:
        drawing.set()
        await anyio.sleep_forever()

    async def tell(_: str) -> None:
        pass

    floods = anyio.Path(tmp_path / "floods.py")
    await floods.write_text(FLOODS)
    monkeypatch.setattr(sys, "executable", await program(tmp_path, floods))
    tab = Session(Launch(db, "viewer"), write_bytes=write, write_str=tell, download_manager=DownloadManager())
    await tab.start(80, 24)
    running = asyncio.create_task(tab.run())
    with anyio.fail_after(PATIENCE_S):
        await drawing.wait()
        await tab.stop()
        await asyncio.wait((running,))
    assert not tab.folder.exists()
    running.exception()


async def test_no_more_is_sent_to_a_browser_than_it_says_that_it_has_drawn(db: Path) -> None:
    sent = bytearray()

    async def write(piece: bytes) -> None:
        sent.extend(piece)

    async def tell(_: str) -> None:
        pass

    async def stands_at(size: int) -> None:
        with anyio.fail_after(PATIENCE_S):
            while len(sent) < size:
                await checkpoint()
        await anyio.wait_all_tasks_blocked()
        assert sent == screen[:size]

    screen = os.urandom(3 * WINDOW_BYTES)
    tab = Session(Launch(db, "viewer"), write_bytes=write, write_str=tell, download_manager=DownloadManager())
    async with anyio.create_task_group() as group:
        group.start_soon(tab.on_data, screen)
        await stands_at(WINDOW_BYTES)
        tab.note_drawn(1)
        await stands_at(WINDOW_BYTES + PIECE_BYTES)
        tab.note_drawn(10 * WINDOW_BYTES)
        await stands_at(2 * WINDOW_BYTES + PIECE_BYTES)
        tab.note_drawn(WINDOW_BYTES)
        await stands_at(3 * WINDOW_BYTES)
    await tab.stop()


async def test_a_browser_that_reads_and_never_says_so_loses_its_tab(db: Path) -> None:
    async with (
        inside(db, stall_s=0.5) as at,
        visitor(at) as ann,
        ann.http.ws_connect(f"{at.base}/ws?width=500&height=200", headers=ann.origin, max_msg_size=0) as socket,
    ):
        keys = itertools.cycle("15204")
        with anyio.fail_after(PATIENCE_S):
            while (await socket.receive()).type in (aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT):
                await socket.send_json(["stdin", next(keys)])
        assert socket.close_code == aiohttp.WSCloseCode.GOING_AWAY


async def deaf(ann: Visitor, at: Served) -> asyncio.StreamWriter:
    """Open a tab of a browser that never reads what it is sent."""
    host, _, port = at.base.removeprefix("http://").partition(":")
    line = socket.socket()
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)  # else megabytes fit in before anything stalls
    line.setblocking(False)
    await asyncio.get_running_loop().sock_connect(line, (host, int(port)))
    reader, writer = await asyncio.open_connection(sock=line, limit=1)
    (cookie,) = ann.http.cookie_jar
    head = (
        f"GET /ws?width=500&height=200 HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {at.base}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
        f"Cookie: {cookie.key}={cookie.value}\r\n\r\n"
    )
    writer.write(head.encode())
    await writer.drain()
    reader._transport.pause_reading()  # type: ignore[attr-defined]
    return writer


async def type_on(writer: asyncio.StreamWriter) -> None:
    """Go from screen to screen, each of which is drawn anew, and never read.

    Not faster than they can be drawn: a program that has only keys to look at draws nothing, and so nothing stalls.
    """
    while True:
        for key in "15204":
            data = json.dumps(["stdin", key]).encode()
            writer.write(bytes([0x81, 0x80 | len(data)]) + bytes(4) + data)  # masked with zeros
            await writer.drain()
            await asyncio.sleep(0.1)


async def test_many_tabs_at_once_all_see_the_team(db: Path) -> None:
    async with served(db, "--sessions", "5") as at, visitor(at) as ann:

        async def one(place: str) -> None:
            async with ann.tab(place=place) as tab:
                await tab.comes_to(place)
                await tab.sees("QUARTERDECK")

        async with anyio.create_task_group() as group:
            for place in ("network", "agents", "tasks", "events", "tasks"):
                group.start_soon(one, place)
        await at.until_children(0)


async def test_a_download_that_nobody_took_writes_nothing_on_the_terminal(
    db: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with served(db) as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout")
            await tab.type("x")
            await tab.sees("Export the whole state")
            await tab.type("\r")
            await tab.hears("download")
        await at.until_children(0)
    assert capfd.readouterr().err == ""
