"""The driver of a tab: what it writes into the pipe of the server."""

import os
import sys
import threading

import pytest
from textual.app import App

from dashboard.web.driver import TabDriver

pytestmark = pytest.mark.anyio

PACKETS, CHUNK, FRAME = 200, b"z" * 100_000, "s" * 20_000


def kinds_of(stream: bytes) -> list[bytes]:
    """Kinds of all packets in a stream; fails where one is no packet."""
    kinds = []
    while stream:
        kind, size = stream[:1], int.from_bytes(stream[1:5], "big")
        assert kind == b"P" or (kind == b"D" and stream[5 : 5 + size] == FRAME.encode()), stream[:40]
        kinds.append(kind)
        stream = stream[5 + size :]
    return kinds


async def test_what_is_drawn_while_a_file_is_sent_stands_in_packets_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    received = []
    reading, writing = map(os.fdopen, os.pipe(), ("rb", "wb"))
    with reading, writing:
        monkeypatch.setattr(sys, "__stdout__", writing)
        monkeypatch.setattr(sys, "__stdin__", reading)  # it reads nothing, but wants something to wait for
        driver = TabDriver(App[None](), size=(80, 24))

        def send() -> None:
            for _ in range(PACKETS):
                driver.write_binary_encoded(("deliver_chunk", "key", CHUNK))

        reader, sender = threading.Thread(target=lambda: received.append(reading.read())), threading.Thread(target=send)
        reader.start()
        sender.start()
        for _ in range(PACKETS):
            driver.write(FRAME)
        sender.join()
        writing.close()
        reader.join()

    assert sorted(kinds_of(received[0])) == [b"D"] * PACKETS + [b"P"] * PACKETS
