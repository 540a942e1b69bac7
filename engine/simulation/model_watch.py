"""Checks each model request of a history against the journal, and records its cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from engine.core.records.values import Usage, as_text
from engine.models.records import Message, ModelRequest
from engine.runtimes.attempts.work import Work
from engine.simulation.laws.spending import budgets, payers
from engine.simulation.observed import ObservedWorld
from engine.simulation.playing import Playing


class ModelWatch:
    """Requests of one history."""

    def __init__(self, world: ObservedWorld) -> None:
        self._world = world
        self._under_way: dict[Playing, tuple[Usage, frozenset[str]]] = {}
        """Running model calls, with their estimated cost and the ids that pay it."""
        self.attempts: set[tuple[str, int, int | None]] = set()
        """Attempts of model agents, by task, number and generation."""

    def begins(self, work: Work) -> None:
        """Note an attempt of a model agent."""
        effect = work.effect
        self.attempts.add((effect.task_id, effect.attempt, effect.generation))

    def charged(self, at: Playing, usage: Usage) -> None:
        """Note the cost of a call."""
        charged = self._world.books.models.charged
        charged[at.attempt] = charged[at.attempt].plus(usage) if at.attempt in charged else usage

    @contextmanager
    def calls(self, at: Playing) -> Iterator[None]:
        """Watch a call of a tool that must not be called twice."""
        self._world.tool_runs(at.work)
        try:
            yield
        finally:
            self._world.books.stepping[at.generation] -= 1

    @contextmanager
    def asked(self, at: Playing, request: ModelRequest, estimate: Usage) -> Iterator[None]:
        """Watch one request while it runs."""
        name, key = at.step
        self._world.step_runs(at.work, name, key=key)
        turn = int(name.removeprefix("turn:")) if name.startswith("turn:") else 0
        self._look_at_turn(at, turn)
        if turn > 1:  # before that, the last answer is that of an earlier run
            self._look_at_messages(at, request.messages)
        who = self._look_at_budgets(at, estimate)
        self._under_way[at] = estimate, who
        try:
            yield
        finally:
            del self._under_way[at]
            self._world.books.stepping[at.generation] -= 1

    def _look_at_turn(self, at: Playing, turn: int) -> None:
        if turn > at.turns:
            says = "A model is asked for no more answers than its agent may take"
            self._world.breaks("turns_are_limited", says, f"{at.attempt[0]} asks for turn {turn} of {at.turns}")

    def _look_at_messages(self, at: Playing, messages: tuple[Message, ...]) -> None:
        """Check that each call of the last answer has one result, the one in the journal."""
        last = max((place for place, one in enumerate(messages) if one.role == "assistant"), default=None)
        if last is None or not messages[last].calls:
            return
        called = {one.id: one for one in messages[last].calls}
        results = [one for one in messages[last + 1 :] if one.role == "tool"]
        if [one.call_id for one in results] != [*called]:
            self._breaks_results(at, f"{[*called]} were called, and {[one.call_id for one in results]} have a result")
            return
        job = self._world.books.work.jobs.get(at.attempt[0])
        children = [] if job is None else [one for call in job.calls.values() for one in call]
        outputs = [as_text(self._world.books.work.jobs[one].output) for one in children]
        for one in results:
            call = called[one.call_id or ""]
            if call.name != "delegate" or one.text.startswith('{"error"'):
                continue
            whole = one.text.partition("\n[characters ")[0]
            if not any(output.startswith(whole) for output in outputs):
                self._breaks_results(at, f"{call.id} brought {one.text!r:.60}, which nobody has said")

    def _breaks_results(self, at: Playing, what: str) -> None:
        says = "Every call of a model has exactly one result, that of the journal"
        self._world.breaks("every_call_has_one_result", says, f"{at.attempt[0]}: {what}")

    def _look_at_budgets(self, at: Playing, estimate: Usage) -> frozenset[str]:
        """Check that each budget has enough left for this call and all running ones."""
        books, effect = self._world.books, at.work.effect
        job, agent = books.work.jobs.get(effect.task_id), books.team.agents.get(effect.agent_id)
        if job is None or agent is None:
            return frozenset()
        spenders = list(payers(books, job, agent))
        if self._world.state.seq == books.state.seq:  # else limits may have been changed since
            for spender in spenders:
                for amount, spent, limit in budgets(books, spender, agent.id if spender is job else None):
                    if amount == "attempts":
                        continue
                    held = [usage for usage, who in self._under_way.values() if spender.id in who]
                    taken = spent + sum(_amount(usage, amount) for usage in (*held, estimate))
                    if taken > limit:
                        says = "A model is called only where everybody who pays has enough left for it"
                        what = f"{at.attempt[0]}: {spender.id} would have spent {taken} of {limit} {amount}"
                        self._world.breaks("a_call_fits_the_budgets", says, what)
        return frozenset(one.id for one in spenders)


def _amount(usage: Usage, amount: str) -> Decimal:
    if amount == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    return usage.cost_usd or Decimal(0)
