"""The state of a team: one object of plain entities, the fold of its journal and nothing else.

Only `core/fold/` changes what is here. It is bounded: open runs with their tasks, the team, timers, totals, and one
line for each of the last `SUMMARIES` finished runs. Long texts are in the journal (`values.TextRef`).

The entities are in `entities/`, one file per subject, and by name here. See docs/reference/journal.md.
"""

from collections import OrderedDict
from typing import Any, ClassVar

from msgspec import field

from engine.core.entities.engine import (
    OF_ATTEMPTS,
    Engine,
    Escalation,
    Grant,
    Ledger,
    Outcome,
    Timer,
    Undoable,
    timer_id,
)
from engine.core.entities.memory import (
    CATEGORIES,
    CONVERSATIONS,
    EXCHANGES,
    INSIGHTS,
    PARTS,
    UTTERANCES,
    Conversation,
    Exchange,
    Insight,
    TrackRecord,
)
from engine.core.entities.team import (
    DURATIONS,
    Agent,
    AgentStatus,
    Declaration,
    Ids,
    Probation,
    Queue,
    Supervisor,
    Team,
    Tuning,
)
from engine.core.entities.work import (
    ENDED,
    Attempt,
    Call,
    CallKind,
    ParkedFor,
    Run,
    RunStatus,
    RunSummary,
    StopReason,
    SwapMode,
    Task,
    TaskStatus,
    Utterance,
)
from engine.core.records import entity
from engine.core.spec import AgentSpec
from engine.core.values import Usage

SUMMARIES = 200
"""How many finished runs are remembered in one line each."""
OUTCOMES = 1000
"""How many commands are remembered, so that one that arrives again is not carried out again."""
UNDOABLE = 100
"""How many commands can be taken back."""
NO_CODE = ("", "")
"""Of an agent whose code has no hash: that of its generation, and of the one before."""


@entity
class State:
    """Everything that a supervisor decides from."""

    seq: int = 0
    """The last event that was folded."""
    at_ms: int = 0
    """When it happened, UTC milliseconds."""
    minted: dict[str, int] = field(default_factory=dict)
    """The last number given to an id, by its letter."""
    engine: Engine | None = None
    team: Team | None = None
    supervisors: dict[str, Supervisor] = field(default_factory=dict)
    specs: dict[str, AgentSpec] = field(default_factory=dict)
    """Every spec in use or in the registry, by content hash."""
    registry: dict[str, str] = field(default_factory=dict)
    """The newest spec of each name: name to content hash."""
    trusted: dict[str, str] = field(default_factory=dict)
    """References that may be imported, each with the hash of its code when it was trusted; empty for installed code."""
    code: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of agents whose code has a hash: that of their generation, and of the one before."""
    agents: dict[str, Agent] = field(default_factory=dict)
    declared: dict[str, Declaration] = field(default_factory=dict)
    """Members that a program or a team file declared; who was added otherwise is not among them."""
    queues: dict[str, Queue] = field(default_factory=dict)
    pools: Ids = field(default_factory=OrderedDict)
    """Agents that are pools."""
    leaving: Ids = field(default_factory=OrderedDict)
    """Supervisors and agents that go when nothing of their work is open."""
    runs: dict[str, Run] = field(default_factory=dict)
    """Open runs."""
    tasks: dict[str, Task] = field(default_factory=dict)
    """Tasks of open runs."""
    timers: dict[str, Timer] = field(default_factory=dict)
    escalations: dict[str, Escalation] = field(default_factory=dict)
    """Questions that wait for a person, the oldest first."""
    grants: dict[str, Grant] = field(default_factory=dict)
    """What people said of tools for longer than one answer."""
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    """Of those whose budgets were warned about or extended."""
    limited: Ids = field(default_factory=OrderedDict)
    """Specs, supervisors and open runs that say what may be spent, by content hash or id."""
    insights: dict[str, Insight] = field(default_factory=dict)
    """What agents remember; each is in the list of its agent."""
    parts: Ids = field(default_factory=OrderedDict)
    """Parts of prompts by content hash, with the event that carries each; the one that was used last stands last."""
    finished: list[RunSummary] = field(default_factory=list)
    """The last finished runs, newest last."""
    commands: OrderedDict[str, Outcome] = field(default_factory=OrderedDict)
    undoable: OrderedDict[str, Undoable] = field(default_factory=OrderedDict)
    """The last commands that can be taken back, by their ids, the newest last."""
    tasks_total: int = 0
    tasks_done: int = 0
    tasks_failed: int = 0
    runs_total: int = 0
    usage: Usage = field(default_factory=Usage)
    schedule: ClassVar[Any] = None
    """What can begin (`scheduler.Schedule`), kept current for who decides; None for who only folds. Never encoded."""
    incoming: "Incoming | None" = None
    """What has come of an archive that is being taken in; nothing of it is part of the team yet."""

    @property
    def roots(self) -> list[Supervisor]:
        """Supervisors that nobody is above, the first made first."""
        return [supervisor for supervisor in self.supervisors.values() if supervisor.parent_id is None]

    def spec_of(self, agent: Agent) -> AgentSpec:
        """Return the spec of the agent's current generation."""
        return self.specs[agent.spec]

    def summary(self, run_id: str) -> RunSummary | None:
        """Return what is remembered of a finished run; None where it is open, unknown, or ended long ago."""
        return next((one for one in reversed(self.finished) if one.id == run_id), None)


@entity
class Incoming:
    """An archive that is being taken in, part by part, by one engine; the next one begins again."""

    command_id: str
    above: dict[str, int]
    """The ids of the archive are raised by so much, by their letter; empty where they are kept."""
    texts: list[tuple[int, int]] = field(default_factory=list)
    """The number of the first text of each part that carried any, and the event that did."""
    texts_total: int = 0
    state: State = field(default_factory=State)
    """Its entities so far, in no index."""
