"""The state of a team: one object of plain entities, computed by a pure fold of the journal.

Only `core/fold/` changes it. It is bounded: open runs with their tasks, the team, timers, totals, and a summary for
each of the last `MAX_SUMMARIES` finished runs. Long texts are in the journal (`values.TextRef`).

The entities are defined in `entities/`, one file per subject, and exported here. See docs/reference/journal.md.
"""

from collections import OrderedDict
from typing import Any, ClassVar

from msgspec import field

from engine.core.entities.engine import *
from engine.core.entities.figures import *
from engine.core.entities.kept import *
from engine.core.entities.memory import *
from engine.core.entities.recipes import *
from engine.core.entities.team import *
from engine.core.entities.work import *
from engine.core.records.records import entity
from engine.core.records.values import Usage
from engine.core.specs.spec import AgentSpec

MAX_SUMMARIES = 200
"""Number of finished runs whose summaries are kept."""
MAX_OUTCOMES = 1000
"""Number of commands whose outcomes are kept, so that a duplicate is not carried out again."""
MAX_UNDOABLE = 1000
"""Number of commands that can be undone: one key may change as many marked rows."""
NO_CODE_HASHES = ("", "")
"""Code hashes (current generation, previous generation) of an agent whose code has none."""


@entity
class State:
    """Everything that decisions depend on, besides their `DecisionContext`."""

    seq: int = 0
    """The last event that was folded."""
    at_ms: int = 0
    """Time of the last event, UTC milliseconds."""
    minted: dict[str, int] = field(default_factory=dict)
    """Last number issued for each kind of id, by the letter of the kind; ids are never used twice."""
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
    """Code hashes (current generation, previous generation) by agent id, of agents whose code has them."""
    agents: dict[str, Agent] = field(default_factory=dict)
    declared: dict[str, Declaration] = field(default_factory=dict)
    """Members that a program or a team file declared; members added by a command are not in it."""
    queues: dict[str, Queue] = field(default_factory=dict)
    stoppages: list[Stoppage] = field(default_factory=list)
    """The last times in which members let none of their tasks begin, in the order of their beginning."""
    pools: Ids = field(default_factory=OrderedDict)
    """Agents that are pools."""
    leaving: Ids = field(default_factory=OrderedDict)
    """Supervisors and agents that are removed once their last work has ended."""
    runs: dict[str, Run] = field(default_factory=dict)
    """Open runs."""
    tasks: dict[str, Task] = field(default_factory=dict)
    """Tasks of open runs."""
    timers: dict[str, Timer] = field(default_factory=dict)
    escalations: dict[str, Escalation] = field(default_factory=dict)
    """Questions that wait for a person, the oldest first."""
    grants: dict[str, Grant] = field(default_factory=dict)
    """Standing answers of people about tools."""
    ledgers: dict[str, Ledger] = field(default_factory=dict)
    """Budget warnings and extensions, by the id of the task, run, agent or supervisor."""
    limited: Ids = field(default_factory=OrderedDict)
    """Specs, supervisors and open runs that set a budget, by content hash or id. Empty skips all budget checks."""
    insights: dict[str, Insight] = field(default_factory=dict)
    """Insights, in the order in which they were written; a private one is in the list of its agent, any other in the
    pool of its team."""
    recipes: dict[str, Recipe] = field(default_factory=dict)
    """What agents wrote down to make others, by id; makers come before what they made."""
    parts: Ids = field(default_factory=OrderedDict)
    """Prompt parts by content hash, with the event that carries each, in order of last use."""
    finished: list[RunSummary] = field(default_factory=list)
    """The last finished runs, newest last."""
    commands: OrderedDict[str, Outcome] = field(default_factory=OrderedDict)
    """Outcomes of the last commands, by command id, the newest last."""
    undoable: OrderedDict[str, Undoable] = field(default_factory=OrderedDict)
    """The last commands that can be undone, by id, the newest last."""
    irrevocable: Irrevocable | None = None
    """The last change of a person that cannot be undone."""
    tasks_total: int = 0
    tasks_done: int = 0
    tasks_failed: int = 0
    runs_total: int = 0
    usage: Usage = field(default_factory=Usage)
    spending: dict[str, Spending] = field(default_factory=dict)
    """Usage by model and tool, by agent id, and all usage of agents that have left (`queries.money.spending`)."""
    windows: Windows | None = None
    """Figures of the last hour (`queries.money.recent`); None before the first."""
    schedule: ClassVar[Any] = None
    """The `scheduler.Schedule` of a process that decides; None in a process that only folds. Never encoded.

    Set on the instance, by `vars`: a class variable is no field, and therefore not in snapshots."""
    incoming: "Incoming | None" = None
    """The archive that is being imported, as far as it was received; the team has none of it yet."""

    @property
    def roots(self) -> list[Supervisor]:
        """Supervisors without a parent, oldest first."""
        return [supervisor for supervisor in self.supervisors.values() if supervisor.parent_id is None]

    def spec_of(self, agent: Agent) -> AgentSpec:
        """Return the spec of the agent's current generation."""
        return self.specs[agent.spec]

    def summary(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run; None if it is open, unknown, or older than the last `MAX_SUMMARIES`."""
        return next((summary for summary in reversed(self.finished) if summary.id == run_id), None)


@entity
class Incoming:
    """An import in progress; it belongs to one engine, and the next engine discards it and starts over."""

    command_id: str
    above: dict[str, int]
    """Offset added to the archive's ids, by their letter; empty when the ids are kept."""
    texts: list[tuple[int, int]] = field(default_factory=list)
    """For each part with texts: the number of its first text, and the event that carries the part."""
    texts_total: int = 0
    state: State = field(default_factory=State)
    """The entities received so far; no index contains them."""
