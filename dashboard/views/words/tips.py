"""Suggestions of what to try, for first-time users of the demo.

Each is shown once, while it applies to the team as it is now, and goes when it was done, when its time is over or when
a key dismisses it. Pure: what was done comes as words, kinds of events and acts of the operator.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.views.drawing.rows import Cell
from dashboard.views.words.amounts import duration, pluralize
from dashboard.views.words.keyed import keyed
from engine.core.state import Agent, Escalation, RunStatus, State

DISMISS = "T"
"""The key that lets a tip go."""
SHOWN_MS = 30_000
"""A tip that nobody follows makes way for the next one after so long."""
DAY_MS = 86_400_000
"""How long the invitation at the end of the demo stays unless it is dismissed, in milliseconds."""
PAUSE_MS = 3_000
"""The line stays empty for so long between two tips."""
GRACE_MS = 2_000
"""A tip stays although it does not apply for so long."""
KNOWN = 5
"""Tasks that an agent must have done before its times say something."""
SLOWER = 1.7
"""How many times as long as another one an agent takes that is worth a swap."""
KILL_FROM_MS, SERVE_FROM_MS, REQUEST_FROM_MS = 60_000, 90_000, 120_000
"""How long after the demo was opened these are suggested, in milliseconds."""


class Swap(NamedTuple):
    """What a swap came to."""

    name: str
    before_ms: float | None
    """What a task of the agent took before; None where it had done none."""
    now_ms: float | None
    """What it takes since; None until a few have ended."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The team as a tip sees it."""

    state: State
    now_ms: int
    since_ms: int
    """When the demo was opened."""
    done: Collection[str] = ()
    """Kinds of events since then, and what the operator did: places and pages by name, `past`, `fork`, `report`."""
    pid: int | None = None
    """The engine's process; None where none is at work."""
    in_past: bool = False
    undoable: bool = False
    """Whether something of this session can be taken back."""
    swap: Swap | None = None
    """The last swap; None where none was made."""


@dataclass(frozen=True, slots=True)
class Tip:
    """One thing to try."""

    name: str
    words: Callable[[Seen], str]
    """What to try; empty where it does not apply now."""
    done_by: frozenset[str] = frozenset()
    lasts_ms: int = SHOWN_MS
    urgent: bool = False
    """Takes the place of another tip, and stays as long as it applies."""
    changes: bool = False
    """Changes the team, which a viewer may not."""
    in_terminal: bool = False
    """Is done in a terminal, or leads back to one: not for a browser."""


def slow_agent(state: State) -> tuple[Agent, Agent] | None:
    """Return the agent that is slowest beside another one that can do the same, and that one."""
    known = [agent for agent in state.agents.values() if len(agent.at_work_ms) >= KNOWN]
    found: tuple[float, Agent, Agent] | None = None
    for slow in known:
        for fast in known:
            times = _ms(slow) / max(1.0, _ms(fast))
            if times < SLOWER or slow.spec == fast.spec or not _alike(state, slow, fast):
                continue
            if found is None or times > found[0]:
                found = times, slow, fast
    return (found[1], found[2]) if found is not None else None


def _alike(state: State, one: Agent, other: Agent) -> bool:
    return bool(set(state.spec_of(one).specialties) & set(state.spec_of(other).specialties))


def _ms(agent: Agent) -> float:
    """Return the mean time of its last tasks: of many small files and a few large ones the large ones take the time."""
    return sum(agent.at_work_ms) / max(1, len(agent.at_work_ms))


def _look(seen: Seen) -> str:
    return "↑ ↓ and enter look into an agent; esc comes back" if seen.state.agents else ""


def _strategy(seen: Seen) -> str:
    """A supervisor that lets its members take turns, of which the next could begin now."""
    state = seen.state
    for run in state.runs.values():
        root, group = state.supervisors.get(run.supervisor_id), state.tasks.get(run.root_id)
        if root is None or group is None or run.strategy != "sequential":
            continue
        teams = [state.tasks[one] for one in group.children if one in state.tasks and state.tasks[one].kind == "group"]
        if len(teams) >= 2 and not teams[0].ended and teams[1].started_ms is None:
            both = f"{teams[1].title} begins beside {teams[0].title}"
            return f"<strategy:S> on {root.name}, then parallel_then_synthesis: {both}"
    return ""


def _swap(seen: Seen) -> str:
    pair = slow_agent(seen.state)
    if pair is None:
        return ""
    slow, fast = pair
    if not slow.running and not any(queue.ready and slow.id in queue.agents for queue in seen.state.queues.values()):
        return ""
    return f"<swap:h> on {slow.name}, enter: it takes {duration(_ms(slow))} a task, {fast.name} {duration(_ms(fast))}"


def _undo(seen: Seen) -> str:
    if not seen.undoable:
        return ""
    if seen.swap is None or seen.swap.before_ms is None or seen.swap.now_ms is None:
        return "<undo:u>: take that change back"
    before, now = duration(seen.swap.before_ms), duration(seen.swap.now_ms)
    return f"{seen.swap.name}: {before} a task before, {now} now · <undo:u> undoes it"


def _question(seen: Seen) -> str:
    return "<who needs me:!> then enter answers what an agent asks you" if _asked(seen.state, "ask") else ""


def _failures(seen: Seen) -> str:
    asked = _asked(seen.state, "failure")
    if not asked:
        return ""
    alike = ", ctrl+a for all alike" if len(asked) > 1 else ""
    return f"<who needs me:!> then enter: {pluralize(len(asked), 'failed task')} you decide about{alike}"


