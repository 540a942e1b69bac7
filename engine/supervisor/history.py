"""Methods on recorded work: steps, forks, replays."""

import os
from functools import partial
from pathlib import Path

import anyio.to_thread

from engine.core.commands import Target
from engine.core.errors import Refused, UnknownTask
from engine.core.queries.targets import id_in
from engine.core.records.records import Json, JsonValue
from engine.errors import NotInThisVersion
from engine.history.forking import ChangedStep, Fork, fork, step_named
from engine.history.replaying import Replay, replay
from engine.history.steps import Step, steps_in
from engine.runtimes.values import json_value
from engine.supervisor.node import SupervisorNode, checks_arguments, translate_refusals
from store import Reader


class RecordedWork(SupervisorNode):
    """Methods of a supervisor on recorded work."""

    @checks_arguments
    async def steps(self, task_id: Target) -> list[Step]:
        """Return the recorded steps of all attempts of a task, in order.

        Raises:
            CommandRefusedError: If there is no such task.
        """
        await self._engine.refresh()
        task_id = id_in(task_id)
        records = await self._engine.journal.records(task_id)
        with translate_refusals():
            if not records and task_id not in self._state.tasks:
                raise UnknownTask(task_id)
        return steps_in(records)

    @checks_arguments
    async def fork(
        self,
        path: str | os.PathLike[str],
        at_seq: int | None = None,
        *,
        step: tuple[str, str] | None = None,
        output: Json = None,
    ) -> Fork:
        """Create a database that continues from a past state of this team, with its runs paused.

        Args:
            path: Path of the new database; nothing may exist there.
            at_seq: The event after which it continues; None is the newest, or that of the step.
            step: Id of a task and key of a recorded step (`Step.step`) whose output becomes `output`; later steps of
                the task are dropped.
            output: New output of `step`. For a step of a model, a text becomes its whole answer.

        Raises:
            CommandRefusedError: If there is no such event or step, or the task cannot continue from there.
            StoreError: If no database can be created at `path`.
            NotInThisVersion: If this team is in memory.
        """
        db = _require_file(self._engine.database, "fork")
        make = partial(_make_fork, db, Path(path), at_seq, step, json_value(output))
        with translate_refusals():
            return await anyio.to_thread.run_sync(make)

    @checks_arguments
    async def replay(self, run_id: Target) -> Replay:
        """Replay a finished run without calls: model agents get their answers from the journal.

        Raises:
            UnknownRun: If no run of that id has ended in this journal; the message says if it is still open.
            NotInThisVersion: If this team is in memory.
        """
        return await replay(_require_file(self._engine.database, "replay"), id_in(run_id))


def _require_file(db: Path | None, operation: str) -> Path:
    if db is None:
        raise NotInThisVersion(
            f"{operation} of a team in memory", "give it a store: DynamicSupervisor(…, store='team.db')"
        )
    return db


def _make_fork(db: Path, path: Path, at_seq: int | None, step: tuple[str, str] | None, output: JsonValue) -> Fork:
    changed = None
    if step is not None:
        with Reader(db) as reader:
            changed = ChangedStep(step_named(reader, id_in(step[0]), step[1]), output)
    elif output is not None:
        raise Refused("output is that of a step: name it with step=(task, key)")
    return fork(db, path, at_seq=at_seq, changed=changed)
