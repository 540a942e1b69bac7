"""Actions that edit YAML: a new agent, another spec for one at work."""

from dashboard import dialogs
from dashboard.actions.action import Action, ActionScreen, CommandLine, agents, supervisors
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.targets import find_agent


def _edit(screen: ActionScreen, line: CommandLine) -> None:
    target = screen.require_target(line.word(), find_agent)
    if target is not None and target.kind == "supervisor":
        hint = fill_keys("<new-agent:N> makes a new agent under it, <set:o> changes its settings")
        screen.warn(f"{target.label} has no spec; {hint}")
        return
    agent_id = screen.require_agent(line.word()) if target is not None else None
    if agent_id is not None:
        screen.show_dialog(dialogs.edit.EditDialog(agent_id, screen.state.agents[agent_id].supervisor_id))


def _new(screen: ActionScreen, line: CommandLine) -> None:
    supervisor_id, _ = screen.require_supervisor(line.word())
    if supervisor_id is not None:
        screen.show_dialog(dialogs.edit.NewAgentDialog(supervisor_id))


SPECS = (
    Action(
        name="edit",
        key="e",
        run=_edit,
        writes=True,
        targets=agents,
        arguments="[AGENT]",
        key_help="edit the spec of an agent as YAML, here or in $EDITOR; a changed one is a swap",
        about="edit the spec of an agent as YAML",
    ),
    Action(
        name="new-agent",
        key="N",
        run=_new,
        writes=True,
        targets=supervisors,
        arguments="[SUPERVISOR]",
        key_help="write a new agent as YAML, under the supervisor under the cursor",
        about="write a new agent as YAML",
    ),
)
