"""Checks of the Host and Origin of each request, and the security headers of each answer.

Rule: a request for an unknown host (DNS rebinding) or from another site is refused before anything else handles it.
The ports of Host and Origin only have to be equal, so that a forwarded port works.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self'{sockets}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Styles may be inline, because xterm.js writes its own; scripts may not."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Server": "quarterdeck",
}


class Forbidden(Exception):
    """A request is refused with status 403; the message is the reason, one line."""


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True, slots=True)
class RequestGate:
    """Lets requests pass that name this server and come from its page. Tokens and cookies are in `logins.py`."""

    bind: str
    """The address on which it listens."""
    names: tuple[str, ...] = ()
    """Additional names (`--host`)."""
    tls: bool = False
    _allowed_names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        own = (self.bind, *(LOOPBACK if is_loopback(self.bind) else ()))
        object.__setattr__(self, "_allowed_names", frozenset(name.lower() for name in (*own, *self.names)))

    def check(self, headers: Mapping[str, str], *, needs_origin: bool, opens_page: bool = False) -> None:
        """Check the host and the origin of a request.

        Args:
            needs_origin: Whether it must come from our own page, as every request that changes something.
            opens_page: Whether it requests the page itself, to which other sites may link.

        Raises:
            Forbidden: If the host is unknown, or it comes from another site.
        """
        host = headers.get("Host", "")
        name = _name(host)
        if name not in self._allowed_names:
            hint = f"; if that is its name: --host {name[:80]}" if name else ""
            raise Forbidden(f"this server does not answer to {host[:80]!r}{hint}")
        origin = headers.get("Origin")
        if origin is None:
            own = headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
            linked = headers.get("Sec-Fetch-Mode") == "navigate" and headers.get("Sec-Fetch-Dest") == "document"
            if needs_origin or not (own or (opens_page and linked)):
                raise Forbidden("this request does not come from the page of this server")
            return
        schemes = ("https",) if self.tls else ("http", "https")
        if origin.lower() not in [f"{scheme}://{host.lower()}" for scheme in schemes]:
            raise Forbidden(f"{origin[:80]} is not the origin of this server")

    def headers(self, host: str) -> dict[str, str]:
        """Return the headers of every answer."""
        # Named beside 'self', which does not cover sockets in every browser; a proxy may speak TLS where we do not. A
        # policy cannot name an address of IPv6.
        schemes = ("wss",) if self.tls else ("ws", "wss")
        is_named = _name(host) in self._allowed_names and "[" not in host
        sockets = "".join(f" {scheme}://{host}" for scheme in schemes) if is_named else ""
        return {**HEADERS, "Content-Security-Policy": POLICY.format(sockets=sockets)}


def _name(host: str) -> str:
    """Return the name in a Host header without its port; empty if it is invalid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return ""
    is_more = parts.username is not None or parts.path or parts.query or parts.fragment
    return "" if is_more else (parts.hostname or "").rstrip(".")
