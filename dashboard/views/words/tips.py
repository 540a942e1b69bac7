"""Suggestions of what to try, for first-time users of the demo.

Each tip is shown once, while it applies to the team, until it is followed, expires or is dismissed by a key. Pure: the
caller passes what was done, as kinds of events and names of the operator's actions.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import duration, pluralize
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.team.figures import median
from engine.core.state import Agent, Escalation, RunStatus, State

DISMISS = "T"
"""The key that dismisses a tip."""
SHOWN_MS = 30_000
"""How long a tip is shown unless it is followed, in milliseconds."""
DAY_MS = 86_400_000
"""How long the invitation at the end of the demo stays unless it is dismissed, in milliseconds."""
PAUSE_MS = 3_000
"""Time without a tip between two tips, in milliseconds."""
GRACE_MS = 2_000
"""How long a tip stays after it stopped to apply, in milliseconds."""
MIN_TASKS = 5
"""Tasks that an agent must have done before its times are compared."""
MIN_SLOWDOWN = 1.7
"""Ratio of the times of two agents from which on a swap is suggested."""
KILL_FROM_MS, SERVE_FROM_MS, REQUEST_FROM_MS = 60_000, 90_000, 120_000
"""How long after the demo was opened these are suggested, in milliseconds."""


class SwapOutcome(NamedTuple):
    """The effect of a swap on the time per task."""

    name: str
    before_ms: float | None
    """Median time of a task before; None if the agent had done none."""
    now_ms: float | None
    """Median time of a task since; None until a few have ended."""


@dataclass(frozen=True, slots=True)
class TipContext:
    """What tips depend on."""

    state: State
    now_ms: int
    since_ms: int
    """When the demo was opened."""
    done: Collection[str] = ()
    """Kinds of events since then, and actions of the operator: places and pages by name, `past`, `fork`, `report`."""
    pid: int | None = None
    """The process of the engine; None if none runs."""
    in_past: bool = False
    undoable: bool = False
    """Whether a change of this session can be undone."""
    swap: SwapOutcome | None = None
    """The last swap, or None."""


@dataclass(frozen=True, slots=True)
class Tip:
    """One thing to try."""

    name: str
    words: Callable[[TipContext], str]
    """Returns the text; empty if the tip does not apply now."""
    done_by: frozenset[str] = frozenset()
    lasts_ms: int = SHOWN_MS
    urgent: bool = False
    """Replaces another tip, and stays as long as it applies."""
    changes: bool = False
    """Changes the team: not for a viewer."""
    in_terminal: bool = False
    """Needs a terminal: not for a browser."""


def slow_agent(state: State) -> tuple[Agent, Agent] | None:
    """Return the slowest agent in comparison with another one that shares a specialty, and that other one."""
    measured_agents = [agent for agent in state.agents.values() if len(agent.at_work_ms) >= MIN_TASKS]
    slowest: tuple[float, Agent, Agent] | None = None
    for slow in measured_agents:
        for fast in measured_agents:
            times = _ms(slow) / max(1.0, _ms(fast))
            if times < MIN_SLOWDOWN or slow.spec == fast.spec or not _has_common_specialty(state, slow, fast):
                continue
            if slowest is None or times > slowest[0]:
                slowest = times, slow, fast
    return (slowest[1], slowest[2]) if slowest is not None else None


def _has_common_specialty(state: State, agent: Agent, other: Agent) -> bool:
    return bool(set(state.spec_of(agent).specialties) & set(state.spec_of(other).specialties))


def _ms(agent: Agent) -> float:
    """Return the median time of its last tasks: the P50 of every list and pane."""
    return median(agent.at_work_ms) or 0.0


def _scripted(context: TipContext) -> str:
    teams = context.state.supervisors.values()
    if not any(model.replies for team in teams for model in team.options.models.values()):
        return ""
    return "these models are scripted: nobody is asked, and no money is spent"


def _look(context: TipContext) -> str:
    return "↑ ↓ and enter look into an agent; esc comes back" if context.state.agents else ""


def _strategy(context: TipContext) -> str:
    """Suggest to run the members of a sequential supervisor in parallel, while one waits for its turn."""
    state = context.state
    for run in state.runs.values():
        root, group = state.supervisors.get(run.supervisor_id), state.tasks.get(run.root_id)
        if root is None or group is None or run.strategy != "sequential":
            continue
        teams = [
            state.tasks[child_id]
            for child_id in group.children
            if child_id in state.tasks and state.tasks[child_id].kind == "group"
        ]
        if len(teams) >= 2 and not teams[0].ended and teams[1].started_ms is None:
            both = f"{teams[1].title} begins beside {teams[0].title}"
            return f"<strategy:S> on {root.name}, then parallel_then_synthesis: {both}"
    return ""


def _swap(context: TipContext) -> str:
    pair = slow_agent(context.state)
    if pair is None:
        return ""
    slow, fast = pair
    if not slow.running and not any(queue.ready and slow.id in queue.agents for queue in context.state.queues.values()):
        return ""
    return f"<swap:h> on {slow.name}, enter: it takes {duration(_ms(slow))} a task, {fast.name} {duration(_ms(fast))}"


def _undo(context: TipContext) -> str:
    if not context.undoable:
        return ""
    if context.swap is None or context.swap.before_ms is None or context.swap.now_ms is None:
        return "<undo:u>: take that change back"
    before, now = duration(context.swap.before_ms), duration(context.swap.now_ms)
    return f"{context.swap.name}: {before} a task before, {now} now · <undo:u> undoes it"


def _question(context: TipContext) -> str:
    return "<who needs me:!> then enter answers what an agent asks you" if _open_questions(context.state, "ask") else ""


def _failures(context: TipContext) -> str:
    escalations = _open_questions(context.state, "failure")
    if not escalations:
        return ""
    alike = ", ctrl+a for all alike" if len(escalations) > 1 else ""
    return f"<who needs me:!> then enter: {pluralize(len(escalations), 'failed task')} you decide about{alike}"


def _open_questions(state: State, kind: str) -> list[Escalation]:
    return [escalation for escalation in state.escalations.values() if escalation.kind == kind]


def _past(context: TipContext) -> str:
    if "task_failed" not in context.done and "attempt_failed" not in context.done:
        return ""
    return "<mark before:[> goes back to what failed; , and . step through it; <live:L> comes back"


def _fork(context: TipContext) -> str:
    text = "<fork:F> forks here: another team, from this moment on · <live:L> comes back to live"
    return text if context.in_past else ""


def _kill(context: TipContext) -> str:
    if context.pid is None or not context.state.runs or context.now_ms - context.since_ms < KILL_FROM_MS:
        return ""
    return f"kill -9 {context.pid} in another terminal, then <engine:E>: nothing that is done is lost"


def _graph(context: TipContext) -> str:
    return "<graph:2>: the graph of the run, lit where work flows" if context.state.runs else ""


def _waits(context: TipContext) -> str:
    return "<tasks:5>: every task, and why each one waits" if context.state.runs else ""


def _serve(context: TipContext) -> str:
    late = context.now_ms - context.since_ms >= SERVE_FROM_MS
    return "quarterdeck serve in another terminal: this dashboard in your browser" if late else ""


def _request(context: TipContext) -> str:
    late = context.now_ms - context.since_ms >= REQUEST_FROM_MS or context.state.finished
    return "<run:n>: give the crew a request of your own, such as audit json" if late and context.state.roots else ""


def _report(context: TipContext) -> str:
    # The two keys open the first row of Runs: an open run if there is one, else the run that ended last.
    last = context.state.finished[-1] if context.state.finished and not context.state.runs else None
    is_ready = last is not None and last.status is RunStatus.DONE
    return "the report is ready: <runs:7>, then enter" if is_ready else ""


def _invitation(context: TipContext) -> str:
    if "report" not in context.done:
        return ""
    return "your own team: quarterdeck init my-team · <quit:q> leaves"


TIPS = (
    Tip("question", _question, frozenset({"escalation_answered"}), urgent=True, changes=True),
    Tip("failures", _failures, urgent=True, changes=True),
    Tip("fork", _fork, frozenset({"fork"}), urgent=True),
    Tip("undo", _undo, frozenset({"command_undone", "swap_rolled_back"}), urgent=True, changes=True),
    Tip("report", _report, frozenset({"report"}), urgent=True),
    Tip("invitation", _invitation, lasts_ms=2 * SHOWN_MS),
    Tip("scripted", _scripted, lasts_ms=SHOWN_MS // 2),
    Tip("look", _look, frozenset({"agent", "task", "supervisor"}), lasts_ms=SHOWN_MS // 3),
    Tip("strategy", _strategy, frozenset({"strategy_switched"}), changes=True),
    Tip("swap", _swap, frozenset({"agent_swapped"}), changes=True),
    Tip("past", _past, frozenset({"past"})),
    Tip("kill", _kill, frozenset({"engine_started"}), in_terminal=True),
    Tip("graph", _graph, frozenset({"graph"})),
    Tip("waits", _waits, frozenset({"tasks"})),
    Tip("serve", _serve, in_terminal=True),
    Tip("request", _request, frozenset({"run_submitted"}), changes=True),
    Tip("invitation", _invitation, lasts_ms=DAY_MS),
)
"""Urgent tips first. The invitation follows the report, and comes once more at the end for a user who was away."""


def followable_tips(*, in_browser: bool, viewer: bool) -> list[Tip]:
    """Return the tips that can be followed in this session."""
    return [tip for tip in TIPS if not (tip.in_terminal and in_browser) and not (tip.changes and viewer)]


@dataclass(slots=True)
class Tips:
    """Chooses the current tip; a tip that was shown, followed or dismissed does not come again."""

    remaining: list[Tip] = field(default_factory=lambda: list(TIPS))
    current: Tip | None = None
    _text: str = ""
    _since_ms: int = 0
    _applied_ms: int = 0
    _quiet_until_ms: int = 0

    def of(self, context: TipContext) -> Cell:
        """Return the tip to show; an empty cell for none."""
        self.remaining = [tip for tip in self.remaining if tip.done_by.isdisjoint(context.done)]
        if self.current is not None and not self._stays(self.current, context):
            self._drop_current(context.now_ms)
        tip = next((tip for tip in self.remaining if _applies(tip, context)), None)
        if tip is not None and tip is not self.current:
            interrupts = tip.urgent and not (self.current is not None and self.current.urgent)
            if interrupts or (self.current is None and context.now_ms >= self._quiet_until_ms):
                self.current, self._since_ms = tip, context.now_ms
        if self.current is None:
            return Cell("")
        if _applies(self.current, context):
            self._text, self._applied_ms = fill_keys(self.current.words(context)), context.now_ms
        return Cell(self._text, "", "try  ")

    def dismiss(self, now_ms: int) -> None:
        """Drop the current tip, and its repetitions."""
        words = self.current.words if self.current is not None else None
        self.remaining = [tip for tip in self.remaining if tip.words is not words]
        self._drop_current(now_ms)

    def _drop_current(self, now_ms: int) -> None:
        if self.current in self.remaining:
            self.remaining.remove(self.current)
        self.current, self._quiet_until_ms = None, now_ms + PAUSE_MS

    def _stays(self, tip: Tip, context: TipContext) -> bool:
        """Return whether a tip stays; one that is not urgent may cease to apply for a moment."""
        over = context.now_ms - self._since_ms >= tip.lasts_ms and not tip.urgent
        grace_ms = 0 if tip.urgent or context.in_past else GRACE_MS
        return (
            tip in self.remaining
            and not over
            and (_applies(tip, context) or context.now_ms - self._applied_ms < grace_ms)
        )


def _applies(tip: Tip, context: TipContext) -> bool:
    """Return whether a tip applies now: in the past only the fork, and without an engine only tips that need none."""
    if context.in_past != (tip.name == "fork") or (
        context.pid is None and tip.name not in ("fork", "report", "invitation")
    ):
        return False
    return bool(tip.words(context))
