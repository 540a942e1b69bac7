"""The page in a real browser: signing in, keys, mouse, sizes, two tabs, coming back, files."""

import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from operator import contains
from pathlib import Path

import anyio
import pytest
from aiohttp import web

from dashboard.web.transfers import LARGEST_UPLOAD_BYTES
from tests.patience import PATIENCE_S
from tests.runtime.shell import team_at_work
from tests.web.chromium import MISSING, NOTICE, OPEN, SHOWN, Browser, Page, installed, opened
from tests.web.test_transfers import HANDS, TEAM
from tests.web.visitor import inside, served

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(installed() is None, reason=MISSING),
]


async def test_the_page_is_used_by_keys_mouse_and_window_and_fetches_nothing_from_elsewhere(
    db: Path, browser: Browser
) -> None:
    async with inside(db, title="chief") as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await page.sees("scout-thorough")
        assert "token" not in await page.value("location.href")
        await page.comes_to("document.title == '⚑1 chief · Quarterdeck'")
        assert await page.value("document.cookie") == ""
        assert await page.value("[...document.fonts].every(font => font.status == 'loaded')")

        await page.press("5")
        await page.sees("lib/glob.py")
        await page.press("ArrowDown")
        await page.until(lambda: any(said[1].startswith("tasks/") for said in page.told))

        await page.click(*page.find("Runs"))
        await page.until(lambda: ["place", "runs"] in page.told)

        for key, place in (("1", "network"), ("6", "events"), ("5", "tasks")) * 5:  # more than may be on its way
            page.told.clear()
            await page.press(key)
            await page.until(lambda place=place: any(said[1].startswith(place) for said in page.told))  # type: ignore[misc]

        page.terminal_is(88, 26)
        await page.resize(800, 480)
        await page.press("1")
        await page.sees("scout-thorough")
        assert await page.value(SHOWN)

        assert {address.partition("/static")[0].partition("/login")[0].rstrip("/") for address in page.fetched} == {
            at.base
        }
        assert [line for line in page.complaints if "Content Security" in line or "Error" in line] == []


