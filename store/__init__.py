"""The files of a team: journal, inbox, snapshots, lease, live output.

SQLite files are the meeting place: one engine writes the journal, everybody else reads it and puts
commands into the inbox. Records are opaque here, a kind and a body of JSON bytes. The engine's side
(`open_store`) is loaded on first use: readers need neither asyncio nor aiosqlite.
"""

from typing import TYPE_CHECKING, Any

from store.connection import Durability
from store.errors import (
    CorruptFile,
    Deposed,
    DiskFull,
    LeftoverWal,
    MissingFile,
    MissingFolder,
    NetworkFileSystem,
    NewerFile,
    NoPermission,
    NoSuchSeq,
    NotOurFile,
    ReadOnlyFolder,
    SeqTaken,
    StoreBusy,
    StoreError,
)
from store.inbox_client import InboxClient
from store.reader import Reader
from store.recognition import looks_like_ours
from store.records import CommandOutcome, CommandRow, EngineInfo, Record, Row, VerifyResult
from store.tail import Tail
from store.verification import quick_check, verify

if TYPE_CHECKING:
    from store.opening import Store, open_store

__all__ = [
    "CommandOutcome",
    "CommandRow",
    "CorruptFile",
    "Deposed",
    "DiskFull",
    "Durability",
    "EngineInfo",
    "InboxClient",
    "LeftoverWal",
    "MissingFile",
    "MissingFolder",
    "NetworkFileSystem",
    "NewerFile",
    "NoPermission",
    "NoSuchSeq",
    "NotOurFile",
    "ReadOnlyFolder",
    "Reader",
    "Record",
    "Row",
    "SeqTaken",
    "Store",
    "StoreBusy",
    "StoreError",
    "Tail",
    "VerifyResult",
    "looks_like_ours",
    "open_store",
    "quick_check",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name in ("Store", "open_store"):
        from store import opening  # anyio and aiosqlite: 90 ms that readers do not pay

        return getattr(opening, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
