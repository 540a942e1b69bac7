"""What becomes possible because of an event, for `decide` to look at next.

A prompt is not journaled: it follows from the events, and its own consequences are events.
"""

from engine.core.prompts.records import (
    AfterEnd,
    Answered,
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
    GiveSlot,
    GrowGroup,
    LookAt,
    LookAtCircuit,
    LookAtPool,
    MemberCrashed,
    PlaceAgain,
    PlanGroup,
    Prompt,
    Requeue,
    ReturnItems,
    StopLeftOver,
    TakeSlot,
    Tune,
)
from engine.core.prompts.table import CHANGES_WHO_IS_ABLE, prompts_of
