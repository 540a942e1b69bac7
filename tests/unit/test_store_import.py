"""Readers start fast: neither an event loop nor a driver for one is loaded for them."""

import subprocess
import sys

import store

PROGRAM = """
import sys
import store
assert not {"sqlite3", "asyncio", "anyio", "aiosqlite", "subprocess", "socket"} & set(sys.modules), "store"
from store import InboxClient, Reader, Tail, check_database, verify
assert not {"asyncio", "anyio", "aiosqlite", "subprocess", "socket"} & set(sys.modules), "readers"
"""


def test_an_import_of_the_readers_loads_no_event_loop() -> None:
    done = subprocess.run([sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


def test_every_public_name_is_there() -> None:
    assert all(getattr(store, name) is not None for name in store._MODULES_BY_NAME)
    assert not hasattr(store, "nothing_of_this_name")
