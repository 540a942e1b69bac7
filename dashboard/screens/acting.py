"""What every action begins with: whether anything may be changed here, and what it is about."""

from typing import TYPE_CHECKING

from textual.screen import Screen

from dashboard.views.targets import Target, named
from engine.core.errors import Refused

if TYPE_CHECKING:
    from dashboard.app import QuarterdeckApp

READ_ONLY = "refused: this dashboard is read-only; open it without --readonly to change the team"


class Acting(Screen[None]):
    """A screen on which an operator acts."""

    @property
    def deck(self) -> "QuarterdeckApp":
        """The app."""
        raise NotImplementedError

    def explained(self) -> tuple[str, tuple[tuple[str, str], ...], tuple[str, ...]]:
        """Return what the screen is called, its own keys, and the headings of its columns."""
        raise NotImplementedError

    def target(self) -> Target | None:
        """Return what is under the cursor."""

    def marked_agents(self) -> list[str]:
        """Return the agents that were marked, in the order of the rows."""
        return []

    def unmark(self) -> None:
        """Take every mark off."""

    def no_target(self) -> str:
        """Return what to do where nothing is under the cursor."""
        return "choose a row first"

    def asked(self, name: str | None) -> Target | None:
        """Return what a name means, or what is under the cursor; say so where that is nothing."""
        try:
            found = named(self.deck.glimpse.state, name) if name else self.target()
        except Refused as refused:
            self.deck.say(refused.reason, "warn")
            return None
        if found is None:
            self.deck.say(self.no_target(), "warn")
        return found

    def may(self) -> bool:
        """Tell whether anything may be changed here, and say so where not."""
        if self.deck.readonly:
            self.deck.say(READ_ONLY, "warn")
        return not self.deck.readonly
