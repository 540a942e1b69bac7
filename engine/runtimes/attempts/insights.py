"""The insights that an attempt writes, finds and waits for.

Rights and versions are decided by the core (`decide.people.memory`); here is found out why nothing was written.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

from engine.core.entities.memory import PRIVATE
from engine.core.queries.team.memory import NewInsight, may_read, refusal_of, root_of
from engine.core.records.records import JsonValue
from engine.core.signals import InsightNoted
from engine.core.specs.memory import InsightQuery
from engine.core.validation.bounds import Importance, RecallLimit, Remark, Seconds, Segment, Tags, Version
from engine.core.validation.records import check_arguments
from engine.errors import AttemptInterrupted, CommandRefusedError, InsightConflict, InsightTimeout
from engine.memory import Found
from engine.memory.pages import Insight, InsightPage, insight_page, with_text
from engine.runtimes.attempts.attempt import Attempt
from engine.runtimes.attempts.attempt_slot import AttemptSlot
from engine.runtimes.attempts.services import of_attempt


class AttemptInsights:
    """The insights of one attempt."""

    def __init__(self, attempt: Attempt, slot: AttemptSlot) -> None:
        self._attempt = attempt
        self._slot = slot
        self._effect = attempt.effect
        self._services = attempt.services

    async def remember(self, text: Remark, tags: Tags = (), importance: Importance = 0.5) -> str:
        """Write a private insight, and return its id.

        Raises:
            BadValue: If the text is empty or above 10,000 characters, a tag is none, or the importance not in [0, 1].
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        return (await self.write(text, tags=tags, importance=importance)).id

    async def write(
        self,
        text: Remark,
        *,
        segment: Segment = PRIVATE,
        tags: Tags = (),
        importance: Importance = 0.5,
        supersedes: str | None = None,
        expect: Version | None = None,
        expires_s: Seconds | None = None,
    ) -> Insight:
        """Write an insight.

        Raises:
            BadValue: If a value is invalid.
            CommandRefusedError: If the agent may not write there, or there is nothing to supersede.
            InsightConflict: If the newest version is another than expected.
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        check_arguments("an insight", AttemptInsights.write, {**locals()})
        step_input: list[JsonValue] = [text, [*tags], importance]
        if (segment, supersedes, expect, expires_s) != (PRIVATE, None, None, None):
            step_input += [segment, supersedes, expect, expires_s]
        new = NewInsight(segment=segment, supersedes=supersedes, expect=expect)
        key = self._attempt.key("remember", step_input)
        return await self._write(key, text, new, tags=tags, importance=importance, expires_s=expires_s)

    async def supersede(self, insight_id: str, text: Remark, *, expect: Version) -> Insight:
        """Write a newer version of an insight, with its segment, tags and importance; raises as `write`."""
        check_arguments(
            "supersede", AttemptInsights.supersede, {"insight_id": insight_id, "text": text, "expect": expect}
        )
        key = self._attempt.key("supersede", [insight_id, text, expect])
        old = self._attempt.state.insights.get(insight_id)
        new = NewInsight(segment=PRIVATE if old is None else old.segment, supersedes=insight_id, expect=expect)
        tags, importance = ((), 0.5) if old is None else (tuple(old.tags), old.importance)
        return await self._write(key, text, new, tags=tags, importance=importance, expires_s=None)

    async def _write(
        self, key: str, text: str, new: NewInsight, *, tags: tuple[str, ...], importance: float, expires_s: float | None
    ) -> Insight:
        attempt, effect = self._attempt, self._effect
        if attempt.is_recorded(key):
            output = await attempt.recorded_output(key)
        else:
            signal = InsightNoted(
                **of_attempt(effect),
                key=key,
                text=text,
                tags=[*tags],
                importance=importance,
                segment=new.segment,
                supersedes=new.supersedes,
                expect=new.expect,
                expires_s=expires_s,
            )
            await attempt.report(signal)
            task = attempt.state.tasks.get(effect.task_id)
            if task is None or key not in task.steps:
                raise self._refusal(new)
            output = await self._services.text(task.steps[key])
        written: Mapping[str, Any] = output if isinstance(output, dict) else {"insight": str(output), "version": 1}
        if "conflict" in written:
            raise await self._conflict(written["conflict"], new)
        insight = attempt.state.insights.get(written["insight"])
        if insight is not None:
            return await with_text(insight, self._services.text)
        # A rerun, and it was forgotten meanwhile.
        return Insight(
            id=written["insight"],
            text=text,
            tags=tags,
            importance=importance,
            segment=new.segment,
            agent_id=effect.agent_id,
            author=effect.agent,
            version=written["version"],
            supersedes=new.supersedes,
        )

    def _refusal(self, new: NewInsight) -> BaseException:
        """Return why nothing was written: by the rules, or because the attempt is another's by now."""
        state = self._attempt.state
        agent = state.agents.get(self._effect.agent_id)
        reason = None if agent is None else refusal_of(state, root_of(state, agent.supervisor_id), agent, new)
        return AttemptInterrupted() if reason is None else CommandRefusedError("refused", reason)

    async def _conflict(self, insight_id: str, new: NewInsight) -> InsightConflict:
        state = self._attempt.state
        insight, agent = state.insights.get(insight_id), state.agents.get(self._effect.agent_id)
        is_readable = insight is not None and agent is not None and may_read(state, agent, insight)
        current = await with_text(insight, self._services.text) if insight is not None and is_readable else None
        return InsightConflict(insight_id, new.expect, current)

    async def recall(self, query: str, limit: RecallLimit = 5) -> list[Insight]:
        """Return the private insights that answer `query` best, the best first; not recorded.

        Raises:
            BadValue: If the limit is not from 1 to 100.
        """
        check_arguments("recall", AttemptInsights.recall, {"query": query, "limit": limit})
        return [*(await self.search(InsightQuery(text=query, segment=PRIVATE, limit=limit))).items]

    async def search(self, query: InsightQuery) -> InsightPage:
        """Return what matches among what the agent may read; not recorded."""
        return await self._page(await self._find(query))

    async def wait(self, query: InsightQuery, due_s: Seconds) -> InsightPage:
        """Return what matches, once something does; the attempt waits without a slot. Not recorded.

        Raises:
            InsightTimeout: If nothing matches within `due_s` seconds.
            AttemptInterrupted: If the attempt is asked to stop meanwhile.
        """
        until_ms = self._attempt.now_ms() + round(due_s * 1000)
        matches = await self._find(query)
        if not matches.ids:
            matches = await self._wait_parked(query, until_ms)
        if not matches.ids:
            raise InsightTimeout(due_s)
        return await self._page(matches)

    async def _wait_parked(self, query: InsightQuery, until_ms: int) -> Found:
        """Search whenever an insight was written that may match, until something does or the time is over."""
        attempt, desk = self._attempt, self._services.insights
        async with self._slot.parked("insight", until_ms):
            while True:
                with attempt.stoppable_wait() as pending:
                    # Before the search: what is written during it wakes the next one.
                    cancel_wait = desk.expect(query, pending)
                    cancel_timer = self._services.call_later(until_ms, partial(pending.put, None))
                    try:
                        with self._services.clock.held():
                            matches = await self._find(query)
                        if matches.ids or attempt.now_ms() >= until_ms:
                            return matches
                        await pending.wait()
                    finally:
                        cancel_timer()
                        cancel_wait()

    async def _find(self, query: InsightQuery) -> Found:
        state, agent_id = self._attempt.state, self._effect.agent_id
        agent = state.agents.get(agent_id)
        if agent is None:  # it was removed, and its attempts end
            raise AttemptInterrupted
        root_id = root_of(state, agent.supervisor_id).id
        return await self._services.insights.index.search(
            state, query, root_id=root_id, agent_id=agent_id, now_ms=self._attempt.now_ms()
        )

    async def _page(self, matches: Found) -> InsightPage:
        insights = self._attempt.state.insights
        matching = [insights[insight_id] for insight_id in matches.ids if insight_id in insights]
        return await insight_page(matching, matches.total, self._services.text)
