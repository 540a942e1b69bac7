"""Removes API keys and other secrets from texts: errors of providers may quote a whole request.

A secret is recognized in any letter case, and with the escapes of JSON or URLs. See docs/reference/trust.md.
"""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache, lru_cache
from urllib.parse import unquote

MIN_SECRET_CHARACTERS = 6
"""Minimum length of a value that is removed anywhere in a text."""
MIN_WORD_CHARACTERS = 4
"""Minimum length of a value that is removed as a separate word."""
KEY_PLACEHOLDER = "[key]"
MAX_CHARACTERS = 8_000
"""Characters of a text that are kept; the time of the search for keys grows with their square."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return the beginning of a text without `secrets`, and without anything that looks like a key."""
    text = hide(text, ((KEY_PLACEHOLDER, secret) for secret in sorted(secrets, key=len, reverse=True)))
    if len(text) > MAX_CHARACTERS:  # cut between words: half a key would not be recognized
        text = "".join(text[:MAX_CHARACTERS].rsplit(maxsplit=1)[:1])
    return _key_pattern().sub(KEY_PLACEHOLDER, text)


def hide(text: str, secrets: Iterable[tuple[str, str]]) -> str:
    """Return a text with each secret replaced; pairs of replacement and secret, longer secrets first."""
    folded = text.lower()
    for replacement, secret in secrets:
        if len(secret) >= MIN_WORD_CHARACTERS and _longest_run(secret) in folded:
            text = _pattern(secret).sub(replacement.replace("\\", r"\\"), text)
    return text


@lru_cache(maxsize=1_000)
def _longest_run(secret: str) -> str:
    """Return the longest part of a secret that no server escapes; a text without it does not contain the secret."""
    return max(re.findall("[a-z0-9]+", secret.lower()), key=len, default="")


@lru_cache(maxsize=1_000)
def _pattern(secret: str) -> re.Pattern[str]:
    """Return a pattern for a secret with all its escapes."""
    # Consecutive backslashes become one, whose pattern matches any number: several such patterns in a row would
    # backtrack for very long.
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
    # Escapes first, because the escape of `%` in a URL begins with the character itself.
    alternatives = [
        alternative for case in {character, character.lower(), character.upper()} for alternative in _escapes(case)
    ]
    alternatives += [r"\+"] if character == " " else []
    alternatives += [rf"\\+{_JSON_ESCAPES[character]}"] if character in _JSON_ESCAPES else []
    alternatives.append(rf"\\*{re.escape(character)}")
    return f"(?:{'|'.join(alternatives)})"


def _escapes(text: str) -> tuple[str, str]:
    """Return patterns for the JSON and URL escapes of a text, applied once or several times."""
    units = text.encode("utf-16-be", "surrogatepass").hex()
    code = text.encode("utf-8", "surrogatepass")
    in_json = "".join(rf"\\+u{units[at : at + 4]}" for at in range(0, len(units), 4))
    return in_json, "".join(f"%(?:25)*{byte:02x}" for byte in code)


_JSON_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|(?<![A-Z])PAT(?![A-Z])|PASS(?![A-Z])|_PWD(?![A-Z])", re.IGNORECASE
)
_sent_variables: set[str] = set()
"""Names of variables whose values were sent as keys."""


def is_secret_name(name: str) -> bool:
    """Return whether the name of a variable suggests a secret."""
    return _SECRET_NAME.search(name) is not None


def note_sent_variable(name: str) -> None:
    """Note that the value of a variable is sent as a key, so that it is hidden even if it is short."""
    _sent_variables.add(name)


def sent_variables() -> frozenset[str]:
    """Return the variables whose values were sent as keys so far."""
    return frozenset(_sent_variables)


def credentials_in(value: str) -> list[str]:
    """Return the credentials in a URL such as `http://user:password@host` of a proxy, in all their encodings."""
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
    # Compiled on first use, because that takes 15 ms.
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
