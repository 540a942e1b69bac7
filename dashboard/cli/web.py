"""`quarterdeck serve`: the dashboard for browsers.

Rule: everything that is wrong with the options is said in one line before anything listens. See docs/reference/web.md.
"""

import os
import re
import signal
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import click

from dashboard.cli.database import database_of, team_in
from dashboard.cli.printing.output import DONE, INTERRUPTED, emit, fail, is_json, say
from dashboard.cli.printing.times import seconds
from dashboard.web.gate import RequestGate, is_loopback
from engine.platform.garbage import collect_rarely
from store import Reader

if TYPE_CHECKING:
    from dashboard.web.server import ServerOptions

BIND = "127.0.0.1:8642"
SHORTEST_TOKEN = 16
_BIND = re.compile(r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})")
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*|[0-9a-f]*:[0-9a-f]*:[0-9a-f:.]*", re.ASCII | re.IGNORECASE)


@click.command(short_help="Open the dashboard to browsers.")
@click.option(
    "--bind", default=BIND, show_default=True, metavar="HOST:PORT", help="Where it listens; port 0 takes any."
)
@click.option(
    "--role",
    type=click.Choice(["viewer", "operator"]),
    default="viewer",
    show_default=True,
    help="Role of signed-in users.",
)
@click.option("--host", "hosts", multiple=True, metavar="NAME", help="A name that it answers to; several times.")
@click.option("--cert", type=click.Path(path_type=Path), metavar="FILE", help="Certificate chain for TLS, in PEM.")
@click.option("--key", type=click.Path(path_type=Path), metavar="FILE", help="Its private key.")
@click.option("--sessions", type=click.IntRange(1, 1000), default=16, show_default=True, help="Most open tabs.")
@click.option("--idle", default="8h", show_default=True, metavar="TIME", help="How long a login outlives its last tab.")
@click.option(
    "--metrics-token-file",
    "metrics",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Serve /metrics to clients with the token in this file.",
)
@click.pass_context
def serve(
    ctx: click.Context,
    bind: str,
    role: str,
    hosts: tuple[str, ...],
    cert: Path | None,
    key: Path | None,
    sessions: int,
    idle: str,
    metrics: Path | None,
) -> int:
    """Serve the dashboard to browsers, by default read-only and on this machine only.

    It prints a link that signs one browser in, once, and the next link when that was used.
    """
    db = database_of(ctx, changes=False)
    with Reader(db):
        pass
    host, port = _address(bind)
    context = _context(cert, key)
    _check_reach(host, port, tls=context is not None, hosts=hosts)
    idle_s = seconds(idle, "duration")
    token = _token(metrics)

    from dashboard.web.running import serve_until_signal  # the server, 0.3 s that wrong arguments do not cost
    from dashboard.web.server import ServerOptions

    collect_rarely()
    gate = RequestGate(host, tuple(hosts), tls=context is not None)
    options = ServerOptions(db=db, gate=gate, role=role, sessions=sessions, idle_s=idle_s, title=team_in(db))
    listener = _LinkPrinter(ctx, options)
    try:
        ended_by = anyio.run(serve_until_signal, options, port, context, token, listener)
    except OSError as error:
        fail("cannot_listen", f"cannot listen on {bind}: {error.strerror or error}", "choose another port with --bind")
    return INTERRUPTED if ended_by is signal.SIGINT else DONE


class _LinkPrinter:
    """What is printed while it runs."""

    def __init__(self, ctx: click.Context, options: "ServerOptions") -> None:
        self._ctx = ctx
        self._options = options

    def announce_link(self, link: str) -> None:
        """Say that it listens, and the first link."""
        if is_json(self._ctx):
            emit(self._ctx, "serve", {"link": link, "pid": os.getpid(), "role": self._options.role}, None)
            return
        rights_text = (
            "may change the team"
            if self._options.role == "operator"
            else "can look; --role operator lets them change the team"
        )
        say(f"serving {self._options.db} as {self._options.role}: users who sign in {rights_text}; Ctrl-C ends it")
        say(f"sign one browser in:  {link}")

    def announce_sign_in(self, where: str, link: str) -> None:
        """Say who has signed in, and the next link."""
        if is_json(self._ctx):
            emit(self._ctx, "signed_in", {"from": where, "link": link}, None)
        else:
            say(f"signed in from {where}; the next browser:  {link}")


def _address(bind: str) -> tuple[str, int]:
    parts = _BIND.fullmatch(bind)
    port = int(parts["port"]) if parts is not None else 65_536
    if parts is None or port > 65_535:
        fail("usage", f"--bind {bind!r} is not HOST:PORT", f"such as --bind {BIND}, or [::1]:8642")
    return parts["six"] or parts["host"], port


def _context(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        missing, given_option = ("--cert", "--key") if cert is None else ("--key", "--cert")
        fail("usage", f"{given_option} without {missing}", "TLS needs both")
    for option, path in (("--cert", cert), ("--key", key)):
        if not os.access(path, os.R_OK) or not path.is_file():
            fail("no_certificate", f"{option} {path} is not there, or cannot be read", "give both files in PEM")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key, password=_no_password)
    except (ssl.SSLError, OSError, ValueError):
        reason = "they are not a pair in PEM, or the key has a password"
        fail("no_certificate", f"{cert} and {key} cannot be used: {reason}", "give a certificate and its key")
    return context


def _no_password() -> str:
    raise ValueError("nobody is asked for a password")


def _check_reach(host: str, port: int, *, tls: bool, hosts: tuple[str, ...]) -> None:
    """Refuse an address that others can reach, unless what goes over the net is encrypted and the name is known."""
    for name in hosts:
        if not _NAME.fullmatch(name):
            hint = "without scheme, port or path, such as --host team.example.org"
            fail("usage", f"--host {name!r} is not the name of a host", hint)
    if is_loopback(host):
        return
    if not tls:
        hint = f"give --cert FILE --key FILE, or keep to this machine and use: ssh -L {port}:{BIND} HOST"
        fail("not_loopback", f"{host} can be reached from elsewhere, and there is no certificate", hint)
    if host in ("0.0.0.0", "::") and not hosts:
        fail("usage", f"{host} is not a host name that a browser can use", "say which it answers to: --host NAME")


def _token(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        fail("no_token", f"--metrics-token-file {path} cannot be read", "write a long random word into a file")
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        fail(
            "no_token",
            f"{path} holds no token: one word of at least {SHORTEST_TOKEN} characters",
            "such as: openssl rand -hex 24",
        )
    if path.stat().st_mode & 0o077:
        fail("no_token", f"{path} can be read by others", f"close it: chmod 600 {path}")
    return token
