"""What a supervisor's journal tells of work that is done: its steps; and a team that goes on from a moment of it."""

import os
from functools import partial
from pathlib import Path

import anyio.to_thread

from engine.core.errors import Refused
from engine.core.records import JsonValue
from engine.errors import NotInThisVersion
from engine.forking import ChangedStep, Fork, fork, step_named
from engine.replaying import Replay, replay
from engine.steps import STEPS, Step, steps_in
from engine.supervisor.node import Node, checks_arguments, refusals
from store import Reader


class History(Node):
    """Methods that look at recorded work, and go on from it elsewhere."""

    @checks_arguments
    async def steps(self, task_id: str) -> list[Step]:
        """Return the recorded steps of a task, of all its attempts, the first one first; none of a task without any."""
        return steps_in(await self._engine.records(STEPS), task_id)

    @checks_arguments
    async def fork(
        self, path: str | os.PathLike[str], at_seq: int | None = None, *, step: tuple[str, str] | None = None,
        output: JsonValue = None,
    ) -> Fork:  # fmt: skip
        """Make a database of its own that goes on from a moment of this team, with its runs paused.

        Args:
            path: Where it is to stand; nothing may be there.
            at_seq: The event after which it goes on; None is the newest, or that of the step.
            step: A task's id and the key of a recorded step of it (`Step.step`), which is to have come to `output`;
                what came after it in its task is dropped.
            output: With `step`: what it came to. A text in place of a model's answer is all that the model said.

        Raises:
            CommandRefusedError: If there is no such moment or step, or the task cannot go on from there.
            StoreError: If nothing can be made at `path`.
            NotInThisVersion: If this team is in memory.
        """
        db = _in_file(self._engine.database, "fork")
        make = partial(_forked, db, Path(path), at_seq, step, output)
        with refusals():
            return await anyio.to_thread.run_sync(make)

    @checks_arguments
    async def replay(self, run_id: str) -> Replay:
        """Walk through a finished run again, without any call: model agents get their answers from the journal.

        Raises:
            UnknownRun: If no run of that id has ended in this journal.
            NotInThisVersion: If this team is in memory.
        """
        return await replay(_in_file(self._engine.database, "replay"), run_id)


def _in_file(db: Path | None, what: str) -> Path:
    if db is None:
        raise NotInThisVersion(f"{what} of a team in memory", "give it a store: DynamicSupervisor(…, store='team.db')")
    return db


def _forked(db: Path, path: Path, at_seq: int | None, step: tuple[str, str] | None, output: JsonValue) -> Fork:
    changed = None
    if step is not None:
        with Reader(db) as reader:
            changed = ChangedStep(step_named(reader, *step), output)
    elif output is not None:
        raise Refused("output is that of a step: name it with step=(task, key)")
    return fork(db, path, at_seq=at_seq, changed=changed)
