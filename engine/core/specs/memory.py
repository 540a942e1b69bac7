"""What people write about shared memory: its size, rights and searches."""

from collections.abc import Mapping, Sequence
from typing import Annotated, TypedDict

from msgspec import field

from engine.core.validation.bounds import Importance, Label, PoolSize, RecallLimit, Seconds, Segment
from engine.core.validation.records import ValidatedRecord
from engine.core.validation.rules import Also, InvalidValue, Within

ALL = "all"
"""In place of a name in a right: every agent of the team."""
Holders = Annotated[Sequence[Label], Within(max_length=100)]


def _check_shared(segments: Mapping[str, object]) -> None:
    if "private" in segments:
        raise InvalidValue("a segment other than private, which is of each agent alone", "private")


class SegmentRights(ValidatedRecord, kw_only=True):
    """Who may use a segment: names of agents, of supervisors with all agents below them, or `all`."""

    whose = "rights of a segment"

    read: Holders = (ALL,)
    """Who may read it; the default is all."""
    write: Holders = (ALL,)
    """Who may write to it; the default is all."""


class MemoryOptions(ValidatedRecord, kw_only=True):
    """The shared memory of a team. Segments that are not named are open to all its agents."""

    whose = "memory"

    max: PoolSize = 10_000
    """Insights that the team keeps, at most 50,000; beyond it expired, superseded, unimportant and old ones are
    dropped."""
    segments: Annotated[Mapping[Segment, SegmentRights], Also(_check_shared), Within(max_length=100)] = field(
        default_factory=dict
    )
    """Rights by segment."""


class InsightQuery(ValidatedRecord, kw_only=True):
    """A search of insights; all conditions hold together."""

    whose = "search of insights"

    text: Annotated[str, Within(max_length=10_000)] = ""
    """Words; the results are ordered by how well they match. Empty orders by importance, then age."""
    any_of: Annotated[Sequence[Label], Within(max_length=100)] = ()
    """Tags of which an insight has at least one."""
    all_of: Annotated[Sequence[Label], Within(max_length=100)] = ()
    """Tags of which an insight has each."""
    segment: Segment | None = None
    """None searches all segments."""
    min_importance: Importance = 0
    max_age_s: Seconds | None = None
    """Seconds since it was written."""
    exclude_own: bool = False
    """Leave out what the searching agent wrote itself."""
    unused: bool = False
    """Only insights that no step has read."""
    superseded: bool = False
    """Also those in whose place another was written."""
    limit: RecallLimit = 10


class InsightConditions(TypedDict, total=False):
    """The conditions of a search that programs give by name, besides its text; `InsightQuery` says what they mean."""

    any_of: Sequence[str]
    all_of: Sequence[str]
    segment: str | None
    min_importance: float
    max_age_s: float | None
    exclude_own: bool
    unused: bool
    superseded: bool
    limit: int
