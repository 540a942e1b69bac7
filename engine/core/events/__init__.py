"""The closed union of events, one file per subject.

Names are in the past tense, and the name of an event is its `type`. A released event never changes. It is handled by
functions with its class in the annotation: in `fold/`, `followups/table.py` and `effects/table.py`.
"""

from engine.core.events.attempt import *
from engine.core.events.base import Event as Event
from engine.core.events.engine import *
from engine.core.events.failure import *
from engine.core.events.hierarchy import *
from engine.core.events.limits import *
from engine.core.events.memory import *
from engine.core.events.people import *
from engine.core.events.recipes import *
from engine.core.events.run import *
from engine.core.events.task import *
from engine.core.events.team import *
from engine.core.records.records import facts_of

ATTEMPT_ENDS: tuple[type[Event], ...] = (
    AttemptDone,
    AttemptFailed,
    AttemptCancelled,
    AttemptLost,
    AttemptPreempted,
    AttemptSetAside,
)
"""Events that end an attempt; after `AttemptMigrated` it continues on another generation."""
EVENTS: tuple[type[Event], ...] = facts_of(Event, globals())
"""Every class of event."""
KINDS: dict[str, type[Event]] = {cls.type: cls for cls in EVENTS}
"""Every class of event by its kind."""
