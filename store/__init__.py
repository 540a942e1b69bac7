"""The files of a team: journal, inbox, snapshots, lease, live output.

SQLite files connect the processes: one engine writes the journal, all others read it and put
commands into the inbox. Records are opaque here, a kind and a body of JSON bytes. What opens files is
loaded on first use, and readers never load asyncio, anyio or aiosqlite. See docs/reference/files.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from store.errors import (
    ClockUnusable,
    CommandTooLarge,
    CorruptFile,
    Deposed,
    DiskFailed,
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
    SecondName,
    SeqTaken,
    StoreBusy,
    StoreError,
    UnusablePath,
)
from store.journals.records import CommandOutcome, CommandRow, EngineInfo, Record, Row, StandbyInfo, VerifyResult

if TYPE_CHECKING:
    from store.inbox_client import InboxClient
    from store.journals.reader import Reader
    from store.journals.shared_tail import Following, follow
    from store.journals.tail import HashedRow, Tail, mark_at
    from store.journals.verification import Loss, find_loss, verify
    from store.layout.connection import Durability
    from store.layout.creation import check_free, create_database
    from store.layout.file_check import check_database, check_place
    from store.layout.files import can_command
    from store.layout.opening import Store, open_store
    from store.leadership.standby import Standby, stand_by

_LAZY_NAMES = {
    "layout.connection": "Durability",
    "layout.creation": "check_free create_database",
    "layout.file_check": "check_database check_place",
    "layout.files": "can_command",
    "inbox_client": "InboxClient",
    "layout.opening": "Store open_store",
    "journals.reader": "Reader",
    "journals.shared_tail": "Following follow",
    "leadership.standby": "Standby stand_by",
    "journals.tail": "HashedRow Tail mark_at",
    "journals.verification": "Loss find_loss verify",
}
_MODULES_BY_NAME = {name: file for file, names in _LAZY_NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _MODULES_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES_BY_NAME[name]}"), name)
    return attribute
