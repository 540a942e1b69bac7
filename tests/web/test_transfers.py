"""Archives between a browser and a team, and what an operator in a browser may not do."""

import asyncio
import os
import shutil
import signal
import zipfile
from collections.abc import AsyncIterator
from io import BytesIO
from pathlib import Path

import aiohttp
import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from dashboard.web import transfers
from dashboard.web.transfers import (
    MAX_KEPT_UPLOADS,
    MAX_UPLOADS,
    MAX_UPLOADS_PER_TAB,
    NotStored,
    TooLarge,
    TooMany,
    Uploads,
    safe_name,
)
from engine.core.commands import Submit
from engine.reading.folding import fold_file
from engine.supervisor.client import Client
from tests.patience import PATIENCE_S
from tests.runtime.shell import team_at_work
from tests.web.visitor import Tab, Visitor, inside, visitor

pytestmark = pytest.mark.anyio

TEAM = """
version: 1
supervisor: {name: chief}
agents:
  - {name: ada, run: "hands:echo"}
"""
HANDS = "def echo(task): return 'ok'"


async def download(ann: Visitor, key: str) -> tuple[int, str, bytes]:
    """Status, name and content of a download."""
    async with ann.http.get(f"{ann.at.base}/download/{key}") as answer:
        return answer.status, answer.headers.get("Content-Disposition", ""), await answer.read()


