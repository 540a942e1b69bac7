"""Inverses of commands, made from the state before the command.

An inverse is valid while `current_value_of` returns the same values as right after the command. It names objects by id,
because a name may be reused meanwhile.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.core import commands
from engine.core.commands import Command
from engine.core.errors import Refused
from engine.core.queries.targets import find_agent, find_any, find_member, find_supervisor, find_work, id_target
from engine.core.queries.team.settings import options_after
from engine.core.queries.team.tree import parent_id_of, tasks_of
from engine.core.records.records import JsonValue, copy_with, field_names
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import spec_hash
from engine.core.state import NO_CODE_HASHES, Agent, Run, RunSummary, State, Supervisor, Task, timer_id

_OWN_SETTINGS = ("max_parallel", "max_agents", "auto_discover")
"""Settings that `ChangeSupervisor` has in addition to the options."""
MIN_ID_CHARS = 4
"""Smallest length of a prefix of an id."""


def inverse_of(state: State, command: Command) -> Command | None:
    """Return the inverse of `command`, which is about to be carried out on `state`; None if there is none."""
    make = INVERSES.get(type(command))
    return None if make is None else make(state, command)


def current_value_of(state: State, inverse: Command) -> JsonValue:
    """Return the current value of what an inverse would change; None if its object is gone."""
    try:
        value: JsonValue = _VALUE_READERS[type(inverse)](state, inverse)
    except Refused:
        return None
    return value


def complete_id(state: State, prefix: str) -> str:
    """Return the only command id that begins with `prefix`, undoable commands first; `prefix` itself if none does.

    Raises:
        Refused: If several ids begin with it.
    """
    if prefix in state.undoable or prefix in state.commands or len(prefix) < MIN_ID_CHARS:
        return prefix
    for commands_by_id in (state.undoable, state.commands):
        matching_ids = [command_id for command_id in commands_by_id if command_id.startswith(prefix)]
        if len(matching_ids) > 1:
            raise Refused(f"{len(matching_ids)} commands have an id that begins with {prefix!r}; write more of it")
        if matching_ids:
            return matching_ids[0]
    return prefix


def as_json(inverse: Command | None) -> JsonValue:
    """Return an inverse as JSON for the journal."""
    return None if inverse is None else _json(inverse)


def _json(value: Any) -> JsonValue:
    """Return a value after a round trip through JSON: tuples become lists."""
    plain_value: JsonValue = msgspec.json.decode(msgspec.json.encode(value))
    return plain_value


def as_command(inverse: JsonValue) -> Command:
    """Return an inverse that was read from the journal."""
    assert isinstance(inverse, dict)
    command: Command = msgspec.convert(inverse, _BY_TYPE[str(inverse["type"])])
    return command


def _swap(state: State, command: commands.SwapAgent | commands.Rollback) -> commands.Rollback | None:
    """Return a rollback to the present spec by its hash: after a rollback, the previous spec is another one.

    A swap for the same spec has none: it only takes up changed code, and the old code is gone.
    """
    agent = find_agent(state, command.agent)
    if isinstance(command, commands.SwapAgent) and command.spec == state.spec_of(agent):
        return None
    return commands.Rollback(agent=id_target(agent.id), mode=command.mode, to=agent.spec)


def _swaps(state: State, command: commands.SwapAgents | commands.RollbackAgents) -> commands.RollbackAgents | None:
    swaps = command.swaps if isinstance(command, commands.SwapAgents) else command.rollbacks
    rollbacks = [rollback for swap in swaps if (rollback := _swap(state, swap)) is not None]
    return commands.RollbackAgents(rollbacks=rollbacks) if rollbacks else None


def _pause(state: State, command: commands.Pause) -> commands.Resume | None:
    """Return None if the command only hurried a pause."""
    target = find_any(state, command.target)
    is_hurried = isinstance(target, Run | Agent | Supervisor) and target.paused
    return None if is_hurried else commands.Resume(target=id_target(target.id))


def _resume(state: State, command: commands.Resume) -> commands.Pause | None:
    """Return None if the command also cleared an error or a circuit, which cannot be restored."""
    target = find_any(state, command.target)
    if not isinstance(target, Run | Agent | Supervisor) or not target.paused:
        return None
    is_in_trouble = not isinstance(target, Run) and target.error is not None
    is_shut = isinstance(target, Agent) and target.circuit != "closed"
    return None if is_in_trouble or is_shut else commands.Pause(target=id_target(target.id))


def _priority(state: State, command: commands.SetPriority) -> commands.SetPriority | None:
    """Return None if the tasks had several priorities, which one command cannot restore."""
    work = find_work(state, command.target)
    priority = _common_priority(state, work)
    return None if priority is None else commands.SetPriority(target=work.id, priority=priority)


def _common_priority(state: State, work: Run | Task | RunSummary) -> int | None:
    """Return the priority of all open work of a run or task, groups included; None if parts of it have others."""
    if isinstance(work, RunSummary):
        return None
    has_others = any(task.priority != work.priority for task in tasks_of(state, work) if not task.ended)
    return None if has_others else work.priority


def _deadline(state: State, command: commands.SetDeadline) -> commands.SetDeadline:
    work = find_work(state, command.target)
    return commands.SetDeadline(target=work.id, due_ms=_due_ms(state, work))


def _due_ms(state: State, work: Run | Task | RunSummary) -> int | None:
    """Return the due time of an object's own deadline."""
    owner = state.runs.get(work.run_id) if isinstance(work, Task) and work.parent_id is None else work
    timer = None if owner is None else state.timers.get(timer_id("deadline", owner.id))
    return None if timer is None else timer.due_ms


