"""One-line notifications about runs that end, and agents that fall silent."""

from dashboard.views.drawing.rows import Cell
from dashboard.views.measures.digest import Digest
from dashboard.views.words.amounts import duration
from dashboard.views.words.glyphs import ACTIVITY
from dashboard.views.words.keyed import fill_keys
from engine.core.activities import ActivityKind
from engine.core.records.values import preview
from engine.core.state import Agent, RunStatus, RunSummary, State

_SHOW_WHY = " · <runs:7> and enter show why"


def silent_agents(state: State, counts: Digest, *kinds: ActivityKind) -> list[Agent]:
    """Return the agents of these kinds of silence, by kind."""
    present = [kind for kind in kinds if any(counts.kinds_of(root.id)[kind] for root in state.roots)]
    return [agent for kind in present for agent in state.agents.values() if counts.kind_of(agent) == kind]


def silent_words(state: State, counts: Digest, kind: ActivityKind) -> list[str]:
    """Return what is said of each agent that is silent, or stuck, such as `coder: silent 3 min`."""
    return [describe_silence(counts, agent) for agent in silent_agents(state, counts, kind)]


def describe_silence(counts: Digest, agent: Agent) -> str:
    """Return what is said of a silent agent, such as `coder: silent 3 min`."""
    return f"{agent.name}: {counts.activities.of_agent(agent).words}"


class News:
    """Notices runs that end, and agents that fall silent, while the dashboard is open."""

    def __init__(self) -> None:
        self._last_id: str | None = None
        self._silent_ids: set[str] = set()

    def of(self, state: State, counts: Digest, *, caught_up: bool) -> Cell | None:
        """Return the news since the last call.

        Args:
            state: The team, as far as it is folded.
            counts: Its counters, with what agents do.
            caught_up: Whether the whole file is folded; until then nothing is news.
        """
        return self._of_runs(state, caught_up=caught_up) or self._of_silence(state, counts)

    def _of_silence(self, state: State, counts: Digest) -> Cell | None:
        silent, known_ids = silent_agents(state, counts, "stuck", "silent"), self._silent_ids
        self._silent_ids = {agent.id for agent in silent}
        agent = next((agent for agent in silent if agent.id not in known_ids), None)
        if agent is None:
            return None
        mark = ACTIVITY[counts.activities.of_agent(agent).kind]
        return Cell(f"{mark.glyph} {describe_silence(counts, agent)}", mark.tone)

    def _of_runs(self, state: State, *, caught_up: bool) -> Cell | None:
        newest = state.finished[-1] if state.finished else None
        now = newest.id if newest is not None else ""
        if self._last_id is None:
            self._last_id = now if caught_up else None
            return None
        if now == self._last_id or newest is None:
            return None
        self._last_id = now
        return _describe_end(newest)


def _describe_end(run: RunSummary) -> Cell | None:
    """Describe the end of a run; None if it was cancelled, because the user knows."""
    title = preview(run.title, 24)
    if run.status is RunStatus.DONE:
        took = duration(run.ended_ms - run.started_ms)
        return Cell(f"✓ {title} is done after {took}{fill_keys(' · <runs:7> and enter show its output')}", "busy")
    if run.status is RunStatus.FAILED:
        return Cell(f"✕ {title} has failed{fill_keys(_SHOW_WHY)}", "error")
    if run.status is RunStatus.SKIPPED:
        return Cell(f"– {title} was skipped{fill_keys(_SHOW_WHY)}", "stopped")
    return None
