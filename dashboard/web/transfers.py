"""Files between a tab and the browser: uploads into the folder of the tab, downloads by a key that is good once."""

import asyncio
import re
import secrets
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from textual_serve.download_manager import DOWNLOAD_CHUNK_SIZE, DownloadManager

PIECE_S = 60.0
"""How long a piece of a download may take to come out of its tab, in seconds: what is drawn comes before it, and a
browser on a slow line is waited for."""
LARGEST_UPLOAD_BYTES = 256 << 20
"""The largest archive that is read at all, in bytes."""
KEPT_UPLOADS = 3
"""Uploads that a tab keeps: what its dialog has looked into, and what an engine may still read."""
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


class TooLarge(Exception):
    """An upload is larger than any archive that would be read."""


def safe_name(name: str) -> str:
    """Return the name of a file as it may stand in a header and on a screen: letters, digits, `.`, `-`, `_`."""
    word = _UNSAFE.sub("_", name.replace("\\", "/").rpartition("/")[2])
    return word.strip("._")[-100:] or "file"


class NotStored(Exception):
    """An upload cannot be written, as the text says."""


async def receive(chunks: AsyncIterator[bytes], folder: Path, name: str) -> Path:
    """Write an upload to a file with that name in a new folder below `folder`, so that it replaces no earlier one.

    All but the last `KEPT_UPLOADS` are removed, so that no tab fills the disk.

    Raises:
        TooLarge, NotStored: If it is; what has come is removed.
    """
    own, size = folder / f"upload-{secrets.token_hex(8)}", 0
    try:
        own.mkdir()
        with (own / name).open("wb") as file:
            async for chunk in chunks:
                size += len(chunk)
                if size > LARGEST_UPLOAD_BYTES:
                    raise TooLarge
                file.write(chunk)
    except BaseException as error:
        shutil.rmtree(own, ignore_errors=True)
        if isinstance(error, OSError) and not isinstance(error, ConnectionError):
            raise NotStored(error.strerror or str(error)) from error
        raise
    await asyncio.to_thread(_drop_earlier, folder)
    return own / name


def _drop_earlier(folder: Path) -> None:
    uploads = sorted(folder.glob("upload-*"), key=lambda one: one.stat().st_mtime_ns)
    for one in uploads[:-KEPT_UPLOADS]:
        shutil.rmtree(one, ignore_errors=True)


class Downloads(DownloadManager):
    """Textual's, which gives a tab only four seconds for a piece."""

    async def download(self, delivery_key: str) -> AsyncIterator[bytes]:  # type: ignore[override]
        """Yield the pieces of a file until its end, or until its tab is gone."""
        found = self._active_downloads[delivery_key]
        wish: dict[str, str | int | bool | None] = {
            "type": "deliver_chunk_request",
            "key": delivery_key,
            "size": DOWNLOAD_CHUNK_SIZE,
            "name": found.name,
        }
        try:
            while await found.app_service.send_meta(wish):
                piece = await asyncio.wait_for(found.incoming_chunks.get(), PIECE_S)
                if not piece:
                    return
                yield piece
        except TimeoutError:
            return
        finally:
            del self._active_downloads[delivery_key]