def _move(state: State, command: commands.Move) -> commands.Move | None:
    member = find_member(state, command.target)
    parent_id = parent_id_of(member)
    if parent_id is None:
        return None  # no command makes a supervisor a root again
    place = state.supervisors[parent_id].members.index(member.id)
    return commands.Move(target=id_target(member.id), parent=id_target(parent_id), place=place)


def _settings(state: State, command: commands.ChangeSupervisor) -> commands.ChangeSupervisor:
    """Return the inverse for exactly the settings that the command changes: others may change before it is undone."""
    supervisor = find_supervisor(state, command.supervisor)
    before, after = supervisor.options, options_after(supervisor, command)
    fields = [name for name in field_names(SupervisorOptions) if getattr(before, name) != getattr(after, name)]
    own = {
        name: getattr(supervisor, name)
        for name in _OWN_SETTINGS
        if getattr(command, name) not in (None, getattr(supervisor, name))
    }
    return commands.ChangeSupervisor(
        supervisor=id_target(supervisor.id),
        options=SupervisorOptions(**{name: getattr(before, name) for name in fields}) if fields else None,
        exactly=True,
        fields=fields,
        **own,
    )


def _capabilities(state: State, command: commands.ChangeCapabilities) -> commands.ChangeCapabilities:
    """Return the inverse; it adds each removed word together with the word after it, which gives its place."""
    agent = find_agent(state, command.agent)
    specialties = state.spec_of(agent).specialties
    present_words = {word.casefold() for word in specialties}
    removed_words = {" ".join(word.split()).casefold() for word in command.remove}
    is_removed = [word.casefold() in removed_words for word in specialties]
    added_words = list(dict.fromkeys(" ".join(word.split()) for word in command.add))
    return commands.ChangeCapabilities(
        agent=id_target(agent.id),
        add=[word for index, word in enumerate(specialties) if any(is_removed[max(0, index - 1) : index + 1])],
        remove=[word for word in added_words if word.casefold() not in present_words],
    )


def _undo(state: State, command: commands.Undo) -> Command | None:
    """Return the inverse of the undo, which repeats the original command."""
    command_id = complete_id(state, command.command_id) if command.command_id else next(reversed(state.undoable), "")
    undoable = state.undoable.get(command_id)
    inverse = None if undoable is None else as_command(undoable.inverse)
    if isinstance(inverse, commands.Resume):
        return commands.Pause(target=inverse.target)  # the undo only ended the pause, and cleared no error
    return None if inverse is None else inverse_of(state, inverse)


