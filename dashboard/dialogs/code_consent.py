"""Consent to code that a dialog would let in: it is named at the first confirmation, and trusted at the second."""

from dashboard.deck.deck import Deck
from dashboard.views.words.shell_line import shell_line_to_send
from engine.core.commands import Answer
from engine.core.queries.people.offers import references_offered


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

    def require_for(self, deck: Deck, command: Answer) -> str | None:
        """Do the same for the agents that an answer lets into the team; in a browser say what to run in a shell."""
        references = references_offered(deck.view.state, command)
        if deck.access.in_browser and (missing := deck.trust.untrusted_references(references)):
            shell = shell_line_to_send(deck.view.state, command)
            return f"{', '.join(missing)} is not trusted; in a shell: {shell} --trust"
        return self.require(deck, references)
