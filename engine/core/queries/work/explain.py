"""Why a run took as long as it did: shares of its wall time by kind, its critical path, and at most ten lines of words.

See docs/reference/command-line.md (`explain`).
"""

from collections import Counter
from collections.abc import Mapping

from engine.core.queries.team.models import model_names
from engine.core.queries.work.critical_path import Present, critical_path, describe_step
from engine.core.records.records import fact
from engine.core.records.spans import TimeKind
from engine.core.records.values import describe_ms
from engine.core.state import CriticalPart, Run, RunSummary, State, Task

MAX_LINES = 10
MAX_PARTS_IN_LINE = 3
WORDS: dict[TimeKind, str] = {
    "model": "models answered",
    "tool": "tools ran",
    "code": "code of agents ran",
    "slot": "waited for a slot",
    "rate_limit": "waited for the rate limit of a provider",
    "backoff": "waited for the next try",
    "budget": "held by a budget",
    "person": "waited for a person",
    "delegated": "waited for delegated work",
    "queue": "waited in queues",
    "paused": "paused",
    "suspended": "without an engine",
}
"""What each kind of time is, in words that follow a share."""


@fact
class Explanation:
    """Where the time of a run went."""

    run_id: str
    wall_ms: int
    """From its submission to its end, or to now."""
    shares: dict[TimeKind, int]
    """Milliseconds by kind; they add up to `wall_ms`."""
    critical: list[CriticalPart]
    """The longest parts of its critical path, in the order of their beginning."""
    present: str = ""
    """What an open run does at the moment: the deepest task of its critical path; empty if that is unknown."""

    @property
    def lines(self) -> list[str]:
        """At most ten lines: what it does at the moment, then the shares, the largest first."""
        if not self.shares:
            return ["it took no time" if not self.wall_ms else "its time was not counted"]
        present = [f"at the moment: {self.present}"] if self.present else []
        kinds = sorted(self.shares, key=lambda kind: -self.shares[kind])[: MAX_LINES - len(present)]
        return [*present, *map(self._describe, kinds)]

    def _describe(self, kind: TimeKind) -> str:
        lengths: Counter[str] = Counter()
        for part in self.critical:
            if part.kind == kind:
                lengths[describe_subject(part)] += part.ms
        longest = lengths.most_common(MAX_PARTS_IN_LINE)
        described = [f"{subject} for {describe_ms(length_ms)}" for subject, length_ms in longest]
        rest_ms = self.shares[kind] - sum(length_ms for _, length_ms in longest)
        if described and rest_ms > 0:
            described.append(f"others for {describe_ms(rest_ms)}")
        what = f"{describe_share(self.shares[kind], self.wall_ms)} {WORDS[kind]}"
        return f"{what}: {', '.join(described)}" if described else f"{what} for {describe_ms(self.shares[kind])}"


def explain(state: State, run: Run, now_ms: int, present: Present | None = None) -> Explanation:
    """Return where the time of an open run went until now, and what it does at `present`."""
    path = critical_path(state, run, now_ms, present)
    return Explanation(
        run_id=run.id,
        wall_ms=now_ms - run.started_ms,
        shares=path.times,
        critical=path.parts,
        present="" if present is None else _describe_present(state, path.last, present),
    )


def _describe_present(state: State, task: Task, present: Present) -> str:
    """Return what a task does: `critic at turn 7 of claude-x: silent 40 s`."""
    agent = state.agents.get(task.agent_id or "")
    subject, words = task.title if agent is None else agent.name, present.describe_task(task)
    steps = present.open_steps(task)
    if agent is not None and steps and steps[-1].what == "model":
        turn = describe_step(steps[-1].name, "model")
        models = model_names(state.spec_of(agent).model)
        of_model = f" of {models[0]}" if len(models) == 1 else ""  # of several, any may be asked
        subject = f"{subject} at {turn}{of_model}"
        words = words.removesuffix(f" in {turn}").removesuffix(f", {turn}")
    return f"{subject}: {words}" if words else subject


def explain_finished(summary: RunSummary) -> Explanation:
    """Return where the time of a finished run went; its shares are empty if it ended before they were counted."""
    wall_ms = summary.ended_ms - summary.started_ms
    return Explanation(run_id=summary.id, wall_ms=wall_ms, shares=summary.times, critical=summary.critical)


def largest_shares(times: Mapping[TimeKind, int], limit: int = 2) -> list[tuple[TimeKind, int]]:
    """Return the kinds with most of the time, the first one first."""
    return sorted(times.items(), key=lambda item: -item[1])[:limit]


def describe_share(part_ms: int, wall_ms: int) -> str:
    """Return a share in whole percent: `42 %`, or `< 1 %`."""
    percent = round(100 * part_ms / wall_ms) if wall_ms else 0
    return f"{percent} %" if percent else "< 1 %"


def describe_subject(part: CriticalPart) -> str:
    """Return who or what took a part of the time: `e3`, `turn 7 of critic`, `critic`."""
    whose = part.agent or part.task_id
    if not part.words:
        return whose
    return part.words if part.kind == "person" else f"{part.words} of {whose}"