INVERSES: dict[type, Callable[[State, Any], Command | None]] = {
    commands.SwapAgent: _swap,
    commands.SwapAgents: _swaps,
    commands.Rollback: _swap,
    commands.RollbackAgents: _swaps,
    commands.Pause: _pause,
    commands.Resume: _resume,
    commands.SetPriority: _priority,
    commands.SetDeadline: _deadline,
    commands.Move: _move,
    commands.ChangeSupervisor: _settings,
    commands.ChangeCapabilities: _capabilities,
    commands.Undo: _undo,
}
"""The function that makes the inverse, by class of command."""


IRREVOCABLE = frozenset(
    str(command_type.type)  # type: ignore[attr-defined]
    for command_type in (
        *(command_type for command_type in INVERSES if command_type is not commands.Undo),
        commands.Abort,
        commands.AddAgent,
        commands.AddSupervisor,
        commands.Cancel,
        commands.Reassign,
        commands.RemoveMember,
        commands.ReplaceTeam,
        commands.RetryWork,
        commands.SwitchStrategy,
    )
)
"""Types of commands that change the team or end work: one of these without an inverse stops an undo without an id.

Requests, answers and messages do not: they change nothing that was, and come all the time.
"""


def _specs(state: State, inverse: commands.RollbackAgents) -> JsonValue:
    return [_spec(state, rollback) for rollback in inverse.rollbacks]


def _is_paused(state: State, inverse: commands.Pause | commands.Resume) -> JsonValue:
    target = find_any(state, inverse.target)
    return target.paused if isinstance(target, Run | Agent | Supervisor) else None


def _place(state: State, inverse: commands.Move) -> JsonValue:
    return parent_id_of(find_member(state, inverse.target))


def _current_settings(state: State, inverse: commands.ChangeSupervisor) -> JsonValue:
    supervisor = find_supervisor(state, inverse.supervisor)
    if inverse.fields is None:  # journaled by an earlier version, which undid all settings together
        return _json([supervisor.options, supervisor.max_parallel, supervisor.max_agents])
    options = {name: getattr(supervisor.options, name) for name in inverse.fields}
    own = {name: getattr(supervisor, name) for name in _OWN_SETTINGS if getattr(inverse, name) is not None}
    return _json(options | own)


def _words_present(state: State, inverse: commands.ChangeCapabilities) -> JsonValue:
    """Return which words of the inverse the agent has."""
    present_words = {word.casefold() for word in state.spec_of(find_agent(state, inverse.agent)).specialties}
    return {word: word.casefold() in present_words for word in (*inverse.add, *inverse.remove)}


def _current_due(state: State, inverse: commands.SetDeadline) -> JsonValue:
    work = find_work(state, inverse.target)
    return None if isinstance(work, RunSummary) else [_due_ms(state, work)]


def _spec(state: State, inverse: commands.Rollback) -> JsonValue:
    return _spec_and_code(state, find_agent(state, inverse.agent))


def _spec_and_code(state: State, agent: Agent) -> JsonValue:
    """Return the hashes of an agent's spec without its name, and of its code.

    Not the generation: it also counts the changes that were undone.
    """
    spec = state.spec_of(agent).with_name("x")
    normalized_spec = copy_with(spec, specialties=tuple(sorted(spec.specialties)))
    return [spec_hash(normalized_spec), state.code.get(agent.id, NO_CODE_HASHES)[0]]


_VALUE_READERS: dict[type, Callable[[State, Any], JsonValue]] = {
    commands.Rollback: _spec,
    commands.RollbackAgents: _specs,
    commands.Pause: _is_paused,
    commands.Resume: _is_paused,
    commands.SetPriority: lambda state, inverse: _common_priority(state, find_work(state, inverse.target)),
    commands.SetDeadline: _current_due,
    commands.Move: _place,
    commands.ChangeSupervisor: _current_settings,
    commands.ChangeCapabilities: _words_present,
}
_BY_TYPE: dict[str, Any] = {str(command_type.type): command_type for command_type in _VALUE_READERS}  # type: ignore[attr-defined]
