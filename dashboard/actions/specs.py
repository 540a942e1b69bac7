"""Actions that edit YAML: a new agent, another spec for one at work."""

from dashboard import dialogs
from dashboard.actions.action import Acting, Action, Spoken, agents, supervisors
from dashboard.views.words.keyed import keyed
from engine.core.queries.targets import find_agent


def _edit(on: Acting, said: Spoken) -> None:
    target = on.asked(said.word(), find_agent)
    if target is not None and target.kind == "supervisor":
        told = keyed("<new-agent:N> makes a new agent under it, <set:o> changes its settings")
        on.warn(f"{target.said} has no spec; {told}")
        return
    agent_id = on.asked_agent(said.word()) if target is not None else None
    if agent_id is not None:
        on.ask(dialogs.edit.EditDialog(agent_id, on.state.agents[agent_id].supervisor_id))


def _new(on: Acting, said: Spoken) -> None:
    supervisor_id, _ = on.asked_supervisor(said.word())
    if supervisor_id is not None:
        on.ask(dialogs.edit.NewAgentDialog(supervisor_id))


SPECS = (
    Action(
        name="edit",
        key="e",
        does=_edit,
        writes=True,
        of=agents,
        arguments="[AGENT]",
        told="edit the spec of an agent as YAML, here or in $EDITOR; a changed one is a swap",
        says="edit the spec of an agent as YAML",
    ),
    Action(
        name="new-agent",
        key="N",
        does=_new,
        writes=True,
        of=supervisors,
        arguments="[SUPERVISOR]",
        told="write a new agent as YAML, under the supervisor under the cursor",
        says="write a new agent as YAML",
    ),
)
