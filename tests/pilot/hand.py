"""A hand on the keys of a dashboard whose team stands still."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from dashboard.app.app import QuarterdeckApp
from dashboard.dialogs.dialog import Dialog
from dashboard.frame.frame import Frame
from dashboard.user.habits import Habits
from dashboard.user.settings import Settings
from dashboard.views.changes.bulk import Bulk
from dashboard.views.event_log import Entry
from dashboard.widgets.pane import Pane
from dashboard.widgets.table import Table
from engine.core.commands import Command
from engine.supervisor.client import CommandReply
from tests.pilot.rest import at_rest
from tests.pilot.scene import NOW_MS, StillFeed, audit, write
from tests.world import World


def shown(tmp_path: Path) -> QuarterdeckApp:
    """Return the dashboard of a team at work."""
    db = tmp_path / "team.db"
    return QuarterdeckApp(db, feed=StillFeed(db, audit(idle=40)), clock=lambda: NOW_MS)


class Ordering(QuarterdeckApp):
    """Keeps what it was asked to send; nobody is there to take it."""

    def __init__(self, db: Path, **said: object) -> None:
        self.orders: list[Command] = []
        self.says: list[str] = []
        """All messages so far: the one that is shown may be that of a read in the background."""
        self._then: Callable[[CommandReply], None] | None = None
        super().__init__(db, **said)  # type: ignore[arg-type]
        self._keep_orders()

    def _keep_orders(self) -> None:
        say, send, send_all = self.messages.say, self.commands.send, self.commands.send_all

        def keep_text(text: str, tone: str = "") -> None:
            self.says.append(text)
            say(text, tone)

        def keep_command(
            command: Command | None, receive: Callable[[CommandReply], None] | None = None, **said: Any
        ) -> None:
            if command is not None:
                self.orders.append(command)
                self._then = receive
            send(command, receive, **said)

        def keep_commands(bulk: Bulk, commands: Sequence[Command], **said: Any) -> None:
            self.orders += commands
            send_all(bulk, commands, **said)

        self.messages.say = keep_text  # type: ignore[method-assign]
        self.commands.send, self.commands.send_all = keep_command, keep_commands  # type: ignore[method-assign]

    def refuse(self, reason: str) -> None:
        """Let the last command be refused, as an engine would that was asked later."""
        assert self._then is not None
        self._then(CommandReply(command_id="c", status="refused", reason=reason))


class Hand:
    """The app, its clock and what can be seen of it."""

    def __init__(self, app: "Ordering", pilot: Pilot[int], work: World, clock: list[int]) -> None:
        self.app, self.pilot, self.work, self.clock = app, pilot, work, clock

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await at_rest(self.pilot)

    async def meanwhile(self, command: Command) -> None:
        """Let somebody else give a command."""
        seq = self.work.state.seq
        happened = self.work.order(command)
        entries = (Entry(at, event.at_ms, event.type, event) for at, event in enumerate(happened, seq + 1))
        self.app.feed.recent.extend(entries)
        self.app.feed.names.learn(happened)
        self.clock[0] += 1_000
        self.app.flush()
        await self.press()

    @property
    def ordered(self) -> Command:
        """The last command."""
        return self.app.orders[-1]

    @property
    def table(self) -> Table:
        return self.app.screen.query_one("#body", Table)

    @property
    def said(self) -> str:
        return self.app.messages.current.text if self.app.messages.current is not None else ""

    @property
    def place(self) -> str:
        assert isinstance(self.app.screen, Frame)
        return self.app.screen.PLACE

    @property
    def chosen(self) -> str:
        key = self.table.selected or ""
        state = self.app.feed.state
        return state.agents[key].name if key in state.agents else state.supervisors[key].name

    @property
    def dialog(self) -> Dialog:
        assert isinstance(self.app.screen, Dialog), self.app.screen
        return self.app.screen

    def told(self, name: str) -> str:
        """What a paragraph of the dialog says."""
        return self.app.screen.query_one(f"#{name}", Pane).text

    @property
    def problem(self) -> str:
        """What the dialog says is wrong, in one line."""
        return " ".join(self.told("problem").split())

    def line(self, y: int) -> str:
        """A line of the table, without the sign of the cursor."""
        return "".join(segment.text for segment in self.table.render_line(y)).replace("▌", " ", 1)


@asynccontextmanager
async def opened(
    folder: Path,
    *,
    idle: int = 0,
    size: tuple[int, int] = (120, 36),
    work: World | None = None,
    settings: Settings | None = None,
    habits: Habits | None = None,
    readonly: bool = False,
) -> AsyncIterator[Hand]:
    """Open the dashboard on a team, by default the one that audits a library; its orders are kept in `Hand.orders`."""
    work, db, clock = work or audit(idle=idle), folder / "team.db", [NOW_MS]
    await write(db, work)
    app = Ordering(
        db, feed=StillFeed(db, work), clock=lambda: clock[0], settings=settings, habits=habits, readonly=readonly
    )
    async with app.run_test(size=size) as pilot:
        hand = Hand(app, pilot, work, clock)
        await hand.press()
        yield hand
