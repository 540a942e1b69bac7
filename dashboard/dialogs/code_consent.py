"""Consent to code that a dialog would let in: it is named at the first confirmation, and trusted at the second."""

from dashboard.deck.deck import Deck


class CodeConsent:
    """The user's consent to code that a text names: it is shown first, and trusted when the text is sent again."""

    def __init__(self, key: str = "ctrl+s") -> None:
        self._key = key
        self.pending: list[str] = []
        """Untrusted code that was named."""

    @property
    def hint(self) -> str:
        """What to do about the code that was named; empty without any."""
        if not self.pending:
            return ""
        return f"not trusted yet: {', '.join(self.pending)}; look at that code, then {self._key} trusts it"

    def require(self, deck: Deck, references: list[str]) -> str | None:
        """Return None if code is trusted, else the problem; the first call names the code, the second trusts it."""
        missing = deck.trust.untrusted_references(references)
        if not missing:
            return None
        if self.pending == missing or deck.access.in_browser:
            trusted = deck.trust.trust_code(references, deck.path.resolve(), "")
            message = deck.messages.current
            return None if trusted else message.text if message is not None else ""
        self.pending = missing
        return self.hint
