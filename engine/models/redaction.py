"""Texts without keys: what providers repeat of a request in their errors can hold one whole.

A secret is found as servers repeat it: in any case, with the escapes of JSON or of addresses. See
docs/reference/trust.md.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache, lru_cache
from urllib.parse import unquote

MIN_SECRET_CHARACTERS = 6
"""Characters of the shortest value that is taken out wherever it stands."""
MIN_WORD_CHARACTERS = 4
"""Characters of the shortest value that is taken out where it stands as a word of its own."""
KEY_PLACEHOLDER = "[key]"
MAX_CHARACTERS = 8_000
"""Characters of a text that are kept: what looks like a key is found in a time that grows with their square."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the beginning of a text without the values of secrets, and without anything that looks like a key."""
    text = hide(text, ((KEY_PLACEHOLDER, secret) for secret in sorted(secrets, key=len, reverse=True)))
    if len(text) > MAX_CHARACTERS:  # at the end of a word: half a key does not look like one
        text = "".join(text[:MAX_CHARACTERS].rsplit(maxsplit=1)[:1])
    return _key_pattern().sub(KEY_PLACEHOLDER, text)


def hide(text: str, secrets: Iterable[tuple[str, str]]) -> str:
    """Return a text with something else in place of each secret.

    Args:
        secrets: What stands there instead, and the secret; longer ones first.
    """
    folded = text.lower()
    for replacement, secret in secrets:
        if len(secret) >= MIN_WORD_CHARACTERS and _longest_run(secret) in folded:
            text = _pattern(secret).sub(replacement.replace("\\", r"\\"), text)
    return text


@lru_cache(maxsize=1_000)
def _longest_run(secret: str) -> str:
    """Return the longest part of a secret that no server escapes: texts without it are not searched further."""
    return max(re.findall("[a-z0-9]+", secret.lower()), key=len, default="")


@lru_cache(maxsize=1_000)
def _pattern(secret: str) -> re.Pattern[str]:
    """Return a pattern of a secret as servers repeat it."""
    # Of backslashes in a row one stands for all: its pattern is any number of them, and several of those in a row
    # would take long where there are many.
    pattern = "".join(map(_character_pattern, re.sub(r"\\+", r"\\", secret)))
    if len(secret) < MIN_SECRET_CHARACTERS:
        pattern = rf"(?:(?<![^\W_])|(?<=%[0-9a-f][0-9a-f])){pattern}(?![^\W_])"
    return re.compile(pattern, re.IGNORECASE)


@cache
def _character_pattern(character: str) -> str:
    if character.isascii() and character.isalnum():
        return character
    if character == "\\":
        return r"(?:(?:\\+u005c)+|(?:%(?:25)*5c)+|\\+)"
    # Escapes first: in the address of a `%`, the sign itself is only the beginning.
    alternatives = [
        alternative for case in {character, character.lower(), character.upper()} for alternative in _escapes(case)
    ]
    alternatives += [r"\+"] if character == " " else []
    alternatives += [rf"\\+{_JSON_ESCAPES[character]}"] if character in _JSON_ESCAPES else []
    alternatives.append(rf"\\*{re.escape(character)}")
    return f"(?:{'|'.join(alternatives)})"


def _escapes(text: str) -> tuple[str, str]:
    """Return patterns of a text as JSON and as addresses escape it, once or several times."""
    units, code = text.encode("utf-16-be", "surrogatepass").hex(), text.encode("utf-8", "surrogatepass")
    in_json = "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return in_json, "".join(f"%(?:25)*{byte:02x}" for byte in code)


_JSON_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?<![A-Z])PAT(?![A-Z])|PASS(?![A-Z])|_PWD(?![A-Z])", re.IGNORECASE
)
_sent_variables: set[str] = set()
"""Variables whose values were sent as keys."""


def is_secret_name(name: str) -> bool:
    """Return whether a variable is called as those of secrets are."""
    return _SECRET_NAME.search(name) is not None


def note_sent(name: str) -> None:
    """Note that the value of a variable is sent as a key: then it is hidden though it is short."""
    _sent_variables.add(name)


def sent_variables() -> frozenset[str]:
    """Return the variables whose values were sent as keys so far."""
    return frozenset(_sent_variables)


def credentials_in(value: str) -> list[str]:
    """Return what gives the credentials of an address away, such as that of a proxy: `http://user:password@host`."""
    if "@" not in value:
        return []
    userinfo = re.match(r"(?i)\s*(?:[a-z][a-z0-9+.-]*://)?([^/?#\s]*):([^/?#\s]*)@", value)
    if userinfo is None:
        return []
    user, password = unquote(userinfo[1]), unquote(userinfo[2])
    basic = b64encode(f"{user}:{password}".encode()).decode()
    return [f"{userinfo[1]}:{userinfo[2]}@", f"{user}:{password}", basic, userinfo[2], password]


@cache
def _key_pattern() -> re.Pattern[str]:
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
