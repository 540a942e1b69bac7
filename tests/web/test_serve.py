"""The web dashboard as a visitor meets it: signing in, one tab, who is let in, and what is left behind."""

import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import quote

import aiohttp
import anyio
import pytest
from aiohttp import web

from engine.core.commands import Submit
from engine.core.specs.spec import AgentSpec
from tests.patience import PATIENCE_S
from tests.pilot.scene import write
from tests.web.visitor import inside, served, visitor
from tests.world import team_world

pytestmark = pytest.mark.anyio


async def test_whoever_has_the_link_sees_the_team_and_comes_back_to_the_same_place(db: Path) -> None:
    async with served(db) as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout-thorough")
            await tab.type("5")
            await tab.sees("lib/glob.py")
            await tab.type("\x1b[B")
            await tab.until(lambda: any(kind == "place" and said.startswith("tasks/") for kind, said in tab.told))
            place = [said for kind, said in tab.told if kind == "place"][-1]
        async with ann.tab(place=place) as again:
            await again.comes_to(place)
            await again.sees("5 Tasks")


async def test_a_browser_that_looks_at_the_crew_of_the_demo_is_told_what_to_try(tmp_path: Path) -> None:
    crew = team_world(AgentSpec(name="writer", run="dashboard.demo.leads:writer"))
    crew.order(Submit(request="audit"))
    crew.settle()
    async with inside(await write(tmp_path / "demo.db", crew)) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("try  the report is ready: 7, then enter")


async def test_the_tour_is_not_offered_behind_a_line_that_says_what_is_wrong(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab(place="network&habits=%7B%7D") as tab:
        await tab.sees("stopped")
        await tab.type("5")
        await tab.comes_to("tasks")
        kept = [said for kind, said in tab.told if kind == "habits"]
        assert ['"toured": false' in said for said in kept] == [True]


async def test_a_theme_is_kept_by_the_browser_and_comes_back_with_its_next_tab(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann:
        async with ann.tab(place="network&habits=%7B%7D") as tab:
            await tab.sees("stopped")
            dark = next(said for kind, said in tab.told if kind == "colour")
            await tab.type(":theme light\r")
            await tab.until(lambda: any(kind == "habits" and '"theme": "light"' in said for kind, said in tab.told))
            kept = [said for kind, said in tab.told if kind == "habits"][-1]
        async with ann.tab(place=f"network&habits={quote(kept)}") as tab:
            await tab.sees("stopped")
            assert next(said for kind, said in tab.told if kind == "colour") != dark


@pytest.mark.parametrize(("place", "shows"), [("tasks@30", "PAST"), ("agents?careful", "scout-careful")])
async def test_a_place_is_come_back_to_and_never_told_as_another_before(db: Path, place: str, shows: str) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab(place=place) as tab:
        assert await tab.hears("place") == place  # a page that loads itself anew meanwhile comes back to what it heard
        await tab.sees(shows)


async def test_only_the_left_button_of_the_mouse_clicks_as_the_others_are_the_browsers(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("? keys")
        for button, text in ((2, "5 Tasks"), (1, "6 Events"), (0, "? keys")):
            y, line = next((y, line) for y, line in enumerate(tab.text.splitlines()) if text in line)
            cell = f"{line.index(text) + 1};{y + 1}"
            await tab.type(f"\x1b[<{button};{cell}M", f"\x1b[<{button};{cell}m")
        await tab.sees("Keys of Network")


async def test_a_token_is_good_once_and_the_next_one_is_printed(db: Path) -> None:
    async with served(db) as at, visitor(at, signed_in=False) as ann, visitor(at, signed_in=False) as eve:
        first = at.token
        assert await ann.sign_in() == 204
        await at.next_link()

        assert await eve.sign_in(first) == 403
        assert await eve.sign_in() == 204
        assert first != at.token


async def test_without_a_cookie_there_is_the_page_and_nothing_else(db: Path) -> None:
    async with inside(db) as at, visitor(at, signed_in=False) as eve:
        assert (await eve.get("/"))[0] == 200
        assert await eve.get("/healthz") == (200, "ok\n")
        assert (await eve.get("/download/abc"))[0] in (401, 404)
        assert (await eve.get("/metrics"))[0] == 404
        assert (await eve.post("/upload?tab=x", b"zip"))[0] == 401
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with eve.tab():
                pass
        assert refused.value.status == 401
        assert at.pids() == []


async def test_files_of_the_page_are_packed_and_sent_once(db: Path) -> None:
    async with inside(db) as at, visitor(at, signed_in=False) as eve:
        script = f"{at.base}/static/textual.js"
        async with eve.http.get(script) as answer:
            assert answer.headers["Content-Encoding"] == "gzip"
            assert int(answer.headers["Content-Length"]) < 200_000
            assert answer.headers["Cache-Control"] == "no-cache"
            content, tag = await answer.read(), answer.headers["ETag"]
        async with eve.http.get(script, headers={"If-None-Match": tag}) as again:
            assert (again.status, await again.read()) == (304, b"")
        async with eve.http.get(script, headers={"Accept-Encoding": "identity", "If-None-Match": 'W/"x"'}) as plain:
            assert "Content-Encoding" not in plain.headers
            assert await plain.read() == content
        async with eve.http.get(f"{at.base}/") as page:
            assert page.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example:80"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": ""},
        {"Sec-Fetch-Site": "cross-site"},
    ],
    ids=str,
)
async def test_another_site_gets_nothing_even_with_the_cookie(db: Path, headers: dict[str, str]) -> None:
    async with inside(db) as at, visitor(at) as ann:
        status, line = await ann.get("/healthz", **headers)
        assert (status, line.count("\n")) == (403, 1)
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with ann.http.ws_connect(f"{at.base}/ws?width=80&height=24", headers=headers):
                pass
        assert refused.value.status == 403
        assert (await ann.post("/login", b"", **headers))[0] == 403 or "Sec-Fetch-Site" in headers


