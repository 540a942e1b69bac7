"""What the shell has to do because of an event, after the event is on disk.

`effects_of` is a pure table from events to effects. An effect carries everything that performing it needs, so that a
later event of the same batch cannot pull it away.
"""

from engine.core.effects.inputs import inputs_of
from engine.core.effects.records import (
    Acknowledge,
    AnswerCall,
    CallAnswer,
    CheckAgent,
    CheckOutputs,
    DropRuntimes,
    Effect,
    EndRun,
    Input,
    JoinResults,
    Look,
    ReadText,
    RestartAgents,
    ResumeAttempt,
    StartAttempt,
    StartTimer,
    StopAttempt,
    StopLoop,
    TellAnswer,
    TellSteer,
)
from engine.core.effects.table import answer_of, effects_of, restart_effects
