"""The files of a team: journal, inbox, snapshots, lease, live output.

SQLite files connect the processes: one engine writes the journal, all others read it and put
commands into the inbox. Records are opaque here, a kind and a body of JSON bytes. What opens files is
loaded on first use, and readers never load asyncio, anyio or aiosqlite. See docs/reference/files.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from store.errors import (
    CommandTooLarge,
    CorruptFile,
    Deposed,
    DiskFull,
    FileLost,
    LeftoverWal,
    MissingFile,
    MissingFolder,
    NameTaken,
    NetworkFileSystem,
    NewerFile,
    NoPermission,
    NoSuchSeq,
    NotItsTurn,
    NotOurFile,
    OlderFile,
    ReadOnlyFolder,
    ReadRowsLost,
    RowsLost,
    SeqTaken,
    StoreBusy,
    StoreError,
    UnusablePath,
)
from store.records import CommandOutcome, CommandRow, EngineInfo, Record, Row, StandbyInfo, VerifyResult

if TYPE_CHECKING:
    from store.connection import Durability
    from store.creation import check_free, create_database
    from store.file_check import check_place, looks_like_ours
    from store.inbox_client import InboxClient
    from store.opening import Store, open_store
    from store.reader import Reader
    from store.shared_tail import Following, follow
    from store.standby import Standby, stand_by
    from store.tail import Mark, Tail, mark_at
    from store.verification import Loss, find_loss, verify

__all__ = [
    "CommandOutcome",
    "CommandRow",
    "CommandTooLarge",
    "CorruptFile",
    "Deposed",
    "DiskFull",
    "Durability",
    "EngineInfo",
    "FileLost",
    "Following",
    "InboxClient",
    "LeftoverWal",
    "Loss",
    "Mark",
    "MissingFile",
    "MissingFolder",
    "NameTaken",
    "NetworkFileSystem",
    "NewerFile",
    "NoPermission",
    "NoSuchSeq",
    "NotItsTurn",
    "NotOurFile",
    "OlderFile",
    "ReadOnlyFolder",
    "ReadRowsLost",
    "Reader",
    "Record",
    "Row",
    "RowsLost",
    "SeqTaken",
    "Standby",
    "StandbyInfo",
    "Store",
    "StoreBusy",
    "StoreError",
    "Tail",
    "UnusablePath",
    "VerifyResult",
    "check_free",
    "check_place",
    "create_database",
    "find_loss",
    "follow",
    "looks_like_ours",
    "mark_at",
    "open_store",
    "stand_by",
    "verify",
]


_LOADED_ON_FIRST_USE = {
    "Durability": "store.connection",
    "Following": "store.shared_tail",
    "InboxClient": "store.inbox_client",
    "Loss": "store.verification",
    "Mark": "store.tail",
    "Reader": "store.reader",
    "Standby": "store.standby",
    "Store": "store.opening",
    "Tail": "store.tail",
    "check_free": "store.creation",
    "check_place": "store.file_check",
    "create_database": "store.creation",
    "find_loss": "store.verification",
    "follow": "store.shared_tail",
    "looks_like_ours": "store.file_check",
    "mark_at": "store.tail",
    "open_store": "store.opening",
    "stand_by": "store.standby",
    "verify": "store.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _LOADED_ON_FIRST_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_LOADED_ON_FIRST_USE[name]), name)
    return found