def _asked(state: State, kind: str) -> list[Escalation]:
    return [one for one in state.escalations.values() if one.kind == kind]


def _past(seen: Seen) -> str:
    if "task_failed" not in seen.done and "attempt_failed" not in seen.done:
        return ""
    return "<mark before:[> goes back to what failed; , and . step through it; <live:L> comes back"


def _fork(seen: Seen) -> str:
    told = "<fork:F> forks here: another team, from this moment on · <live:L> comes back to live"
    return told if seen.in_past else ""


def _kill(seen: Seen) -> str:
    if seen.pid is None or not seen.state.runs or seen.now_ms - seen.since_ms < KILL_FROM_MS:
        return ""
    return f"kill -9 {seen.pid} in another terminal, then <engine:E>: nothing that is done is lost"


def _graph(seen: Seen) -> str:
    return "<graph:2>: the graph of the run, lit where work flows" if seen.state.runs else ""


def _waits(seen: Seen) -> str:
    return "<tasks:5>: every task, and why each one waits" if seen.state.runs else ""


def _serve(seen: Seen) -> str:
    late = seen.now_ms - seen.since_ms >= SERVE_FROM_MS
    return "quarterdeck serve in another terminal: this dashboard in your browser" if late else ""


def _request(seen: Seen) -> str:
    late = seen.now_ms - seen.since_ms >= REQUEST_FROM_MS or seen.state.finished
    return "<run:n>: give the crew a request of your own, such as audit json" if late and seen.state.roots else ""


def _report(seen: Seen) -> str:
    # Its two keys open the first row of Runs, where open runs stand first, then the one that ended last.
    last = seen.state.finished[-1] if seen.state.finished and not seen.state.runs else None
    is_ready = last is not None and last.status is RunStatus.DONE
    return "the report is ready: <runs:7>, then enter" if is_ready else ""


def _invitation(seen: Seen) -> str:
    if "report" not in seen.done:
        return ""
    return "your own team: quarterdeck init my-team · <quit:q> leaves"


TIPS = (
    Tip("question", _question, frozenset({"escalation_answered"}), urgent=True, changes=True),
    Tip("failures", _failures, urgent=True, changes=True),
    Tip("fork", _fork, frozenset({"fork"}), urgent=True),
    Tip("undo", _undo, frozenset({"command_undone", "swap_rolled_back"}), urgent=True, changes=True),
    Tip("report", _report, frozenset({"report"}), urgent=True),
    Tip("invitation", _invitation, lasts_ms=2 * SHOWN_MS),
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
"""Those that are urgent first. The invitation comes after the report, and stays in the end for who was away then."""


def followed(*, in_browser: bool, viewer: bool) -> list[Tip]:
    """Return what can be followed in a browser, and by who may only look."""
    return [tip for tip in TIPS if not (tip.in_terminal and in_browser) and not (tip.changes and viewer)]


@dataclass(slots=True)
class Tips:
    """Chooses the tip of the moment; what was shown, done or dismissed does not come again."""

    left: list[Tip] = field(default_factory=lambda: list(TIPS))
    shown: Tip | None = None
    _text: str = ""
    _since_ms: int = 0
    _applied_ms: int = 0
    _quiet_until_ms: int = 0

    def of(self, seen: Seen) -> Cell:
        """Return the tip to show; an empty one where nothing is to be said."""
        self.left = [tip for tip in self.left if tip.done_by.isdisjoint(seen.done)]
        if self.shown is not None and not self._stays(self.shown, seen):
            self._let_go(seen.now_ms)
        wanted = next((tip for tip in self.left if _applies(tip, seen)), None)
        if wanted is not None and wanted is not self.shown:
            interrupts = wanted.urgent and not (self.shown is not None and self.shown.urgent)
            if interrupts or (self.shown is None and seen.now_ms >= self._quiet_until_ms):
                self.shown, self._since_ms = wanted, seen.now_ms
        if self.shown is None:
            return Cell("")
        if _applies(self.shown, seen):
            self._text, self._applied_ms = keyed(self.shown.words(seen)), seen.now_ms
        return Cell(self._text, "", "try  ")

    def dismiss(self, now_ms: int) -> None:
        """Let the tip that is shown go, also where it would come again."""
        words = self.shown.words if self.shown is not None else None
        self.left = [tip for tip in self.left if tip.words is not words]
        self._let_go(now_ms)

    def _let_go(self, now_ms: int) -> None:
        if self.shown in self.left:
            self.left.remove(self.shown)
        self.shown, self._quiet_until_ms = None, now_ms + PAUSE_MS

    def _stays(self, tip: Tip, seen: Seen) -> bool:
        """Tell whether the tip is neither done nor over; one that is not urgent may apply off and on."""
        over = seen.now_ms - self._since_ms >= tip.lasts_ms and not tip.urgent
        grace_ms = 0 if tip.urgent or seen.in_past else GRACE_MS
        return tip in self.left and not over and (_applies(tip, seen) or seen.now_ms - self._applied_ms < grace_ms)


def _applies(tip: Tip, seen: Seen) -> bool:
    """Tell whether a tip applies now: in the past only what is done there, and nothing while no engine is at work."""
    if seen.in_past != (tip.name == "fork") or (seen.pid is None and tip.name not in ("fork", "report", "invitation")):
        return False
    return bool(tip.words(seen))
