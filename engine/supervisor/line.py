"""What a supervisor talks to its engine through: one in this process, or one behind a file."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol

from pydantic import JsonValue

from engine.core.commands import Command
from engine.core.events import Event
from engine.core.spec import AgentSpec
from engine.core.state import RunSummary, State
from engine.core.values import Held
from engine.host.orders import Applied
from engine.supervisor.posted import Make


class Line(Protocol):
    """An engine, as the calls of a supervisor see it."""

    @property
    def state(self) -> State:
        """The state as it is known here; for reading."""

    @property
    def is_running(self) -> bool:
        """True while an engine goes on by itself, whoever calls."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Have an engine for as long as the context is open.

        Raises:
            StoreError: If its files cannot be held.
            Unusable: If an agent that this program declares cannot work.
        """

    async def order(self, make: Make) -> Applied:
        """Give the command that `make` returns once the state is known; returns when its outcome is on disk.

        Raises:
            CommandRefusedError: If it was not carried out; nothing changed then.
        """

    def post(self, make: Make) -> None:
        """Give a command without waiting: it is carried out before anything that is asked later.

        Raises:
            CommandRefusedError: If it is clear at once that it would be refused.
        """

    async def run_ended(self, run_id: str) -> RunSummary:
        """Return the summary of a run once it has its outcome.

        Raises:
            UnknownRun: If there is none.
            HostStopped: If the engine ended first.
        """

    async def finished_run(self, run_id: str) -> RunSummary | None:
        """Return the summary of a run that has ended, however long ago; None where none of that id has."""

    async def refresh(self) -> None:
        """Learn what others have done to the team since the last call."""

    async def text(self, value: Held) -> JsonValue:
        """Return a value that the state holds by reference."""

    def events(self) -> AbstractContextManager[AsyncIterator[tuple[int, Event]]]:
        """Return the events from now on, each with its seq."""

    def check_whole(self) -> None:
        """Return when everybody is there whom the supervisors that this program describes name.

        Raises:
            CommandRefusedError: If somebody is missing.
        """

    @property
    def posted(self) -> list[Command]:
        """What was posted and is not carried out yet."""

    def is_ours(self, member_id: str) -> bool:
        """Tell whether a member was made or taken over by this program, and not only left by an earlier one."""

    def restored(self, spec: AgentSpec) -> AgentSpec:
        """Return `spec` with the callables of this program in place of their references."""
