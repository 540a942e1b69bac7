"""A real browser without a library of its own: Debian's Chromium, spoken to in its DevTools protocol.

What it draws is a canvas; tests read what its sockets received (`Page.screen`), or look at a picture (`Page.picture`).
"""

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import anyio

from tests.patience import PATIENCE_S
from tests.web.letters import Letters
from tests.web.visitor import Inside

MISSING = "there is no Chromium; as root on Debian, .ci/browser installs it"
"""Why a test that needs the browser is skipped."""
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--mute-audio",
    "--remote-debugging-port=0", "--remote-allow-origins=*",
    # Else each window loads two pages of its own for a field that no test types into: half of what opening it costs.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
)  # fmt: skip
OPEN = "document.body.classList.contains('-first-byte') && document.body.classList.contains('-open')"
NOTICE = "getComputedStyle(document.getElementById('notice')).display != 'none'"
SHOWN = "document.querySelector('.xterm-helper-textarea') == document.activeElement"
"""What a page is like once it draws, while it tells something, and while it takes keys."""
KEYS = {"ArrowDown": 40, "ArrowLeft": 37, "ArrowUp": 38, "Enter": 13, "Escape": 27, "Tab": 9}


def installed() -> str | None:
    """Path of the browser; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Navigated(Exception):
    """The page that was asked has given way to another."""


class Page:
    """One tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, size: tuple[int, int]) -> None:
        self._socket = socket
        self._ids = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._letters = Letters(*size)
        self._news = anyio.Event()
        self.told: list[list[Any]] = []
        """Text frames of its sockets."""
        self.fetched: list[str] = []
        """Every address that it asked for."""
        self.complaints: list[str] = []
        """What it refused (Content-Security-Policy), errors of scripts, and requests that failed."""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        number = next(self._ids)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        with anyio.fail_after(PATIENCE_S):
            answer = await self._answers[number]
        if "navigated" in answer.get("error", {}).get("message", ""):
            raise Navigated
        assert "error" not in answer, (method, answer)
        result: dict[str, Any] = answer["result"]
        return result

    async def listen(self) -> None:
        """Take what the browser says, until it is closed or nobody listens any more."""
        try:
            async for message in self._socket:
                self._take(json.loads(message.data))
        finally:
            await self._socket.close()

    def _take(self, said: dict[str, Any]) -> None:
        if "id" in said:
            answer = self._answers.pop(said["id"])
            if not answer.done():  # else nobody waits for it any more
                answer.set_result(said)
        else:
            self._heard(said["method"], said["params"])
            self._news.set()
            self._news = anyio.Event()

    def _heard(self, method: str, about: dict[str, Any]) -> None:
        if method == "Network.webSocketFrameReceived":
            frame = about["response"]
            if frame["opcode"] == 2:
                self._letters.feed(base64.b64decode(frame["payloadData"]))
            elif frame["opcode"] == 1:
                self.told.append(json.loads(frame["payloadData"]))
        elif method == "Network.requestWillBeSent":
            self.fetched.append(about["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(about["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(about["exceptionDetails"]))

    @property
    def screen(self) -> str:
        """The lines of the terminal, as its bytes draw them."""
        return self._letters.text

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once something holds that changes with what the browser says."""
        with anyio.fail_after(PATIENCE_S):
            while not holds():
                await self._news.wait()

    async def sees(self, text: str) -> None:
        """Return once a text stands on the screen."""
        try:
            await self.until(lambda: text in self.screen)
        except TimeoutError:
            raise AssertionError(f"no {text!r} on\n{self.screen}\n{self.told[-5:]} {self.complaints}") from None

    async def value(self, expression: str) -> Any:
        """Value of an expression of JavaScript that changes nothing, of this page or one that it loads meanwhile."""
        with anyio.fail_after(PATIENCE_S):
            while True:
                with suppress(Navigated):
                    return await self._evaluated(expression)

    async def do(self, statement: str) -> None:
        """Have JavaScript do something once, which may lead to another page."""
        with suppress(Navigated):
            await self._evaluated(statement)

    async def _evaluated(self, script: str) -> Any:
        answer = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return answer["result"].get("value")

    async def comes_to(self, expression: str) -> None:
        """Return once an expression is true, of this page or one that it loads meanwhile."""
        with anyio.fail_after(PATIENCE_S):
            while not await self.value(expression):  # noqa: ASYNC110 - nothing tells
                await anyio.sleep(0.02)

    async def goes_to(self, address: str) -> None:
        """Load an address."""
        await self.call("Page.navigate", url=address)

    async def press(self, key: str, *, control: bool = False, at: str = "") -> None:
        """Press a key, with ctrl or without, and let it go; `at` is where another keyboard has it."""
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = {} if control else {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        about: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
        if key.isascii() and key.isalpha() and len(key) == 1:
            about["code"] = at or f"Key{key.upper()}"
        await self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    async def click(self, column: int, row: int) -> None:
        """Click the middle of a cell of the terminal."""
        box = await self.value(
            "(() => { const b = document.querySelector('.xterm-screen').getBoundingClientRect();"
            " return [b.left, b.top, b.width, b.height]; })()"
        )
        left, top, width, height = box
        columns, lines = self._letters.size
        at = {
            "x": left + width / columns * (column + 0.5),
            "y": top + height / lines * (row + 0.5),
        }
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", **at)
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def find(self, text: str) -> tuple[int, int]:
        """Column and row of a text on the screen."""
        lines = self._letters.lines
        row = next(row for row, line in enumerate(lines) if text in line)
        return lines[row].index(text), row

    async def resize(self, width: int, height: int) -> None:
        """Give the window another size, in pixels."""
        metrics = {"deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, **metrics)

    def terminal_is(self, columns: int, lines: int) -> None:
        """Read what comes from now on as a terminal of another size."""
        self._letters.resize(columns, lines)

    async def picture(self, path: Path) -> None:
        """Write what is seen as a PNG."""
        shot = await self.call("Page.captureScreenshot", format="png")
        await anyio.Path(path).write_bytes(base64.b64decode(shot["data"]))


class Browser:
    """Somebody's window of the browser: what it keeps is nobody else's, and it has no tab yet."""

    def __init__(self, http: aiohttp.ClientSession, devtools: Page, group: Any, *, context: str) -> None:
        self._http, self._devtools, self._group = http, devtools, group
        self.context = context
        """Its id, for methods of the protocol that are about all tabs."""

    async def page(self, *, size: tuple[int, int] = (120, 40)) -> Page:
        """Open a tab; `size` is how its terminal is read, in cells."""
        made = await self._devtools.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        page = await _connected(self._http, self._group, f"page/{made['targetId']}", size)
        for domain in ("Page", "Network", "Runtime", "Log"):
            await page.call(f"{domain}.enable")
        return page


async def _connected(http: aiohttp.ClientSession, group: Any, path: str, size: tuple[int, int] = (1, 1)) -> Page:
    """Connect to a part of the browser, and listen to it."""
    page = Page(await http.ws_connect(f"/devtools/{path}", max_msg_size=0), size)
    group.start_soon(page.listen)
    return page


@contextmanager
def chromium(folder: Path) -> Iterator[tuple[int, str]]:
    """Have a browser with a profile of its own in a folder: its port, and the path of its DevTools."""
    program = installed()
    assert program is not None
    listens = folder / "profile" / "DevToolsActivePort"
    process = subprocess.Popen(
        [program, *ARGUMENTS, f"--user-data-dir={listens.parent}", "about:blank"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    try:
        until_s = time.monotonic() + PATIENCE_S
        while not (listens.is_file() and "\n" in (said := listens.read_text())):
            assert process.poll() is None, f"it ended with {process.returncode}"
            assert time.monotonic() < until_s, "it does not listen"
            time.sleep(0.02)
        port, path = said.splitlines()
        yield int(port), path.removeprefix("/devtools/")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@asynccontextmanager
async def browsing(at: tuple[int, str]) -> AsyncIterator[Browser]:
    """Have a window of a browser that knows no page yet; what it kept is forgotten with it."""
    port, path = at
    async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as http, anyio.create_task_group() as group:
        devtools = await _connected(http, group, path)
        made = await devtools.call("Target.createBrowserContext", disposeOnDetach=True)
        yield Browser(http, devtools, group, context=made["browserContextId"])
        group.cancel_scope.cancel()


async def opened(page: Page, at: Inside, *, width: int = 1200, height: int = 720) -> None:
    """Sign a browser in by the link, and wait for the first screen."""
    await page.resize(width, height)
    await page.goes_to(f"{at.base}/#token={at.token}")
    await page.comes_to(OPEN)
