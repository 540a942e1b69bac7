"""What the server uses of textual-serve that is private; what is private to Textual: `dashboard/widgets/textual_seams`.

Rule: loads no Textual, as the server does not. Issues are those of Textualize/textual-serve. The codec of packets,
`unpack_packet` and its `DecodeError`, tells when the end of a file has come; no issue was found that asks for it.
"""

import asyncio

from textual_serve._binary_encode import DecodeError
from textual_serve._binary_encode import load as unpack_packet
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

__all__ = ["DecodeError", "forget_download", "send_input_to", "unpack_packet"]


def send_input_to(service: AppService, stdin: asyncio.StreamWriter) -> None:
    """Let a service send what is typed to a process that it has not started itself.

    Why: textual-serve starts a shell, with the whole environment of the server. Upstream: none found.
    """
    service._stdin = stdin


def forget_download(downloads: DownloadManager, key: str) -> None:
    """Forget a file that was taken, or given up.

    Why: textual-serve waits four seconds for a piece, a constant, and keeps what a browser has left half taken.
    Upstream: #29 "Download manager reliability", open.
    """
    del downloads._active_downloads[key]
