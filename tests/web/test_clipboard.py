"""Copying and pasting in a real browser."""

from pathlib import Path

import anyio
import pytest

from tests.patience import PATIENCE_S
from tests.web.chromium import MISSING, SHOWN, Browser, Page, installed, opened
from tests.web.visitor import Inside, inside

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(installed() is None, reason=MISSING),
]
SELECTED = """(() => {
    const wish = new ClipboardEvent("copy", { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
    document.querySelector(".xterm-helper-textarea").dispatchEvent(wish);
    return wish.clipboardData.getData("text/plain");
})()"""


async def may_use_the_clipboard(page: Page, browser: Browser) -> None:
    """Let a page read and write it, as if a person had allowed that and looked at its window."""
    await page.call("Emulation.setFocusEmulationEnabled", enabled=True)
    permissions = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    await page.call("Browser.grantPermissions", permissions=permissions, browserContextId=browser.context)


async def on_tasks(browser: Browser, at: Inside) -> Page:
    """Return a page that shows the tasks and may use the clipboard."""
    page = await browser.page(size=(133, 40))
    await opened(page, at)
    await page.press("5")
    await page.sees("lib/glob.py")
    await may_use_the_clipboard(page, browser)
    return page


async def selected(page: Page, text: str, *, key: int = 8) -> None:
    """Select a text of the screen with shift, or another key, and the mouse; again where it was drawn elsewhere."""
    shift, mouse = {"modifiers": key, "button": "left"}, "Input.dispatchMouseEvent"
    with anyio.fail_after(PATIENCE_S):
        while await page.value(SELECTED) != text:
            await page.sees(text)
            column, row = page.find(text)
            x, y, end = column * 9 + 1, row * 18 + 9, (column + len(text)) * 9 - 1
            await page.call(mouse, type="mousePressed", x=x, y=y, clickCount=1, **shift)
            await page.call(mouse, type="mouseMoved", x=end, y=y, buttons=1, **shift)
            await page.call(mouse, type="mouseReleased", x=end, y=y, clickCount=1, **shift)


@pytest.mark.parametrize("at_key", ["KeyV", "Period"], ids=["qwerty", "dvorak"])
async def test_what_was_copied_elsewhere_is_pasted_by_ctrl_v(db: Path, browser: Browser, at_key: str) -> None:
    async with inside(db) as at:
        page = await on_tasks(browser, at)
        await page.do("navigator.clipboard.writeText('glob.py')")

        await page.press("/")
        await page.press("v", control=True, at=at_key)

        await page.until(lambda: ["place", "tasks?glob.py"] in page.told)


async def test_a_copy_that_the_browser_forbids_is_told(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await on_tasks(browser, at)
        await page.press("Y")
        await page.comes_to("navigator.clipboard.readText().then((text) => text.startsWith('planner'))")

        permissions = ["clipboardReadWrite"]  # and nothing else: not that a page writes it
        await page.call("Browser.grantPermissions", permissions=permissions, browserContextId=browser.context)
        await page.press("Y")
        await page.comes_to("document.getElementById('says').textContent == 'Not copied'")
        await page.do("document.getElementById('leave').click()")
        await page.comes_to(SHOWN)


async def test_the_code_that_ends_a_paste_makes_no_keys_of_what_is_pasted(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await on_tasks(browser, at)
        await page.do(r"navigator.clipboard.writeText('glob\x1b[201~\x9b201~.py')")

        await page.press("/")
        await page.press("v", control=True)

        await page.until(lambda: page.told[-1][-1].endswith(".py"))
        assert page.told[-1] == ["place", "tasks?glob[201~201~.py"]


async def test_a_paste_loses_its_control_characters_alone_where_no_page_may_fill_a_clipboard(
    db: Path, browser: Browser
) -> None:
    async with inside(db) as at:
        page = await on_tasks(browser, at)
        # As in Firefox, where the data that a page puts into a clipboard event cannot be read.
        empty = "class extends ClipboardEvent { get clipboardData() { return new DataTransfer(); } }"
        await page.do(f"window.ClipboardEvent = {empty}; navigator.clipboard.writeText('glob\\x07.py')")

        await page.press("/")
        await page.press("v", control=True)

        await page.until(lambda: ["place", "tasks?glob.py"] in page.told)


async def test_a_paste_that_is_longer_than_a_frame_is_told_and_leaves_the_tab_as_it_is(
    db: Path, browser: Browser
) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        (tab,) = at.pids()
        await page.do(
            "(() => { const carried = new DataTransfer(); carried.setData('text/plain', 'é'.repeat(1 << 20));"
            " document.querySelector('.xterm-helper-textarea').dispatchEvent("
            "new ClipboardEvent('paste', {clipboardData: carried, bubbles: true, cancelable: true})); })()"
        )

        await page.comes_to("document.getElementById('says').textContent == 'Too long to paste'")
        await page.do("document.getElementById('leave').click()")
        await page.comes_to(SHOWN)
        await page.press("5")
        await page.sees("lib/glob.py")
        assert at.pids() == [tab]


async def test_what_is_selected_with_shift_and_the_mouse_is_copied_by_ctrl_c(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        await opened(page, at)
        await may_use_the_clipboard(page, browser)
        await selected(page, "scout-thorough")

        about = {"key": "c", "code": "KeyC", "windowsVirtualKeyCode": 67, "modifiers": 2}
        await page.call("Input.dispatchKeyEvent", type="rawKeyDown", commands=["copy"], **about)
        await page.call("Input.dispatchKeyEvent", type="keyUp", **about)

        await page.comes_to("navigator.clipboard.readText().then(text => text == 'scout-thorough')")
        assert "ctrl+c again" not in page.screen


async def test_on_a_mac_text_is_selected_with_option_and_the_mouse(db: Path, browser: Browser) -> None:
    async with inside(db) as at:
        page = await browser.page(size=(133, 40))
        about = {"userAgent": "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)", "platform": "MacIntel"}
        await page.call("Emulation.setUserAgentOverride", **about)
        await opened(page, at)
        await selected(page, "scout-thorough", key=1)
