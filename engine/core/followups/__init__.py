"""What becomes possible because of an event, for `decide` to look at next.

A followup is not journaled: it follows from the events, and its own consequences are events.
"""

from engine.core.followups.records import (
    ActOnAnswer,
    AfterEnd,
    AnswerNow,
    ApplyPolicy,
    AskDoubt,
    CheckBudget,
    CheckGeneration,
    CheckGroup,
    CheckLeaving,
    Dispatch,
    FinishRun,
    FollowRun,
    FollowUp,
    GiveSlot,
    GrowGroup,
    LookAt,
    LookAtCircuit,
    LookAtPool,
    MemberCrashed,
    PlaceAgain,
    PlanGroup,
    Requeue,
    ReturnItems,
    StopLeftOver,
    TakeSlot,
    Tune,
)
from engine.core.followups.table import CHANGES_WHO_IS_ABLE, followups_of
