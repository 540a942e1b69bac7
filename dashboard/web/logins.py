"""Logins of browsers: one-time tokens, the cookies they are exchanged for, and their expiry.

Rule: only hashes of tokens and cookies are stored. A token is valid once; using it creates the link with the next one.
A login expires when none of its tabs has been open for the idle time.
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
    """When it was last active, by the clock of `Logins`."""
    tabs: int = 0
    """Number of open tabs."""


class Logins:
    """The logins of one server, in memory only."""

    def __init__(self, *, idle_s: float, clock: Callable[[], float]) -> None:
        """Start without logins.

        Args:
            idle_s: How long a login outlives its last tab, in seconds.
            clock: Monotonic clock, in seconds.
        """
        self._idle_s = idle_s
        self._clock = clock
        self._token = b""
        self._logins: dict[bytes, Login] = {}

    def new_token(self) -> str:
        """Return the token of the next login; the previous token becomes invalid."""
        token = secrets.token_urlsafe(_BYTES)
        self._token = _hash(token)
        return token

    def exchange(self, token: str, old_cookie: str | None = None) -> str | None:
        """Return a cookie for the current token, which becomes invalid; None for any other token.

        Args:
            token: The token that the browser sent.
            old_cookie: The cookie that the browser has. If it is valid, its login continues under the new cookie, so
                that open tabs keep their uploads and downloads.
        """
        if not self._token or not secrets.compare_digest(_hash(token), self._token):
            return None
        self._token = b""
        cookie = secrets.token_urlsafe(_BYTES)
        login = self.login_of(old_cookie) or Login(self._clock())
        if old_cookie:
            self._logins.pop(_hash(old_cookie), None)
        self._logins[_hash(cookie)] = login
        return cookie

    def login_of(self, cookie: str | None) -> Login | None:
        """Return the login of a cookie and note that it is active; None if it is unknown or has expired."""
        self._forget()
        login = self._logins.get(_hash(cookie)) if cookie else None
        if login is not None:
            login.seen_s = self._clock()
        return login

    def add_tab(self, login: Login) -> None:
        """Count a tab that was opened."""
        login.tabs += 1

    def remove_tab(self, login: Login) -> None:
        """Count a tab that was closed."""
        login.tabs -= 1
        login.seen_s = self._clock()

    def _forget(self) -> None:
        over_s = self._clock() - self._idle_s
        self._logins = {key: login for key, login in self._logins.items() if login.tabs or login.seen_s > over_s}


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="replace")).digest()
