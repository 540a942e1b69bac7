"""Nodes of a graph for tasks, agents, supervisors and resting members."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dashboard.clean import clean
from dashboard.views.facts.agent import MIN_SHOWN_MS, swap_mark
from dashboard.views.facts.now import now_of_agent
from dashboard.views.facts.steps import words_now
from dashboard.views.facts.supervisor import supervisor_mark
from dashboard.views.facts.task import describe_progress, share_of_attempt
from dashboard.views.graph.model import Node
from dashboard.views.measures.activity import SLOTS_PER_SAMPLE, Activity
from dashboard.views.measures.digest import Digest
from dashboard.views.measures.usage import is_metered
from dashboard.views.view_state import ViewState
from dashboard.views.words.amounts import cost_text, duration, elapsed
from dashboard.views.words.glyphs import ACTIVITY, Mark, task_mark
from dashboard.views.words.names import value_text
from dashboard.views.words.roles import name_with_role
from engine.core.queries.team.figures import median
from engine.core.records.values import Usage
from engine.core.state import Agent, State, Supervisor, Task, TaskStatus

IDLE_PREFIX = "idle:"
"""Prefix of the id of a node for idle members; the id of their lead follows."""
_MAX_TITLE_CHARACTERS = 200
"""Characters of a title that are used."""
LATELY_MS = 1_000
_AWAKE = (TaskStatus.RUNNING, TaskStatus.RETRYING, TaskStatus.IN_DOUBT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """The team at a moment: the state, and data beside it."""

    state: State
    counts: Digest
    now_ms: int
    live: Mapping[str, str] = field(default_factory=dict)
    activity: Activity = field(default_factory=Activity)
    """Recent activity of agents."""
    idle: bool = False
    """Whether resting members are shown."""

    @classmethod
    def of(cls, view: ViewState, *, idle: bool = False) -> "Sight":
        """Return the team at the moment of a view."""
        return cls(
            state=view.state, counts=view.counts, now_ms=view.now_ms, live=view.live, activity=view.activity, idle=idle
        )

    def is_lively(self, agent: Agent) -> bool:
        """Return whether an agent is at work, or was a moment ago, as between two short tasks."""
        lately = self.now_ms - self.activity.started_ms.get(agent.id, 0) < LATELY_MS
        return bool(agent.running) or (lately and self.counts.working and self.counts.kind_of(agent) == "idle")

    def is_at_rest(self, agent: Agent) -> bool:
        """Return whether an agent has been idle for a while."""
        return self.counts.kind_of(agent) == "idle" and self.now_ms - agent.idle_since_ms >= MIN_SHOWN_MS


@dataclass(slots=True)
class Share:
    """Counts of the delegated work of one agent or supervisor."""

    task_count: int = 0
    ended_count: int = 0
    failed: int = 0
    waiting: int = 0
    title: str = ""
    """Title of a running task."""
    last_id: str = ""
    """Id of its newest task."""


def work_node(sight: Sight, task: Task) -> Node:
    """Return the box of a planned task, a join, a check or a whole graph."""
    state = sight.state
    mark = task_mark(task, sight.counts.activities)
    is_begun = task.started_ms is not None or task.begun_ms is not None
    ended_count, total = _count_work(state, task)
    member = state.agents.get(task.agent_id or task.worker_id or "")
    progress_text = describe_progress(sight.live, task.id)
    return Node(
        id=task.id,
        name=_work_name(state, task, member),
        glyph=mark.glyph,
        tone=mark.tone,
        opens=("task", task.id),
        about=task.id,
        word=mark.word,
        took=_time_taken(task, sight.now_ms),
        now=_activity_text(sight, task, member, total - ended_count) or progress_text,
        figure=f"{ended_count:,}/{total:,}" if total and is_begun else _figure(state, task, mark, progress_text),
        share=ended_count / total if total and is_begun else _share(sight, task),
        badge="" if member is None else swap_mark(member, sight.activity, sight.now_ms),
        shares=None if member is None else _shares(sight, member),
        words=_last_words(sight, task),
        spent=_spent(state, task.usage),
        is_awake=task.status in _AWAKE or mark.tone == "attention",
        is_group=task.kind == "group",
    )


def _work_name(state: State, task: Task, member: Agent | None) -> str:
    if task.kind == "join":
        return "join"
    if member is not None and task.title == member.name:
        return clean(name_with_role(state, member))
    return clean(task.title[:_MAX_TITLE_CHARACTERS])


def _count_work(state: State, task: Task) -> tuple[int, int]:
    """Return the ended and the total number of delegated tasks; for a group, of all agent tasks in it."""
    if task.kind != "group":
        return len(task.children) - task.open, len(task.children)
    ended_count = total = 0
    left = [*task.children]
    while left:
        child = state.tasks.get(left.pop())
        if child is not None:
            left += child.children
            if child.kind == "agent":
                ended_count, total = ended_count + child.ended, total + 1
    return ended_count, total


def began_ms(task: Task) -> int | None:
    """Return when a task, or the first of its children, began; None before that."""
    return task.started_ms if task.started_ms is not None else task.begun_ms


def _time_taken(task: Task, now_ms: int) -> str:
    begun = began_ms(task)
    if begun is None:
        return ""
    return duration(task.ended_ms - begun) if task.ended_ms is not None else elapsed(now_ms - begun)


def _activity_text(sight: Sight, task: Task, member: Agent | None, left: int) -> str:
    if task.kind == "group":
        supervisor = sight.state.supervisors.get(task.worker_id or task.supervisor_id)
        mode = task.mode or (supervisor.mode if supervisor is not None else "")
        settings = (mode, supervisor.aggregation if supervisor is not None else "")
        return ", ".join(setting for setting in settings if setting)
    if task.children and not task.ended:
        return f"waits for {left:,} delegated" if left else ""
    if member is not None and member.name != task.title:
        return member.name
    if task.status is TaskStatus.RETRYING:
        return f"retry {task.retries}"
    return task.error or ""


def _figure(state: State, task: Task, mark: Mark, progress_text: str) -> str:
    if task.kind == "join":
        supervisor = state.supervisors.get(task.supervisor_id)
        return supervisor.aggregation if supervisor is not None else ""
    if task.usage is not None and is_metered(state) and (spent := _tokens(task.usage)):
        return spent
    if not task.ended and progress_text:
        return progress_text.partition(" ")[0]
    return "" if mark.tone in ("busy", "done") else mark.word


def _tokens(usage: object) -> str:
    amount = (getattr(usage, "tokens_in", None) or 0) + (getattr(usage, "tokens_out", None) or 0)
    return f"{amount:,} tok" if amount else ""


def _spent(state: State, usage: Usage | None) -> str:
    """Return tokens and cost; empty if there are none."""
    if usage is None or not is_metered(state):
        return ""
    return "  ".join(part for part in (_tokens(usage), cost_text(usage) if usage.cost_usd else "") if part)


def _latest_task(sight: Sight, agent: Agent, share: Share) -> Task | None:
    """Return the current task of an agent, else the last one that it was given by its lead."""
    current_ids = [*agent.running, *agent.parked]
    return sight.state.tasks.get(current_ids[-1] if current_ids else share.last_id)


def _last_words(sight: Sight, task: Task | None) -> str:
    """Return what is called or written in a task now, or its error or output."""
    if task is None or task.kind != "agent":
        return ""
    if not task.ended:
        return clean(words_now(sight.live, task.id, _MAX_TITLE_CHARACTERS))
    return clean(f"✕ {task.error}" if task.error else value_text(task.output, "")[:_MAX_TITLE_CHARACTERS])


def _share(sight: Sight, task: Task) -> float | None:
    if task.status is TaskStatus.DONE:
        return 1.0
    if task.status is not TaskStatus.RUNNING or task.kind != "agent":
        return None
    return share_of_attempt(sight.state, task, sight.live, now_ms=sight.now_ms, working=sight.counts.working)


def member_node(sight: Sight, agent: Agent, share: Share, *, an_id: str = "") -> Node:
    """Return the box of an agent."""
    state = sight.state
    mark = ACTIVITY[sight.counts.activities.of_agent(agent).kind]
    lively = sight.is_lively(agent)
    waiting = share.waiting or sight.counts.waiting_of[agent.id]
    at_once = f"×{len(agent.running)} " if len(agent.running) > 1 else ""
    usual = median(agent.at_work_ms)
    spent = _tokens(agent.usage) if is_metered(state) else ""
    return Node(
        id=an_id or agent.id,
        name=clean(name_with_role(state, agent)),
        glyph=mark.glyph,
        tone=mark.tone,
        opens=("agent", agent.id),
        about=agent.id,
        word=mark.word,
        took=at_once + (duration(usual) if usual is not None else ""),
        now=now_of_agent(agent, sight.counts, sight.now_ms).text or mark.word,
        figure=_queue_figure(agent, waiting)
        or spent
        or _answer_count(state, agent)
        or (mark.word if mark.tone != "busy" else ""),
        share=_member_share(sight, agent, share, waiting),
        badge=swap_mark(agent, sight.activity, sight.now_ms),
        shares=_shares(sight, agent),
        words=_last_words(sight, _latest_task(sight, agent, share)),
        spent=_spent(state, agent.usage),
        is_awake=lively or mark.tone not in ("idle", "stopped", "paused"),
    )


def _shares(sight: Sight, agent: Agent) -> Callable[[int], Sequence[float]]:
    return lambda samples: sight.activity.shares(
        agent.id, sight.now_ms, samples=samples, each=SLOTS_PER_SAMPLE, slots=agent.max_concurrency
    )


def _answer_count(state: State, agent: Agent) -> str:
    """Return the ended share of an agent's delegated tasks, such as `3/5`."""
    tasks = [state.tasks[task_id] for task_id in agent.parked if task_id in state.tasks]
    total = sum(len(task.children) for task in tasks)
    return f"{total - sum(task.open for task in tasks):,}/{total:,}" if total else ""