async def test_a_socket_without_an_origin_is_refused(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with ann.http.ws_connect(f"{at.base}/ws"):
                pass
        assert refused.value.status == 403


async def test_a_tab_that_goes_takes_its_process_along_and_one_too_many_is_told(db: Path) -> None:
    async with served(db, "--sessions", "1") as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout")
            (pid,) = at.children()
            assert os.getpgid(pid) == pid
            async with ann.tab() as second:
                code, reason = await second.closed()
                assert (code, reason.partition(",")[0]) == (4001, "1 tab may be open on this server")
        await at.until_children(0)
        async with ann.tab() as third:
            await third.sees("scout")


async def test_a_page_that_is_loaded_again_waits_for_its_old_process_to_end(db: Path) -> None:
    async with inside(db, sessions=1) as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout")
            os.kill(at.pids()[0], signal.SIGSTOP)  # it takes as long to end as it may
        async with ann.tab() as again:
            await again.sees("scout")


async def test_quitting_ends_the_tab_and_says_so(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        await tab.type("q")

        assert await tab.closed() == (4004, "closed; the team keeps running")
        assert at.pids() == []


async def test_folders_of_a_server_that_was_killed_are_removed_by_the_next_one(db: Path, tmp_path: Path) -> None:
    here = tmp_path / "temporary"
    here.mkdir()
    async with served(db, variables={"TMPDIR": str(here)}) as killed, visitor(killed) as ann, ann.tab() as tab:
        await tab.sees("scout")
        (left,) = here.glob("quarterdeck-tab-*")
        killed.process.send_signal(signal.SIGKILL)
        await killed.process.wait()
        assert left.is_dir()
    async with served(db, variables={"TMPDIR": str(here)}) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        (own,) = here.glob("quarterdeck-tab-*")
        assert own != left
    assert list(here.glob("quarterdeck-tab-*")) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
async def test_a_server_that_ends_in_whichever_way_leaves_no_process(db: Path, number: signal.Signals) -> None:
    async with served(db) as at, visitor(at) as ann, ann.tab() as one, ann.tab() as two:
        await one.sees("scout")
        await two.sees("scout")
        pids = at.children()
        assert len(pids) == 2

        os.kill(pids[0], signal.SIGSTOP)
        at.process.send_signal(number)
        await at.process.wait()

        with anyio.fail_after(PATIENCE_S):
            while any(is_there(pid) for pid in pids):  # noqa: ASYNC110 - nothing tells when a process is gone
                await anyio.sleep(0.02)


def is_there(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


async def test_a_tab_gets_no_key_of_the_server(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = {"OPENAI_API_KEY": "sk-secret", "QUARTERDECK_DB": "/x.db", "AWS_SECRET_ACCESS_KEY": "y"}
    for name, secret in secrets.items():
        monkeypatch.setenv(name, secret)
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        (pid,) = at.pids()
        has = {line.partition("=")[0] for line in (await about(pid, "environ")).split("\0")}

        assert not has & secrets.keys()
        assert "/bin/sh" not in await about(pid, "cmdline")


async def test_with_a_certificate_everything_is_encrypted_and_other_machines_may_come(
    db: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = map(str, certificate)
    own = ("--bind", "0.0.0.0:0", "--host", "127.0.0.1", "--cert", cert, "--key", key)
    async with served(db, *own) as at, visitor(at) as ann:
        assert at.base.startswith("https://127.0.0.1:")
        (cookie,) = ann.http.cookie_jar
        assert cookie["secure"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Strict"
        assert cookie.key.startswith("__Host-")
        async with ann.tab() as tab:
            await tab.sees("scout")
        with pytest.raises(aiohttp.ClientError):
            await ann.http.get(at.base.replace("https", "http"))
        assert (await ann.get("/healthz", Host="localhost"))[0] == 403


async def test_behind_a_proxy_that_speaks_tls_the_cookie_goes_over_nothing_else(db: Path) -> None:
    async with inside(db) as at:
        for scheme, secure in (("http", ""), ("https", True)):
            async with visitor(at, signed_in=False) as ann:
                ann.origin = {"Origin": at.base.replace("http", scheme)}
                assert await ann.sign_in() == 204
                await at.next_link()
                (cookie,) = ann.http.cookie_jar
                assert cookie["secure"] == secure


async def test_a_server_that_ends_lets_no_page_come_back_to_it(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann:
        await at.server.on_shutdown(web.Application())

        assert (await ann.post("/login", b""))[0] == 503


async def test_a_server_that_ends_lets_go_of_a_page_that_waits_for_room(db: Path) -> None:
    async with AsyncExitStack() as stays:
        async with inside(db, sessions=1) as at:
            ann = await stays.enter_async_context(visitor(at))
            tab = await stays.enter_async_context(ann.tab())
            await tab.sees("scout-thorough")
            next_one = await stays.enter_async_context(ann.tab())

        assert (await next_one.closed())[0] == aiohttp.WSCloseCode.GOING_AWAY


async def test_a_server_that_ends_waits_for_no_browser(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CLOSE_S", "SHUTDOWN_S"):
        monkeypatch.setattr(f"dashboard.web.server.{name}", PATIENCE_S)
    async with AsyncExitStack() as stays:
        async with inside(db) as at:
            ann = await stays.enter_async_context(visitor(at))
            tab = await stays.enter_async_context(ann.tab())
            await tab.sees("scout-thorough")
            begun_s = anyio.current_time()

        assert anyio.current_time() - begun_s < PATIENCE_S / 2
        assert (await tab.closed())[0] == aiohttp.WSCloseCode.GOING_AWAY


async def test_metrics_are_for_whoever_has_the_token(db: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text("a-long-random-word\n")
    async with served(db, "--metrics-token-file", str(token)) as at, visitor(at) as ann:
        assert (await ann.get("/metrics"))[0] == 401
        assert (await ann.get("/metrics", Authorization="Bearer a-long-random"))[0] == 401
        status, text = await ann.get("/metrics", Authorization="Bearer a-long-random-word")
        assert status == 200
        assert 'quarterdeck_queue{supervisor="survey"} ' in text
        assert "quarterdeck_engine_up 0" in text


async def about(pid: int, what: str) -> str:
    return await anyio.Path(f"/proc/{pid}/{what}").read_text()