async def test_around_the_screen_there_is_its_own_colour_and_no_scroll_bar(
    db: Path, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config" / "quarterdeck" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('theme = "light"')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at, width=1204, height=730)  # seven pixels more than columns, ten more than lines
        await page.comes_to("getComputedStyle(document.body).backgroundColor == 'rgb(252, 252, 250)'")
        viewport = "document.querySelector('.xterm-viewport')"
        assert await page.value(f"{viewport}.clientWidth == {viewport}.offsetWidth")
        assert await page.value(f"getComputedStyle({viewport}).backgroundColor") == "rgba(0, 0, 0, 0)"


async def test_two_tabs_stand_at_two_places_and_each_comes_back_to_its_own(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        first = await browser.page(size=(133, 40))
        await opened(first, at)
        await first.press("5")
        await first.until(lambda: ["place", "tasks"] in first.told)
        second = await browser.page(size=(133, 40))
        await second.resize(1200, 720)
        await second.goes_to(f"{at.base}/#agents?scout-c")
        await second.until(lambda: "scout-careful" in second.screen and "parser" not in second.screen)
        assert len(at.pids()) == 2

        for pid in at.pids():
            os.kill(pid, signal.SIGSTOP)
        for session, _ in list(at.sessions()):
            await session.stop()
        for page, place in ((first, "tasks"), (second, "agents?scout-c")):
            page.told.clear()
            # Not after the notice: a page whose connection broke off comes back by itself, too soon for a busy machine.
            await page.do("location.reload()")
            await page.until(lambda page=page, place=place: ["place", place] in page.told)  # type: ignore[misc]


async def test_a_server_that_comes_back_asks_to_sign_in_again_and_shows_the_same_place(
    db: Path, browser: Browser
) -> None:
    page = await browser.page(size=(133, 40))
    await page.resize(1200, 720)
    bind: tuple[str, ...] = ()
    for number in (signal.SIGTERM, signal.SIGKILL, None):
        async with served(db, *bind) as at:
            if bind:
                await page.comes_to("document.getElementById('says').textContent == 'Signed out'")
                page.told.clear()
            await page.goes_to(at.link)
            await page.comes_to(OPEN)
            if not bind:
                await page.press("5")
            await page.until(lambda: ["place", "tasks"] in page.told)
            bind = ("--bind", at.base.removeprefix("http://"))
            if number is None:
                break
            at.process.send_signal(number)
            await at.process.wait()
        await page.comes_to(f"{NOTICE} && document.getElementById('says').textContent == 'Coming back'")


async def test_a_network_that_is_gone_is_told_and_the_same_place_is_come_back_to(db: Path, browser: Browser) -> None:
    async with served(db) as at:
        page = await browser.page(size=(133, 40))
        await page.resize(1200, 720)
        await page.call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="const ticks = [], each = setInterval; setInterval = (f, ms) => (ticks.push(f), each(f, ms));",
        )
        await page.goes_to(at.link)
        await page.comes_to(OPEN)
        await page.press("5")
        await page.until(lambda: ["place", "tasks"] in page.told)

        at.process.send_signal(signal.SIGSTOP)  # nothing is answered, and nothing closed
        await page.do("(() => { for (let n = 0; n < 6; n++) for (const tick of [...ticks]) tick(); })()")
        await page.comes_to(f"{NOTICE} && document.getElementById('says').textContent == 'Coming back'")
        page.told.clear()
        at.process.send_signal(signal.SIGCONT)

        await page.until(lambda: ["place", "tasks"] in page.told)
        await page.comes_to(OPEN)


async def test_a_page_whose_server_is_away_waits_for_it_whoever_answers_meanwhile(db: Path, browser: Browser) -> None:
    says = "document.getElementById('says').textContent"
    pages: list[Page] = []
    async with served(db) as at:
        for place in ("tasks", "runs"):
            page = await browser.page(size=(133, 40))
            await page.resize(1200, 720)
            await page.goes_to(at.base if pages else at.link)
            await page.comes_to(OPEN)
            await page.do(f"location.hash = '#{place}'")
            # It loads itself anew for that: a server that ends meanwhile would answer this in its place.
            await page.until(partial(contains, page.told, ["place", place]))
            await page.comes_to(OPEN)
            pages.append(page)
    for page in pages:
        await page.comes_to(f"{says} == 'Coming back'")
        await page.do("document.getElementById('again').click()")

    async with proxy_without_server(int(at.base.rpartition(":")[2])) as asked:
        with anyio.fail_after(PATIENCE_S):
            while len(asked) < 4:  # noqa: ASYNC110 - nothing tells how often it was asked
                await anyio.sleep(0.02)
        assert [await page.value(says) for page in pages] == ["Coming back"] * 2

    async with served(db, "--bind", at.base.removeprefix("http://")) as at:
        for page in pages:
            await page.comes_to(f"{says} == 'Signed out'")
            page.told.clear()
        await pages[0].goes_to(at.link)
        await pages[0].until(lambda: ["place", "tasks"] in pages[0].told)
        await pages[0].comes_to(OPEN)
        await pages[1].do("window.dispatchEvent(new Event('focus'))")
        await pages[1].until(lambda: ["place", "runs"] in pages[1].told)


@asynccontextmanager
async def proxy_without_server(port: int) -> AsyncIterator[list[str]]:
    """Answer what a proxy answers whose server is away, and have the paths that were asked for."""
    asked: list[str] = []

    async def bad_gateway(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(status=502)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", bad_gateway)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    try:
        yield asked
    finally:
        await runner.cleanup()


async def test_an_address_is_readable_may_be_typed_and_a_used_link_is_told(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        used, at.token = at.token, "other"
        await page.goes_to(f"{at.base}/#token=other")
        await page.comes_to(f"{NOTICE} && document.getElementById('hint').textContent.startsWith('this link was used')")

        at.token = used
        await opened(page, at)
        await page.do("location.hash = '#agents?100%'")  # a % that begins no code
        await page.comes_to(f"{OPEN} && location.hash == '#agents?100%25'")
        await page.do("location.hash = '#tasks/t2?lib/glob.py'")
        await page.until(lambda: ["place", "tasks/t2?lib/glob.py"] in page.told or "lib/glob.py" in page.screen)
        assert "%" not in await page.value("location.hash")


async def test_a_place_that_is_typed_is_opened_although_the_screen_tells_its_own_meanwhile(
    db: Path, browser: Browser
) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await page.do("location.hash = '#tasks'; arrived('network')")
        await page.until(lambda: ["place", "tasks"] in page.told)


@pytest.mark.parametrize("letter", ["x" * 10, "語"])  # ten x are as long in an address, nearly
async def test_of_a_place_that_is_too_long_for_an_address_the_screen_is_shown(
    db: Path, browser: Browser, letter: str
) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await page.do(f"location.hash = '#tasks?' + '{letter}'.repeat(990)")
        await page.comes_to(f"{OPEN} && location.hash == '#tasks'")


async def test_a_link_on_a_page_of_somebody_else_opens_the_dashboard(db: Path, browser: Browser) -> None:
    async with inside(db) as at, inside(db) as elsewhere:
        page = await browser.page(size=(133, 40))
        await page.goes_to(f"{elsewhere.base}/healthz")
        await page.comes_to("document.body.innerText.startsWith('ok')")
        await page.do(f"location.href = '{at.base}/#token={at.token}'")
        await page.comes_to(OPEN)
        await page.goes_to(f"{at.base}/?delay=1&ping=http://127.0.0.1:9#tasks")  # words of textual.js
        await page.comes_to(f"{OPEN} && location.href == '{at.base}/#tasks'")


async def test_an_archive_that_is_too_large_is_not_sent_and_sending_can_be_left(
    db: Path, tmp_path: Path, browser: Browser
) -> None:
    says = "document.getElementById('says').textContent"
    large, small = tmp_path / "large.zip", tmp_path / "small.zip"
    small.write_bytes(b"PK")
    large.touch()
    os.truncate(large, LARGEST_UPLOAD_BYTES + 1)
    async with served(db, "--role", "operator") as at:
        page = await browser.page(size=(133, 40))
        await page.resize(1200, 720)
        await page.goes_to(at.link)
        await page.comes_to(OPEN)
        await chosen(page, large)
        await page.comes_to(f"{says} == 'Not sent'")
        assert not any("/upload" in address for address in page.fetched)
        await page.press("Escape")
        await page.comes_to(SHOWN)

        at.process.send_signal(signal.SIGSTOP)
        await chosen(page, small)
        await page.comes_to(f"{says} == 'Sending small.zip'")
        await page.do("document.getElementById('leave').click()")
        await page.comes_to(SHOWN)
        at.process.send_signal(signal.SIGCONT)


async def test_an_archive_dropped_on_a_closed_page_leaves_the_way_to_open_it(db: Path, browser: Browser) -> None:
    async with inside(db, role="operator") as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await page.press("q")
        again = "!document.getElementById('again').hidden"
        await page.comes_to(again)
        await page.do(
            "(() => { const dataTransfer = new DataTransfer(); dataTransfer.items.add(new File(['PK'], 'a.zip'));"
            " window.dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true })); })()"
        )
        assert await page.value(again)


async def chosen(page: Page, archive: Path | anyio.Path) -> None:
    """Give the page a file as if it was chosen."""
    document = (await page.call("DOM.getDocument"))["root"]["nodeId"]
    chooser = (await page.call("DOM.querySelector", nodeId=document, selector="#file"))["nodeId"]
    await page.call("DOM.setFileInputFiles", nodeId=chooser, files=[str(archive)])


async def test_keys_that_the_browser_needs_stay_with_it(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)

        for key, code, stays in (("F5", 116, True), ("F11", 122, True), ("F7", 118, False)):
            about = f"{{key: '{key}', keyCode: {code}, bubbles: true, cancelable: true}}"
            pressed = f"new KeyboardEvent('keydown', {about})"
            taken = await page.value(f"!document.querySelector('.xterm-helper-textarea').dispatchEvent({pressed})")
            assert taken is not stays, key


async def test_back_in_the_browser_goes_to_the_screen_before(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await page.press("5")
        await page.until(lambda: ["place", "tasks"] in page.told)
        await page.sees("lib/keyword.py")  # the headings stand before the rows are read
        with anyio.fail_after(PATIENCE_S):
            while not any(said[1].startswith("tasks/") for said in page.told):
                await page.press("ArrowDown")  # again where a loaded machine drew the rows and then read the file
                with anyio.move_on_after(10):
                    await page.until(lambda: any(said[1].startswith("tasks/") for said in page.told))
        await page.press("7")
        await page.until(lambda: ["place", "runs"] in page.told)
        await page.comes_to("location.hash.startsWith('#runs')")  # its socket has been told before it has
        steps = await page.value("history.length")
        page.told.clear()

        await page.do("history.back()")

        await page.comes_to(f"{OPEN} && location.hash.startsWith('#tasks/')")
        await page.until(lambda: any(said[1].startswith("tasks/") for said in page.told))
        assert await page.value("history.length") == steps


async def test_a_pane_keeps_its_size_in_the_browser(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await page.sees("scout-thorough")
        await page.press("ArrowLeft", control=True)
        await page.comes_to("Object.keys(JSON.parse(localStorage.habits).panes).length == 1")
        kept = await page.value("localStorage.habits")
        page.told.clear()

        await page.do("location.reload()")

        await page.until(lambda: ["habits", kept] in page.told)


async def test_a_finger_that_is_drawn_over_a_list_scrolls_it(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 20))
        await opened(page, at, height=360)
        await page.press("6")
        await page.until(lambda: ["place", "events"] in page.told)
        await page.sees("attempt_failed")
        before = page.screen.splitlines()[4]

        touch = "Input.dispatchTouchEvent"
        await page.call(touch, type="touchStart", touchPoints=[{"x": 300, "y": 120}])
        for y in range(130, 300, 10):
            await page.call(touch, type="touchMove", touchPoints=[{"x": 300, "y": y}])
        await page.call(touch, type="touchEnd", touchPoints=[])

        await page.until(lambda: page.screen.splitlines()[4] != before)


async def test_an_export_is_saved_and_an_archive_is_chosen_in_the_browser(tmp_path: Path, browser: Browser) -> None:
    with team_at_work(tmp_path, TEAM, HANDS) as engine:
        async with inside(engine.db, role="operator") as at:
            page = await browser.page(size=(133, 40))
            saved = tmp_path / "saved"
            await page.call(
                "Browser.setDownloadBehavior",
                behavior="allow",
                downloadPath=str(saved),
                browserContextId=browser.context,
            )
            await opened(page, at)
            await page.sees("ada")
            await page.press("x")
            await page.sees("Export the whole state")
            await page.press("Enter")
            await page.sees("the browser has it")
            archive = await landed(anyio.Path(saved))

            await page.press("i")
            await page.comes_to("!document.getElementById('choose').hidden")
            await chosen(page, archive)
            await page.sees("1 supervisor, 1 agent")
            await page.comes_to(SHOWN)
            await page.press("Enter")
            await page.sees("applied")


async def landed(folder: anyio.Path) -> anyio.Path:
    """Return the archive that the browser has saved, once it is whole."""
    found: list[anyio.Path] = []
    with anyio.fail_after(PATIENCE_S):
        while not found:
            await anyio.sleep(0.02)
            found = [path async for path in folder.glob("*.zip")] if await folder.is_dir() else []
    return found[0]
