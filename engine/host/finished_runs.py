"""Looks up finished runs, from the journal if the state has dropped them."""

from collections.abc import Awaitable, Callable
from typing import TypedDict

from engine.core.commands import Command, RetryWork, Submit
from engine.core.events import RunFinished, RunSubmitted
from engine.core.finished import resubmission_of
from engine.core.queries.targets import id_in, id_target
from engine.core.state import RunSummary
from engine.reading.folding import IMPORTS, events_of, summary_in
from engine.runtimes.attempts.services import Services
from engine.runtimes.values import copy_json
from store.journals.journal import Journal


class FinishedRunFields(TypedDict):
    """Fields of an `Order` that come from finished runs."""

    run_outcomes: dict[str, str]
    again: Submit | None


class FinishedRuns:
    """Looks up finished runs; `flush` waits until everything decided so far is in the journal."""

    def __init__(self, services: Services, journal: Journal, *, flush: Callable[[], Awaitable[None]]) -> None:
        self._services = services
        self._journal = journal
        self._flush = flush

    async def summary(self, run_id: str) -> RunSummary | None:
        """Return the summary of a finished run; None if there is none."""
        return await self._summary(run_id, self._flush)

    async def _summary(self, run_id: str, flush: Callable[[], Awaitable[None]]) -> RunSummary | None:
        summary = self._services.state.summary(run_id)
        if summary is not None:
            return summary
        await flush()
        records = await self._journal.records_of_kind(RunFinished.type, run_id)
        # A run that came with an archive has no `RunFinished` of its own in this journal.
        for kind in () if records else IMPORTS:
            records += await self._journal.records_of_kind(kind)
        return summary_in(records, run_id)

    async def fields_for(self, command: Command) -> FinishedRunFields:
        """Return the fields for a command that names finished runs; the caller holds the clock."""
        run_ids = dict.fromkeys(map(id_in, command.after if isinstance(command, Submit) else []))
        summaries = [
            await self._summary(run_id, self._flush_on_running_clock)
            for run_id in run_ids
            if run_id not in self._services.state.runs
        ]
        statuses = {run.id: str(run.status) for run in summaries if run is not None}
        return FinishedRunFields(run_outcomes=statuses, again=await self._original_request(command))

    async def _original_request(self, command: Command) -> Submit | None:
        """Return the request of the finished run that a command retries, as it was submitted."""
        state = self._services.state
        run_id = id_in(command.target) if isinstance(command, RetryWork) else ""
        if not run_id or run_id in state.runs or run_id in state.tasks:
            return None
        summary = await self._summary(run_id, self._flush_on_running_clock)
        if summary is None:
            return None
        await self._flush_on_running_clock()
        records = await self._journal.records_of_kind(RunSubmitted.type, run_id)
        submitted = next((event for event in events_of(records) if isinstance(event, RunSubmitted)), None)
        if submitted is not None:
            return resubmission_of(submitted)
        # The run was imported with an archive; its settings are only in the journal of the exporting team.
        return Submit(
            request=copy_json(await self._services.text(summary.request)),
            supervisor=id_target(summary.supervisor_id),
            conversation=summary.conversation,
            labels=summary.labels,
        )

    async def _flush_on_running_clock(self) -> None:
        """Flush the journal without the caller's hold on the clock: retries on a slow disk wait for time to pass."""
        self._services.clock.release()
        try:
            await self._flush()
        finally:
            self._services.clock.hold()
