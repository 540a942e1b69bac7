"""`ctx.memory`: insights that agents share. See docs/reference/memory.md."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Unpack

from engine.core.entities.memory import PRIVATE
from engine.core.records.records import JsonValue
from engine.core.specs.memory import InsightConditions, InsightQuery
from engine.core.validation.records import check_arguments
from engine.memory.pages import Insight, InsightPage, as_json, as_page, checkable_tags, ids_in_page
from engine.runtimes.attempts.insights import AttemptInsights
from engine.runtimes.attempts.work import Work


class ContextMemory:
    """The memory of a function agent: its own insights, and those of its team that it may read.

    Each call is a recorded step. It raises BadValue if a value is invalid.
    """

    def __init__(self, work: Callable[[], Work], run_step: Callable[..., Awaitable[JsonValue]]) -> None:
        self._work = work
        self._run_step = run_step

    @property
    def _insights(self) -> AttemptInsights:
        work = self._work()
        work.attempt.raise_if_stopping()
        return work.insights

    async def write(
        self,
        text: str,
        *,
        segment: str = PRIVATE,
        tags: Iterable[str] = (),
        importance: float = 0.5,
        supersedes: str | None = None,
        expect: int | None = None,
        expires_s: float | None = None,
    ) -> Insight:
        """Write an insight.

        Args:
            text: Up to 10,000 characters.
            segment: `private`, which only this agent reads, or a segment of the team, such as `results`.
            tags: Words that it is found by, up to 20.
            importance: From 0 to 1; where there are too many, the least important go first.
            supersedes: Id of an insight of the same segment; this one takes the place of its newest version.
            expect: The version which that one must have.
            expires_s: When it is forgotten, in seconds from now.

        Raises:
            CommandRefusedError: If the agent may not write there, or there is nothing to supersede.
            InsightConflict: If the newest version is another than expected.
        """
        return await self._insights.write(
            text,
            segment=segment,
            tags=checkable_tags(tags),
            importance=importance,
            supersedes=supersedes,
            expect=expect,
            expires_s=expires_s,
        )

    async def supersede(self, insight_id: str, text: str, *, expect: int) -> Insight:
        """Write a newer version of an insight, with its segment, tags and importance.

        Args:
            insight_id: Id of any version of it.
            text: Up to 10,000 characters.
            expect: The version that the newest one must have.

        Raises:
            CommandRefusedError: If the agent may not write there, or there is no such insight.
            InsightConflict: If the newest version is another than expected.
        """
        return await self._insights.supersede(insight_id, text, expect=expect)

    async def query(self, text: str = "", **conditions: Unpack[InsightConditions]) -> InsightPage:
        """Return insights that the agent may read, the best matches first; the step says which were read.

        Args:
            text: Words to look for; empty orders by importance, then age.
            conditions: `any_of` and `all_of` tags; `segment` (None searches all); `min_importance`; `max_age_s`;
                `exclude_own`; `unused`: read by no step; `superseded`: also older versions; `limit`, from 1 to 100.
        """
        query = InsightQuery(text=text, **conditions)
        return await self._read("query", lambda: self._insights.search(query), query)

    async def wait(self, text: str = "", *, due_s: float, **conditions: Unpack[InsightConditions]) -> InsightPage:
        """Wait without a slot until an insight matches, and return what matches.

        Args:
            text: Words to look for.
            due_s: How long to wait, in seconds.
            conditions: As of `query`.

        Raises:
            InsightTimeout: If nothing matches in time; a later attempt waits anew.
        """
        check_arguments("wait", AttemptInsights.wait, {"due_s": due_s})
        query = InsightQuery(text=text, **conditions)
        return await self._read("wait", lambda: self._insights.wait(query, due_s), query, due_s)

    async def _read(self, name: str, search: Callable[[], Awaitable[InsightPage]], *values: object) -> InsightPage:
        """Return the page of a search, as a recorded step with a receipt."""

        async def call(key: str) -> JsonValue:
            return as_json(await search())

        step_input = [as_json(value) for value in values]
        return as_page(await self._run_step(f"memory.{name}", call, step_input, reads=ids_in_page))
