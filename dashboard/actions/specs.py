"""Actions that edit YAML: a new agent, another spec for one at work."""

from dashboard import dialogs
from dashboard.actions.action import (
    Action,
    ActionScreen,
    CommandLine,
    agents,
    require_agent,
    require_supervisor,
    require_target,
    show_dialog,
    supervisors,
)
from dashboard.views.words.keyed import fill_keys
from engine.core.queries.targets import find_agent


def _edit(screen: ActionScreen, line: CommandLine) -> None:
    target = require_target(screen, line.word(), find_agent)
    if target is not None and target.kind == "supervisor":
        hint = fill_keys("<new-agent:N> makes a new agent under it, <set:o> changes its settings")
        screen.deck.messages.warn(f"{target.label} has no spec; {hint}")
        return
    agent_id = require_agent(screen, line.word()) if target is not None else None
    if agent_id is not None:
        show_dialog(screen, dialogs.edit.EditDialog(agent_id, screen.state.agents[agent_id].supervisor_id))


def _new(screen: ActionScreen, line: CommandLine) -> None:
    supervisor_id, _ = require_supervisor(screen, line.word())
    if supervisor_id is not None:
        show_dialog(screen, dialogs.edit.NewAgentDialog(supervisor_id))


SPEC_ACTIONS = (
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
