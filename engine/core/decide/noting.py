"""A scratch that also writes down what is changed, member by member, for a person to read."""

from collections.abc import Sequence
from typing import Literal

from engine.core.context import Context
from engine.core.decide.scratch import Scratch
from engine.core.declared import as_json
from engine.core.fact import names
from engine.core.hierarchy import above_of
from engine.core.spec import AgentSpec
from engine.core.state import Agent, State, Supervisor
from engine.core.team_plan import Change, ChangeKind, Difference


class Noted(Scratch):
    """What has been decided so far, the state that it leads to, and the same in notes.

    Attributes:
        changes: What happens, and what is left as it is although it is described otherwise.
    """

    def __init__(self, state: State, ctx: Context) -> None:
        super().__init__(state, ctx)
        self.changes: list[Change] = []

    def note(
        self,
        change: ChangeKind,
        member_id: str | None,
        *,
        path: str | None = None,
        to: str | None = None,
        fields: Sequence[Difference] = (),
        since: Literal["declared", "current"] | None = None,
        subject: Literal["agent", "supervisor"] | None = None,
    ) -> None:
        """Write down a change; its member is in the state, or `path` and `subject` say which one it would be."""
        is_agent = member_id in self.state.agents
        self.changes.append(
            Change(
                change=change,
                subject=subject or ("agent" if is_agent else "supervisor"),
                id=member_id,
                path=path or self.path_of(member_id or ""),
                to=to,
                fields=list(fields),
                since=since,
            )
        )

    def live(self, member_id: str) -> Agent | Supervisor:
        """Return a member by its id."""
        return self.state.agents.get(member_id) or self.state.supervisors[member_id]

    def path_of(self, member_id: str) -> str:
        """Return the names from the root down to a member."""
        member = self.live(member_id)
        names = [] if isinstance(member, Supervisor) else [member.name]
        above = member if isinstance(member, Supervisor) else self.state.supervisors[member.supervisor_id]
        return "/".join([*names, *(one.name for one in above_of(self.state, above))][::-1])


def differences(was: AgentSpec, now: AgentSpec) -> list[Difference]:
    """Return the fields in which two specs differ, besides the name."""
    return [
        Difference(field=name, was=as_json(getattr(was, name)), now=as_json(getattr(now, name)))
        for name in names(AgentSpec)
        if name != "name" and getattr(was, name) != getattr(now, name)
    ]
