"""An agent or a spec that matches a request, with its score and the words that it matches."""

from engine.core.records.records import fact

_WEAK_BELOW = 0.5

TEAM = "team"
"""Where an agent of the team is found."""


@fact
class Match:
    """An agent or a spec that matches a request."""

    id: str
    name: str
    source: str = TEAM
    """Where it was found."""
    score: float
    """From 0 to 1: points of its words, of those that a specialty would get for every word that anybody matches."""
    matched: list[str]
    """The words of the request that it is taken for, in lower case and in their order: all that it matches, but for one
    chosen after others only those that none of these matches."""
    missing: list[str]
    """The words of the request that it does not match."""

    @property
    def is_weak(self) -> bool:
        """Whether it matches less than half of the request."""
        return self.score < _WEAK_BELOW
