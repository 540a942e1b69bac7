"""A supervisor of a team that works in another process: the same calls, by way of the team's file, without its code."""

import os
from pathlib import Path

from engine.core.errors import Refused
from engine.core.queries.targets import find_supervisor
from engine.errors import CommandRefusedError
from engine.supervisor.changes import Changes
from engine.supervisor.coordination import Coordination
from engine.supervisor.duties import Duties
from engine.supervisor.remote import RemoteEngine
from engine.supervisor.requests import Requests
from engine.supervisor.views import Views


class AttachedSupervisor(Requests, Duties, Changes, Coordination, Views):
    """One supervisor of a team that works elsewhere; made by `DynamicSupervisor.attach`.

    What it shows is as of the last awaited call. Specs that it gives name code by reference, `module:function`; to
    name it here is to trust it there. It is used from one event loop at a time; attach in each thread that needs one.

    Raises:
        StoreError: If there is no database of ours.
        CommandRefusedError: If the team has no such supervisor.
    """

    def __init__(self, path: str | os.PathLike[str], supervisor: str | None = None) -> None:
        self._engine = RemoteEngine(Path(path))
        state = self._engine.state
        try:
            found = find_supervisor(state, supervisor)
        except Refused as refusal:
            raise CommandRefusedError(refusal.code, refusal.reason) from refusal
        self._id = found.id
        names = [found.name]
        while found.parent_id is not None:
            found = state.supervisors[found.parent_id]
            names.append(found.name)
        self._path = tuple(reversed(names))

    @property
    def _line(self) -> RemoteEngine:  # type: ignore[override]  # a line is a line
        return self._engine

    async def refresh(self) -> None:
        """Read what happened since the last call."""
        await self._engine.refresh()