async def pieces(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def test_an_export_comes_to_the_browser_that_asked_for_it_and_once(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, visitor(at) as eve, ann.tab() as tab:
        await tab.sees("scout")
        await tab.type("x")
        await tab.sees("Export the whole state")
        await tab.type("\r")
        key = await tab.hears("download")

        assert (await download(eve, key))[0] == 401
        taking = asyncio.create_task(download(ann, key))
        await tab.sees("the browser has it")
        status, name, content = await taking
        assert status == 200
        assert name.startswith('attachment; filename="team.')
        assert zipfile.ZipFile(BytesIO(content)).testzip() is None
        assert (await download(ann, key))[0] == 404
        assert [path.name for path in db.parent.glob("*.zip")] == []


async def test_a_browser_that_opens_another_link_still_gets_what_its_tabs_export(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        assert await ann.sign_in(at.token) == 204
        await tab.type("x", "\r")
        assert (await download(ann, await tab.hears("download")))[0] == 200


async def test_a_download_that_is_asked_for_twice_goes_whole_to_one_of_them(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        await tab.type("x", "\r")
        key = await tab.hears("download")
        async with ann.http.head(f"{at.base}/download/{key}") as answer:
            assert answer.status == 405  # it would take what it does not carry
        (_, _, none), (_, _, content) = sorted(await asyncio.gather(download(ann, key), download(ann, key)))[::-1]
        assert none == b"there is no such download, or it was taken already\n"
        assert zipfile.ZipFile(BytesIO(content)).testzip() is None


async def test_a_download_whose_tab_is_closed_does_not_look_whole(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout")
            await tab.type("x", "\r")
            key = await tab.hears("download")
            ((session, _),) = at.sessions()
            os.kill(at.pids()[0], signal.SIGSTOP)  # so that no piece of it comes before the tab is closed
            taking = asyncio.create_task(download(ann, key))
            while session.downloads:  # noqa: ASYNC110 - nothing tells when the server has begun
                await anyio.sleep(0.02)
        with pytest.raises(aiohttp.ClientError):
            await taking


async def test_a_download_waits_for_a_tab_that_is_busy_with_what_it_draws(
    db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("textual_serve.download_manager.DOWNLOAD_TIMEOUT", 0.1)
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        await tab.type("x", "\r")
        key = await tab.hears("download")
        os.kill(at.pids()[0], signal.SIGSTOP)
        taking = asyncio.create_task(download(ann, key))
        await asyncio.wait({taking}, timeout=1)
        os.kill(at.pids()[0], signal.SIGCONT)

        _, _, content = await taking
        assert zipfile.ZipFile(BytesIO(content)).testzip() is None


async def test_a_download_that_nobody_takes_is_forgotten_with_its_tab(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann:
        async with ann.tab() as tab:
            await tab.sees("scout")
            await tab.type("x", "\r")
            key = await tab.hears("download")
            assert await at.keeps(key)
        while at.sessions():  # noqa: ASYNC110 - nothing tells when a tab has ended
            await anyio.sleep(0.02)

        assert not await at.keeps(key)


async def test_a_download_that_is_broken_off_is_forgotten(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        await tab.type("x", "\r")
        key = await tab.hears("download")
        ((session, _),) = at.sessions()
        os.kill(at.pids()[0], signal.SIGSTOP)  # so that no piece of it comes before the browser has left
        async with aiohttp.ClientSession(cookie_jar=ann.http.cookie_jar, connector_owner=False) as leaving:
            taking = asyncio.create_task(leaving.get(f"{at.base}/download/{key}"))
            while session.downloads:  # noqa: ASYNC110 - nothing tells when the server has begun
                await anyio.sleep(0.02)
            (await taking).close()
        os.kill(at.pids()[0], signal.SIGCONT)
        with anyio.fail_after(PATIENCE_S):
            while await at.keeps(key):  # noqa: ASYNC110 - nor when it has let go of it
                await anyio.sleep(0.02)


async def test_an_upload_that_cannot_be_stored_is_answered_with_the_reason(db: Path) -> None:
    async with inside(db, role="operator") as at, visitor(at) as ann, ann.tab() as tab:
        own = await tab.hears("tab")
        ((session, _),) = at.sessions()
        shutil.rmtree(session.folder)

        answer = await ann.post(f"/upload?tab={own}&name=x.zip", b"x")

        assert answer == (507, "x.zip could not be stored: no such file or directory\n")


async def test_a_second_upload_of_a_name_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    uploads = Uploads()
    first = await uploads.receive(pieces(b"first"), tmp_path, "x.zip")
    second = await uploads.receive(pieces(b"sec", b"ond"), tmp_path, "x.zip")

    assert (first.name, first.read_bytes()) == ("x.zip", b"first")
    assert (second.name, second.read_bytes()) == ("x.zip", b"second")


async def test_a_tab_keeps_its_last_uploads_alone(tmp_path: Path) -> None:
    uploads = Uploads()
    sent = [await uploads.receive(pieces(b"some"), tmp_path, f"{number}.zip") for number in range(MAX_KEPT_UPLOADS + 2)]

    assert sorted(one.name for one in tmp_path.glob("*/*")) == [one.name for one in sent[2:]]  # noqa: ASYNC240


@pytest.mark.parametrize("error", [TooLarge, ConnectionResetError])
async def test_an_upload_that_does_not_end_leaves_nothing(tmp_path: Path, error: type[Exception]) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"some"
        raise error

    with pytest.raises(error):
        await Uploads().receive(broken(), tmp_path, "x.zip")

    assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240 - of this test alone


class Sending:
    """Uploads that have begun and are held until they are let go on."""

    def __init__(self) -> None:
        self.uploads = Uploads()
        self._ends = asyncio.Event()
        self._begun = 0
        self._tasks: list[asyncio.Task[Path]] = []

    async def _held(self, piece: bytes) -> AsyncIterator[bytes]:
        self._begun += 1
        yield piece
        await self._ends.wait()
        yield b"rest"

    async def begin(self, folder: Path, count: int, piece: bytes = b"some") -> None:
        folder.mkdir(exist_ok=True)  # noqa: ASYNC240 - of this test alone
        before = self._begun
        self._tasks += [
            asyncio.create_task(self.uploads.receive(self._held(piece), folder, "slow.zip")) for _ in range(count)
        ]
        with anyio.fail_after(PATIENCE_S):
            while self._begun < before + count:
                await anyio.lowlevel.checkpoint()

    async def end(self) -> list[Path]:
        self._ends.set()
        return await asyncio.gather(*self._tasks)


async def test_an_upload_that_takes_long_is_kept_as_the_last_of_its_tab(tmp_path: Path) -> None:
    sending = Sending()
    await sending.begin(tmp_path, 1)
    for number in range(MAX_KEPT_UPLOADS + 1):
        await sending.uploads.receive(pieces(b"some"), tmp_path, f"{number}.zip")

    (slow,) = await sending.end()

    assert slow.read_bytes() == b"somerest"
    assert len([*tmp_path.glob("*/*")]) == MAX_KEPT_UPLOADS  # noqa: ASYNC240 - of this test alone


async def test_uploads_under_way_are_bounded_in_number_of_a_tab_and_in_all(tmp_path: Path) -> None:
    sending = Sending()
    for number in range(MAX_UPLOADS // MAX_UPLOADS_PER_TAB):
        await sending.begin(tmp_path / f"{number}", MAX_UPLOADS_PER_TAB)
        with pytest.raises(TooMany):
            await sending.uploads.receive(pieces(b"one more"), tmp_path / f"{number}", "x.zip")
    (tmp_path / "other").mkdir()
    with pytest.raises(TooMany):
        await sending.uploads.receive(pieces(b"one more"), tmp_path / "other", "x.zip")

    assert len(await sending.end()) == MAX_UPLOADS
    assert await sending.uploads.receive(pieces(b"one more"), tmp_path / "other", "x.zip")


async def test_uploads_under_way_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfers, "MAX_PENDING_BYTES", 1_000)
    sending = Sending()
    await sending.begin(tmp_path, 1, b"x" * 600)
    with pytest.raises(TooMany):
        await sending.uploads.receive(pieces(b"x" * 300, b"x" * 300), tmp_path, "x.zip")

    await sending.end()
    assert await sending.uploads.receive(pieces(b"x" * 300, b"x" * 300), tmp_path, "x.zip")
    assert not [*tmp_path.glob("arriving-*")]  # noqa: ASYNC240 - of this test alone


async def test_an_upload_whose_tab_was_closed_meanwhile_is_told_so(tmp_path: Path) -> None:
    sending = Sending()
    await sending.begin(tmp_path / "tab", 1)
    shutil.rmtree(tmp_path / "tab")

    with pytest.raises(NotStored):
        await sending.end()


async def test_a_fork_comes_to_the_browser_as_a_file_that_goes_on_from_that_moment(db: Path, tmp_path: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab(place="tasks@30") as tab:
        await tab.sees("PAST")
        for _ in range(2):  # the same moment once more is another file of the same name
            await tab.type("F")
            await tab.sees("Fork at seq 30")
            await tab.type("\r")
            taking = asyncio.create_task(download(ann, await tab.hears("download")))
            await tab.sees("the browser has it: quarterdeck --db team.at-30.db")
            status, name, content = await taking
            assert (status, name) == (200, 'attachment; filename="team.at-30.db"')
            tab.told.clear()
        ((session, _),) = at.sessions()
        assert [path async for path in anyio.Path(session.folder).rglob("*") if await path.is_file()] == []

        (tmp_path / "fork.db").write_bytes(content)
        made = fold_file(tmp_path / "fork.db")
        assert made.runs
        assert all(run.paused for run in made.runs.values())
        assert [path.name for path in db.parent.glob("*.at-*")] == []


async def test_an_archive_is_uploaded_looked_into_and_imported(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    with team_at_work(tmp_path, TEAM, HANDS) as engine:
        async with inside(engine.db, role="operator") as at, visitor(at) as ann, ann.tab() as tab:
            await tab.sees("ada")
            client = Client(engine.db)
            await anyio.to_thread.run_sync(client.perform, Submit(request="one more"))
            await tab.type("x")
            await tab.sees("Export the whole state")
            await tab.type("\r")
            _, _, content = await download(ann, await tab.hears("download"))

            await tab.type("i")
            await tab.sees("Import an archive")
            assert await tab.hears("ask_upload") == ""
            own = await tab.hears("tab")
            assert await ann.post(f"/upload?tab={own}&name=../../te%1Bam.zip", content) == (204, "")
            await tab.sees("te_am.zip")
            await tab.sees("1 supervisor, 1 agent")
            await tab.type("\r")
            await tab.sees("applied")

        assert len(fold_file(engine.db).agents) == 2


async def test_what_is_no_archive_is_told_and_may_be_tried_again(db: Path) -> None:
    async with inside(db, role="operator") as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        own = await tab.hears("tab")
        assert (await ann.post(f"/upload?tab={own}&name=x.zip", b"PK not really"))[0] == 204
        await tab.sees("Import an archive")
        await tab.sees(" x.zip is not an archive")  # and no path, which says nothing to a browser
        assert "looking into" not in tab.text
        assert "Choose a file" in tab.text
        await tab.type("\r")
        assert await tab.hears("ask_upload") == ""


async def test_a_viewer_and_another_browser_bring_nothing(db: Path) -> None:
    async with inside(db) as at, visitor(at) as ann, ann.tab() as tab:
        own = await tab.hears("tab")
        assert (await ann.post(f"/upload?tab={own}&name=x.zip", b"x"))[0] == 403
        await tab.sees("scout")
        await tab.type("n")
        await tab.sees("this tab is read-only")
    async with inside(db, role="operator") as at, visitor(at) as ann, visitor(at) as eve, ann.tab() as tab:
        own = await tab.hears("tab")
        assert (await eve.post(f"/upload?tab={own}&name=x.zip", b"x"))[0] == 401


async def test_an_operator_in_a_browser_has_no_paths_and_no_engine(db: Path) -> None:
    async with inside(db, role="operator") as at, visitor(at) as ann, ann.tab() as tab:
        await tab.sees("scout")
        await tab.type("E")
        await tab.sees("not in a browser: an engine is started in a shell: quarterdeck engine --db")
        for line in ("export /tmp/x.zip", "import /etc/passwd", "add /etc/passwd", "fork /tmp/x.db"):
            await refused(tab, line)
        await refused(tab, "swap scout --with /etc/passwd")


async def refused(tab: Tab, line: str) -> None:
    """Give a command line with a path, and see that it is refused where something else was said before."""
    await tab.type(":", "none", "\r")
    await tab.sees("no command 'none'")
    await tab.type(":", line, "\r")
    await tab.sees("not in a browser: a path")


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("team.zip", "team.zip"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\x\\team.zip", "team.zip"),
        ('a"; filename="b.exe', "a_filename_b.exe"),
        ("\r\nSet-Cookie: x", "Set-Cookie_x"),
        ("", "file"),
        ("...", "file"),
        ("\x1b[2J", "2J"),
    ],
)
def test_a_name_of_a_file_is_one_harmless_word(name: str, safe: str) -> None:
    assert safe_name(name) == safe