def _queue_figure(agent: Agent, waiting: int) -> str:
    if not waiting:
        return ""
    return f"+{waiting:,}" if agent.works else f"{waiting:,} wait"


def _member_share(sight: Sight, agent: Agent, share: Share, waiting: int) -> float | None:
    """Return the ended share of a member's tasks; without a queue, the progress of its oldest attempt."""
    if not sight.is_lively(agent):
        return None
    if share.task_count > 1 or waiting:
        return share.ended_count / max(1, share.task_count + (0 if share.waiting else waiting))
    task = sight.state.tasks.get(next(iter(agent.running), ""))
    return _share(sight, task) if task is not None else None


def supervisor_node(sight: Sight, supervisor: Supervisor) -> Node:
    """Return the box of a supervisor."""
    counts = sight.counts
    busy, agents = counts.busy_of[supervisor.id], counts.agents_of[supervisor.id]
    waiting = counts.waiting_of[supervisor.id]
    mark = supervisor_mark(supervisor, counts)
    return Node(
        id=supervisor.id,
        name=clean(supervisor.name),
        glyph=mark.glyph,
        tone=mark.tone,
        opens=("supervisor", supervisor.id),
        about=supervisor.id,
        word=mark.word,
        took=f"{busy:,} of {agents:,}" if agents else "",
        now=supervisor.mode,
        figure=f"+{waiting:,}" if waiting else f"{busy:,} of {agents:,}",
        share=busy / agents if agents and busy else None,
        is_awake=bool(busy) or mark.tone not in ("idle", "stopped", "paused"),
        is_group=True,
    )


def idle_node(lead: str, names: int, *, opens: str) -> Node:
    """Return the node for the resting members of a lead."""
    return Node(
        id=f"{IDLE_PREFIX}{lead}",
        name=f"+{names:,} idle",
        glyph="○",
        tone="idle",
        word="idle",
        about=opens,
        is_awake=False,
    )
