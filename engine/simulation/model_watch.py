"""Checks each model request of a history against the journal, and records its cost."""

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

from engine.core.entities.work import TaskStatus
from engine.core.records.values import Usage, as_text
from engine.models.records import Message, ModelRequest
from engine.runtimes.attempts.work import Work
from engine.simulation.laws.spending import budgets, payers
from engine.simulation.ledger.work import Job
from engine.simulation.observed import ObservedWorld
from engine.simulation.playing import PlayedAttempt


class ModelWatch:
    """Requests of one history."""

    def __init__(self, world: ObservedWorld) -> None:
        self._world = world
        self._running_calls: dict[PlayedAttempt, tuple[Usage, frozenset[str]]] = {}
        """Running model calls, with their estimated cost and the ids that pay it."""
        self.attempts: set[tuple[str, int, int | None]] = set()
        """Attempts of model agents, by task, number and generation."""

    def note_attempt(self, work: Work) -> None:
        """Note an attempt of a model agent."""
        effect = work.effect
        self.attempts.add((effect.task_id, effect.attempt, effect.generation))

    def charge(self, attempt: PlayedAttempt, usage: Usage) -> None:
        """Note the cost of a call."""
        charges = self._world.ledger.models.charged
        charges[attempt.attempt_key] = (
            charges[attempt.attempt_key].plus(usage) if attempt.attempt_key in charges else usage
        )

    @contextmanager
    def watch_tool_call(self, attempt: PlayedAttempt) -> Iterator[None]:
        """Watch a call of a tool that must not be called twice."""
        self._world.check_tool_call(attempt.work)
        try:
            yield
        finally:
            self._world.ledger.open_steps[attempt.generation_key] -= 1

    @contextmanager
    def watch_request(self, attempt: PlayedAttempt, request: ModelRequest, estimate: Usage) -> Iterator[None]:
        """Watch one request while it runs."""
        name, key = attempt.step
        self._world.check_step(attempt.work, name, key=key)
        turn = int(name.removeprefix("turn:")) if name.startswith("turn:") else 0
        self._check_turn(attempt, turn)
        if turn > 1:  # before that, the last answer is that of an earlier run
            self._check_messages(attempt, request.messages)
        payer_ids = self._check_budgets(attempt, estimate)
        self._running_calls[attempt] = estimate, payer_ids
        try:
            yield
        finally:
            del self._running_calls[attempt]
            self._world.ledger.open_steps[attempt.generation_key] -= 1

    def _check_turn(self, attempt: PlayedAttempt, turn: int) -> None:
        if turn > attempt.turns:
            statement = "A model is asked for no more answers than its agent may take"
            self._world.report_violation(
                "turns_are_limited", statement, f"{attempt.attempt_key[0]} asks for turn {turn} of {attempt.turns}"
            )

    def _check_messages(self, attempt: PlayedAttempt, messages: tuple[Message, ...]) -> None:
        """Check that each call of the last answer has one result, the one in the journal."""
        last = max((index for index, message in enumerate(messages) if message.role == "assistant"), default=None)
        if last is None or not messages[last].calls:
            return
        calls_by_id = {call.id: call for call in messages[last].calls}
        results = [message for message in messages[last + 1 :] if message.role == "tool"]
        if [result.call_id for result in results] != [*calls_by_id]:
            self._report_wrong_result(
                attempt, f"{[*calls_by_id]} were called, and {[result.call_id for result in results]} have a result"
            )
            return
        job = self._world.ledger.work.jobs.get(attempt.attempt_key[0])
        children = [] if job is None else [child_id for call in job.calls.values() for child_id in call]
        outputs = [result_text(self._world.ledger.work.jobs[child_id]) for child_id in children]
        for result in results:
            call = calls_by_id[result.call_id or ""]
            if call.name != "delegate" or result.text.startswith('{"error"'):
                continue
            excerpt = result.text.partition("\n[characters ")[0]
            if not any(output.startswith(excerpt) for output in outputs):
                self._report_wrong_result(attempt, f"{call.id} brought {result.text!r:.60}, which nobody has said")

    def _report_wrong_result(self, attempt: PlayedAttempt, details: str) -> None:
        statement = "Every call of a model has exactly one result, that of the journal"
        self._world.report_violation("every_call_has_one_result", statement, f"{attempt.attempt_key[0]}: {details}")

    def _check_budgets(self, attempt: PlayedAttempt, estimate: Usage) -> frozenset[str]:
        """Check that each budget has enough left for this call and all running ones."""
        ledger, effect = self._world.ledger, attempt.work.effect
        job, agent = ledger.work.jobs.get(effect.task_id), ledger.team.agents.get(effect.agent_id)
        if job is None or agent is None:
            return frozenset()
        spenders = list(payers(ledger, job, agent))
        if self._world.state.seq == ledger.state.seq:  # else limits may have been changed since
            for spender in spenders:
                for amount, spent, limit in budgets(ledger, spender, agent.id if spender is job else None):
                    if amount == "attempts":
                        continue
                    running_usages = [
                        usage for usage, payer_ids in self._running_calls.values() if spender.id in payer_ids
                    ]
                    total = spent + sum(_amount(usage, amount) for usage in (*running_usages, estimate))
                    if total > limit:
                        statement = "A model is called only where everybody who pays has enough left for it"
                        details = f"{attempt.attempt_key[0]}: {spender.id} would have spent {total} of {limit} {amount}"
                        self._world.report_violation("a_call_fits_the_budgets", statement, details)
        return frozenset(spender.id for spender in spenders)


def _amount(usage: Usage, amount: str) -> Decimal:
    if amount == "tokens":
        return Decimal((usage.tokens_in or 0) + (usage.tokens_out or 0))
    return usage.cost_usd or Decimal(0)


def result_text(job: Job) -> str:
    """Return what a delegated task brings its caller: skipped work brings null, also where a partial result is kept."""
    return as_text(None if job.outcome is TaskStatus.SKIPPED else job.output)
