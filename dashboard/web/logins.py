"""Who has signed in: one-time tokens, the cookies they are exchanged for, and when those end.

Rule: neither tokens nor cookies are kept, only their hashes. A token is good once; the link with the next one is made
when it was used. A login ends when no tab of it was open for the idle time.
"""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass

_BYTES = 32


@dataclass(slots=True, eq=False)
class Login:
    """One browser that has signed in."""

    seen_s: float
    """When it was last heard of."""
    tabs: int = 0
    """Its open tabs."""


class Logins:
    """The logins of one server; they end with it."""

    def __init__(self, *, idle_s: float, clock: Callable[[], float]) -> None:
        """Begin without any.

        Args:
            idle_s: How long a login outlives its last tab, in seconds.
            clock: Seconds that only go forward.
        """
        self._idle_s = idle_s
        self._clock = clock
        self._token = b""
        self._logins: dict[bytes, Login] = {}

    def new_token(self) -> str:
        """Return the token of the next login; the one before is good no longer."""
        token = secrets.token_urlsafe(_BYTES)
        self._token = _hash(token)
        return token

    def exchange(self, token: str, old_cookie: str | None = None) -> str | None:
        """Return a cookie for the token of the moment, which is used up; None for any other.

        Args:
            token: What the browser has sent.
            old_cookie: The cookie that it has. Where that is good its login goes on under the new one: its open tabs
                would lose their up- and downloads otherwise.
        """
        if not self._token or not secrets.compare_digest(_hash(token), self._token):
            return None
        self._token = b""
        cookie = secrets.token_urlsafe(_BYTES)
        login = self.of(old_cookie) or Login(self._clock())
        if old_cookie:
            self._logins.pop(_hash(old_cookie), None)
        self._logins[_hash(cookie)] = login
        return cookie

    def of(self, cookie: str | None) -> Login | None:
        """Return the login of a cookie, which counts as heard of; None where there is none, or it has ended."""
        self._forget()
        login = self._logins.get(_hash(cookie)) if cookie else None
        if login is not None:
            login.seen_s = self._clock()
        return login

    def opened(self, login: Login) -> None:
        """Take note of a tab."""
        login.tabs += 1

    def closed(self, login: Login) -> None:
        """Take note that a tab was closed."""
        login.tabs -= 1
        login.seen_s = self._clock()

    def _forget(self) -> None:
        over_s = self._clock() - self._idle_s
        self._logins = {key: login for key, login in self._logins.items() if login.tabs or login.seen_s > over_s}


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
