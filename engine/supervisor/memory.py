"""`team.memory`: the insights of a team, for the program that runs it, with the rights of an operator."""

from collections.abc import Callable, Iterable

import anyio
from typing_extensions import Unpack

from engine.core.commands import Forget, Remember
from engine.core.events import Remembered
from engine.core.queries.targets import id_in
from engine.core.queries.team.memory import root_of
from engine.core.specs.memory import InsightConditions, InsightQuery
from engine.core.validation.bounds import Seconds
from engine.core.validation.records import check_arguments
from engine.errors import CommandRefusedError, HostStopped, InsightConflict, InsightTimeout
from engine.host.pending_commands import Applied
from engine.memory.pages import Insight, InsightPage, checkable_tags, insight_page, with_text
from engine.runtimes.attempts.insights import AttemptInsights
from engine.supervisor.node import SupervisorNode, translate_refusals


class TeamMemory:
    """The insights of a supervisor's whole team, also those of single agents.

    Every method raises CommandRefusedError if a value is invalid.
    """

    def __init__(self, node: SupervisorNode) -> None:
        self._node = node
        self._engine = node._engine

    async def write(
        self,
        text: str,
        *,
        segment: str = "team",
        tags: Iterable[str] = (),
        importance: float = 0.5,
        supersedes: str | None = None,
        expect: int | None = None,
        expires_s: float | None = None,
    ) -> Insight:
        """Write an insight into a segment of the team, as `ctx.memory.write` (`ContextMemory.write`) does.

        Raises:
            CommandRefusedError: If there is nothing to supersede.
            InsightConflict: If the newest version is another than expected.
        """
        tags = checkable_tags(tags)
        return await self._write(
            lambda: Remember(
                supervisor=self._node._target,
                text=text,
                segment=segment,
                tags=tags,
                importance=importance,
                supersedes=supersedes,
                expect=expect,
                expires_s=expires_s,
            )
        )

    async def supersede(self, insight_id: str, text: str, *, expect: int) -> Insight:
        """Write a newer version of an insight, with its segment, tags and importance; raises as `write`.

        Args:
            insight_id: Id of any version of it.
            text: Up to 10,000 characters.
            expect: The version that the newest one must have.
        """

        def command() -> Remember:
            old = self._node._state.insights.get(id_in(str(insight_id)))
            if old is None:
                raise CommandRefusedError("refused", f"there is no insight {str(insight_id)[:40]!r} to supersede")
            return Remember(
                supervisor=self._node._target,
                text=text,
                segment=old.segment,
                tags=tuple(old.tags),
                importance=old.importance,
                supersedes=old.id,
                expect=expect,
            )

        return await self._write(command)

    async def _write(self, make: Callable[[], Remember]) -> Insight:
        applied = await self._engine.order(make)
        conflict = applied.result.get("conflict")
        insight_id = str(conflict or applied.result["insight_id"])
        stored = self._node._state.insights.get(insight_id)
        insight = None if stored is None else await with_text(stored, self._engine.text)
        if conflict is not None:
            raise InsightConflict(insight_id, make().expect, insight)
        return insight or Insight(insight_id, make().text)  # forgotten at once, to make room for others

    async def query(self, text: str = "", **conditions: Unpack[InsightConditions]) -> InsightPage:
        """Return insights of the team, the best matches first.

        Args:
            text: Words to look for; empty orders by importance, then age.
            conditions: `any_of` and `all_of` tags; `segment` (None searches all); `min_importance`; `max_age_s`;
                `unused`: read by no step; `superseded`: also older versions; `limit`, from 1 to 100.
        """
        query = _checked_query(text, conditions)
        await self._engine.refresh()
        return await self._search(query)

    async def wait(self, text: str = "", *, due_s: Seconds, **conditions: Unpack[InsightConditions]) -> InsightPage:
        """Wait until an insight matches, and return what matches.

        Args:
            text: Words to look for.
            due_s: How long to wait, in seconds of real time.
            conditions: As of `query`.

        Raises:
            InsightTimeout: If nothing matches in time.
            HostStopped: If the engine ends first.
        """
        query = _checked_query(text, conditions)
        with translate_refusals():
            check_arguments("wait", AttemptInsights.wait, {"due_s": due_s})
        async with self._engine.running():
            with self._engine.events() as events, anyio.move_on_after(due_s):
                while not (page := await self._search(query)).items:
                    async for _, event in events:
                        if isinstance(event, Remembered):
                            break
                    else:
                        raise HostStopped("no insight came")
                return page
        raise InsightTimeout(due_s)

    async def forget(self, *insights: str) -> Applied:
        """Forget insights by their ids, also private ones.

        Raises:
            CommandRefusedError: If there is no such insight.
        """
        return await self._engine.order(lambda: Forget(insights=[*insights]))

    async def _search(self, query: InsightQuery) -> InsightPage:
        state = self._node._state
        matches = await self._engine.insights.search(
            state,
            query,
            root_id=root_of(state, self._node._supervisor.id).id,
            agent_id=None,
            now_ms=self._engine.present_ms(),
        )
        stored = [state.insights[insight_id] for insight_id in matches.ids if insight_id in state.insights]
        return await insight_page(stored, matches.total, self._engine.text)


def _checked_query(text: str, conditions: InsightConditions) -> InsightQuery:
    with translate_refusals():
        return InsightQuery(text=text, **conditions)
