"""Texts without keys: what providers repeat of a request in their errors can hold one whole."""

import re
from collections.abc import Iterable

SHORTEST = 6
"""Characters of the shortest value that is taken out wherever it stands."""
HIDDEN = "[key]"
_LOOKS_LIKE_A_KEY = re.compile(
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


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` without the values of secrets, and without anything that looks like a key."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, HIDDEN)
    return _LOOKS_LIKE_A_KEY.sub(HIDDEN, text)
