"""Texts without keys: what providers repeat of a request in their errors can hold one whole."""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from urllib.parse import unquote

SHORTEST = 6
"""Characters of the shortest value that is taken out wherever it stands."""
HIDDEN = "[key]"
LONGEST = 8_000
"""Characters of a text that are kept: what looks like a key is found in a time that grows with their square."""


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the beginning of a text without the values of secrets, and without anything that looks like a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, HIDDEN)
    if len(text) > LONGEST:  # at the end of a word: half a key does not look like one
        text = "".join(text[:LONGEST].rsplit(maxsplit=1)[:1])
    return _looks_like_a_key().sub(HIDDEN, text)


def credentials_in(value: str) -> list[str]:
    """Return what gives the credentials of an address away, such as that of a proxy: `http://user:password@host`."""
    if "@" not in value:
        return []
    found = re.match(r"(?i)\s*(?:[a-z][a-z0-9+.-]*://)?([^/?#\s]*):([^/?#\s]*)@", value)
    if found is None:
        return []
    user, password = unquote(found[1]), unquote(found[2])
    basic = b64encode(f"{user}:{password}".encode()).decode()
    return [f"{found[1]}:{found[2]}@", f"{user}:{password}", basic, found[2], password]


@cache
def _looks_like_a_key() -> re.Pattern[str]:
    # Compiled when it is first needed: that takes 15 ms of the start of an engine.
    return re.compile(
        r"""(?ix)
        \b(?:sk|pk|rk|gsk|hf|xai|key|api|ghp|gho|github_pat|glpat|pplx|nvapi|tgp|r8)[-_][\w*.-]{6,}
        | \bAIza[\w-]{10,}
        | \b(?:AKIA|ASIA)[A-Z0-9]{12,}
        | \beyJ[\w-]{10,}\.[\w.-]+
        | (?<=bearer\s)[^\s,;'"]{6,}
        | (?<=api-key:\s)[^\s,;'"]{6,}
        | \b(?=[\w+/-]*[0-9])(?=[\w+/-]*[a-z])[\w+/-]{32,}=*
        """
    )
