"""Removing an agent: what becomes of what it does and of what waits for it."""

from collections.abc import Iterable
from typing import Literal, cast

from textual.widget import Widget

from dashboard.screens.dialog import Answer, Choices, Dialog, Told
from dashboard.views.rows import Cell
from dashboard.views.specs import its_work
from engine.core.commands import RemoveMember
from engine.core.queries.targets import at

MODES = (
    ("drain", "drain", "it ends what it has begun, takes nothing new, then goes"),
    ("requeue", "requeue", "its attempts stop at their next step, its tasks go to others"),
    ("abort", "abort", "its attempts stop now, its tasks go to others"),
)


class RemoveDialog(Dialog):
    """Ask how an agent leaves."""

    CSS_PATH = "remove.tcss"
    DOES = "Remove"

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self._agent_id = agent_id

    def title_line(self) -> str:
        return f"Remove agent {self.deck.glimpse.state.agents[self._agent_id].name}"

    def inside(self) -> Iterable[Widget]:
        yield Told(id="told")
        yield Choices(id="choices")

    def begin(self) -> None:
        glimpse = self.deck.glimpse
        agent = glimpse.state.agents[self._agent_id]
        self.query_one(Told).show([Cell(its_work(agent, glimpse.state), "", "its work: ")])
        choices = self.query_one(Choices)
        choices.offer(MODES)
        choices.focus()

    def answer(self) -> Answer:
        mode = cast(Literal["drain", "requeue", "abort"], self.query_one(Choices).chosen)
        return RemoveMember(target=at(self._agent_id), mode=mode)
