"""Files between a tab and the browser: uploads into the folder of the tab, downloads by a key that is good once."""

import asyncio
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from textual_serve.download_manager import DOWNLOAD_CHUNK_SIZE, DownloadManager

from dashboard.web.serve_seams import forget_download

PIECE_S = 60.0
"""How long a piece of a file may take, in seconds: of a download, what is drawn comes out of its tab before it, and a
browser on a slow line is waited for."""
LARGEST_UPLOAD_BYTES = 256 << 20
"""The largest archive that is read at all, in bytes."""
MAX_KEPT_UPLOADS = 3
"""Uploads that a tab keeps: what its dialog has looked into, and what an engine may still read."""
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


MAX_UPLOADS, MAX_UPLOADS_PER_TAB = 8, 2
"""Uploads that may be under way, in all and of one tab."""
MAX_PENDING_BYTES = 2 * LARGEST_UPLOAD_BYTES
"""What all uploads under way may have on the disk."""


class TooLarge(Exception):
    """An upload is larger than any archive that would be read."""


class TooMany(Exception):
    """Too many uploads are under way, or they are too large together; one can be sent again once others have ended."""


def safe_name(name: str) -> str:
    """Return the name of a file as it may stand in a header and on a screen: letters, digits, `.`, `-`, `_`."""
    word = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])
    return word.strip("._")[-100:] or "file"


class NotStored(Exception):
    """An upload cannot be written, as the text says."""


class Uploads:
    """The uploads of all tabs of a server, those that are under way within bounds."""

    def __init__(self) -> None:
        self._under_way: Counter[Path] = Counter()
        """By the folder of the tab."""
        self._bytes = 0

    async def receive(self, chunks: AsyncIterator[bytes], folder: Path, name: str) -> Path:
        """Write an upload to a file with that name in a new folder below `folder`, so that it replaces no earlier one.

        All but the last `MAX_KEPT_UPLOADS` that have ended are removed, so that no tab fills the disk.

        Raises:
            TooLarge, TooMany, NotStored: If it is; what has come is removed.
        """
        if self._under_way[folder] >= MAX_UPLOADS_PER_TAB or self._under_way.total() >= MAX_UPLOADS:
            raise TooMany
        key = secrets.token_hex(8)
        own, size = folder / f"arriving-{key}", 0
        self._under_way[folder] += 1
        try:
            own.mkdir()
            with (own / name).open("xb") as file:
                while chunk := await _next_of(chunks):
                    size += len(chunk)
                    self._bytes += len(chunk)
                    if size > LARGEST_UPLOAD_BYTES:
                        raise TooLarge
                    if self._bytes > MAX_PENDING_BYTES:
                        raise TooMany
                    file.write(chunk)
            return await asyncio.to_thread(_put, own, folder / f"upload-{key}") / name
        except BaseException as error:
            shutil.rmtree(own, ignore_errors=True)
            if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                raise NotStored(error.strerror or str(error)) from error
            raise
        finally:
            self._under_way[folder] -= 1
            self._bytes -= size


async def _next_of(chunks: AsyncIterator[bytes]) -> bytes:
    """Return what comes next, nothing at the end; an upload that stands still gives up its place."""
    try:
        async with asyncio.timeout(PIECE_S):
            return await anext(chunks, b"")
    except TimeoutError:
        raise NotStored(f"nothing of it has come for {PIECE_S:g} s") from None


def _put(arrived: Path, upload: Path) -> Path:
    """Count an upload that has come whole as the last of its tab, and remove those before the last few."""
    os.utime(arrived)
    arrived.rename(upload)
    uploads = sorted(upload.parent.glob("upload-*"), key=lambda path: path.stat().st_mtime_ns)
    for old_upload in uploads[:-MAX_KEPT_UPLOADS]:
        shutil.rmtree(old_upload, ignore_errors=True)
    return upload


class Downloads(DownloadManager):
    """Textual's, which gives a tab only four seconds for a piece."""

    async def download(self, delivery_key: str) -> AsyncIterator[bytes]:  # type: ignore[override]
        """Yield the pieces of a file until its end, or until its tab is gone."""
        download = await self.get_download_metadata(delivery_key)
        wish: dict[str, str | int | bool | None] = {
            "type": "deliver_chunk_request",
            "key": delivery_key,
            "size": DOWNLOAD_CHUNK_SIZE,
            "name": download.name,
        }
        try:
            while await download.app_service.send_meta(wish):
                piece = await asyncio.wait_for(download.incoming_chunks.get(), PIECE_S)
                if not piece:
                    return
                yield piece
        except TimeoutError:
            return
        finally:
            forget_download(self, delivery_key)
