"""Effects: what the shell does because of an event, once the event is on disk.

An effect carries everything that performing it needs, because the state may have moved on by then.
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
