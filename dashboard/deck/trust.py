"""Code that this user trusts for the database of a team."""

from collections.abc import Sequence
from pathlib import Path

from dashboard.deck.access import Access
from dashboard.deck.messages import Messages
from dashboard.reading.feed import Feed
from engine.errors import EngineError


class CodeTrust:
    """The user's list of trusted code, as far as one team needs it."""

    def __init__(self, path: Path, feed: Feed, messages: Messages, access: Access) -> None:
        self._path, self._feed, self._messages, self._access = path, feed, messages, access

    def untrusted_references(self, references: Sequence[str]) -> list[str]:
        """Return the references that this user does not trust for this database; blocks if there are any."""
        from engine.trusted_code.trust import TrustError, needs_trust, user_list  # needed only for code

        allowed = user_list() if references else None
        try:
            return (
                list(references) if allowed is None else needs_trust(allowed, references, self._feed.state, self._path)
            )
        except TrustError:
            return list(references)

    def trust_code(self, references: Sequence[str], path: Path, sha256: str) -> bool:
        """Add code to the list that this user trusts for this database; on failure show why and return False.

        From a browser nothing is added: code that is not on the list is refused.
        """
        from engine.trusted_code.trust import TrustError, grant, user_list

        if self._access.in_browser:
            new = self.untrusted_references(references)
            return not new or self._access.has_local_access(
                f"{', '.join(new[:3])} is not trusted; trust it in a shell first"
            )
        try:
            if references and (allowed := user_list()) is not None:
                grant(allowed, references, self._feed.state, db=self._path, path=path, sha256=sha256)
        except (TrustError, EngineError) as error:
            self._messages.say(f"not trusted: {error}", "error")
            return False
        return True
