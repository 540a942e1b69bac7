"""Commands about shared memory."""

from msgspec import field

from engine.core.commands.base import CommandBase
from engine.core.commands.team import Target
from engine.core.records.records import fact
from engine.core.validation.bounds import Importance, Label, Remark, Seconds, Segment, Tags, Version


@fact
class Remember(CommandBase):
    """Write an insight into the shared memory of a team."""

    text: Remark
    """Up to 10,000 characters."""
    supervisor: Target | None = None
    """A supervisor of the team; by default the first one at the top."""
    segment: Segment = "team"
    """Any segment but `private`."""
    tags: Tags = ()
    """Words that it is found by, at most 20."""
    importance: Importance = 0.5
    """From 0 to 1."""
    supersedes: Label | None = None
    """Id of an insight; this one takes the place of its newest version."""
    expect: Version | None = None
    """The version that the newest one must have; another one is answered as a conflict."""
    expires_s: Seconds | None = None
    """When it is forgotten, in seconds from now."""


@fact
class Forget(CommandBase):
    """Forget insights, also those of a single agent."""

    insights: list[Label] = field(default_factory=list)
    """Ids of insights."""
