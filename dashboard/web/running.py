"""Runs a web server: listens, prints a link, and ends with its tabs on a signal."""

import asyncio
import contextlib
import logging
import resource
import signal
import ssl
from typing import Any, Protocol

import anyio
import anyio.to_thread
from aiohttp.http_exceptions import HttpProcessingError

from dashboard.web.folders import remove_left_behind
from dashboard.web.prometheus import Metrics
from dashboard.web.server import ServerOptions, WebServer

END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OPEN_FILES = 8_192
"""Limit of open connections and files, if the system allows it: shells often allow 1,024, and that many silent
connections would lock everybody else out."""


class LinkListener(Protocol):
    """Receives what happens to the server."""

    def announce_link(self, link: str) -> None:
        """The server listens; the link signs one browser in."""

    def announce_sign_in(self, where: str, link: str) -> None:
        """A browser at an address used the link; this is the next one."""


def is_worth_logging(record: logging.LogRecord) -> bool:
    """Keep invalid HTTP out of the log: it was answered, and anybody could flood the terminal with it."""
    return record.exc_info is None or not isinstance(record.exc_info[1], HttpProcessingError)


def raise_open_file_limit() -> None:
    """Raise the limit of open files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class CrowdingHandler:
    """Reports once that no more connections can be accepted; asyncio logs it a hundred times a second."""

    def __init__(self) -> None:
        self._has_reported = False

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not str(context.get("message", "")).startswith("socket.accept() out of system resource"):
            loop.default_exception_handler(context)
        elif not self._has_reported:
            self._has_reported = True
            logging.getLogger(__name__).error("more connections than this process may have: others have to wait")


async def serve_until_signal(
    options: ServerOptions, port: int, context: ssl.SSLContext | None, token: str | None, listener: LinkListener
) -> signal.Signals:
    """Serve until a signal, and return it.

    Args:
        options: What is served, and to whom.
        port: Where it listens; 0 takes any.
        context: For TLS; None speaks plain HTTP.
        token: For `/metrics`; None has none.
        listener: Hears what happens.

    Raises:
        OSError: If it cannot listen there.
        StoreError: If metrics are wanted and the file cannot be read.
    """
    raise_open_file_limit()
    await anyio.to_thread.run_sync(remove_left_behind)
    logging.getLogger("aiohttp.server").addFilter(is_worth_logging)
    # It warns of each download that is dropped because no browser fetched it.
    logging.getLogger("textual-serve").setLevel(logging.ERROR)
    asyncio.get_running_loop().set_exception_handler(CrowdingHandler())
    address = ""

    def link() -> str:
        return f"{address}/#token={server.logins.new_token()}"

    metrics = None if token is None else Metrics(options.db, token)
    if metrics is not None:
        await anyio.to_thread.run_sync(metrics.text)  # counts from now on
    server = WebServer(options, metrics=metrics, on_sign_in=lambda where: listener.announce_sign_in(where, link()))
    runner = await server.make_runner()
    await runner.setup()
    try:
        with contextlib.ExitStack() as ending, anyio.open_signal_receiver(*END_SIGNALS) as signals:
            # Not by a site of aiohttp, which lets a client take a minute until it speaks TLS.
            assert runner.server is not None
            listening = await asyncio.get_running_loop().create_server(
                runner.server,
                options.gate.bind,
                port,
                ssl=context,
                backlog=128,
                ssl_handshake_timeout=None if context is None else options.silent_s,
            )
            ending.callback(listening.close)
            port = listening.sockets[0].getsockname()[1]
            server.set_port(port)
            name = options.gate.names[0] if options.gate.names else options.gate.bind
            host = f"[{name}]" if ":" in name else name
            address = f"{'https' if context is not None else 'http'}://{host}:{port}"
            listener.announce_link(link())
            async for number in signals:
                return signal.Signals(number)
    finally:
        with anyio.CancelScope(shield=True):
            await runner.cleanup()
    raise AssertionError("signals never end")
