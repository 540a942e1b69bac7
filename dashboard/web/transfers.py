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
"""How long a piece of a file may take, in seconds: a tab sends drawn output first, and waits for a slow browser."""
LARGEST_UPLOAD_BYTES = 256 << 20
"""Largest upload, in bytes."""
MAX_KEPT_UPLOADS = 3
"""Finished uploads that a tab keeps, for its dialog and for an engine that may still read them."""
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


MAX_UPLOADS, MAX_UPLOADS_PER_TAB = 8, 2
"""Largest number of simultaneous uploads, in total and for one tab."""
MAX_PENDING_BYTES = 2 * LARGEST_UPLOAD_BYTES
"""Largest size of all unfinished uploads together, in bytes."""


class TooLarge(Exception):
    """An upload exceeds `LARGEST_UPLOAD_BYTES`."""


class TooMany(Exception):
    """There are too many unfinished uploads, or too large ones; a retry may succeed later."""


def safe_name(name: str) -> str:
    """Return a file name reduced to letters, digits, `.`, `-` and `_`, safe in a header and on a screen."""
    word = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])
    return word.strip("._")[-100:] or "file"


class NotStored(Exception):
    """An upload could not be written; the message says why."""


class Uploads:
    """The uploads of all tabs of a server, within limits."""

    def __init__(self) -> None:
        self._under_way: Counter[Path] = Counter()
        """Number of unfinished uploads, by the folder of the tab."""
        self._bytes = 0

    async def receive(self, chunks: AsyncIterator[bytes], folder: Path, name: str) -> Path:
        """Write an upload to a file in a new folder below `folder`, so that it replaces no earlier one.

        All but the last `MAX_KEPT_UPLOADS` finished ones are removed, so that no tab fills the disk.

        Raises:
            TooLarge, TooMany, NotStored: See there; the partial file is removed.
        """
        if self._under_way[folder] >= MAX_UPLOADS_PER_TAB or self._under_way.total() >= MAX_UPLOADS:
            raise TooMany
        key = secrets.token_hex(8)
        own, size = folder / f"arriving-{key}", 0
        self._under_way[folder] += 1
        try:
            own.mkdir()
            with (own / name).open("xb") as file:
                while chunk := await _next_piece(chunks):
                    size += len(chunk)
                    self._bytes += len(chunk)
                    if size > LARGEST_UPLOAD_BYTES:
                        raise TooLarge
                    if self._bytes > MAX_PENDING_BYTES:
                        raise TooMany
                    file.write(chunk)
            return await asyncio.to_thread(_store, own, folder / f"upload-{key}") / name
        except BaseException as error:
            shutil.rmtree(own, ignore_errors=True)
            if isinstance(error, OSError) and not isinstance(error, ConnectionError):
                raise NotStored(error.strerror or str(error)) from error
            raise
        finally:
            self._under_way[folder] -= 1
            self._bytes -= size


async def _next_piece(chunks: AsyncIterator[bytes]) -> bytes:
    """Return the next piece, empty at the end; an upload that stalls is aborted."""
    try:
        async with asyncio.timeout(PIECE_S):
            return await anext(chunks, b"")
    except TimeoutError:
        raise NotStored(f"nothing of it has come for {PIECE_S:g} s") from None


def _store(arrived: Path, upload: Path) -> Path:
    """Store a finished upload as the newest of its tab, and remove the oldest ones."""
    os.utime(arrived)
    arrived.rename(upload)
    uploads = sorted(upload.parent.glob("upload-*"), key=lambda path: path.stat().st_mtime_ns)
    for old_upload in uploads[:-MAX_KEPT_UPLOADS]:
        shutil.rmtree(old_upload, ignore_errors=True)
    return upload


class Downloads(DownloadManager):
    """A download manager that waits longer for each piece: textual-serve gives a tab four seconds."""

    async def download(self, delivery_key: str) -> AsyncIterator[bytes]:  # type: ignore[override]
        """Yield the pieces of a file until its end, or until its tab ends."""
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
