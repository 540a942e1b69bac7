"""Inverses of commands, made from the state before the command.

An inverse is valid while `left_by` returns the same values as right after the command. It names objects by id, because
a name may be reused meanwhile.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from engine.core import commands
from engine.core.commands import Command
from engine.core.errors import Refused
from engine.core.queries.targets import at, find_agent, find_any, find_member, find_supervisor, find_work
from engine.core.queries.team.settings import options_after
from engine.core.queries.team.tree import parent_id_of, tasks_of
from engine.core.records.records import JsonValue, changed, names
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import spec_hash
from engine.core.state import NO_CODE, Agent, Run, RunSummary, State, Supervisor, Task, timer_id

_OWN = ("max_parallel", "max_agents")
"""Settings that a command has beside the options."""
ID_LEAST = 4
"""Characters of an id that have to be written at least."""


def inverse_of(state: State, command: Command) -> Command | None:
    """Return the inverse of `command`, which is about to be carried out on `state`; None if there is none."""
    make = INVERSES.get(type(command))
    return None if make is None else make(state, command)


def left_by(state: State, inverse: Command) -> JsonValue:
    """Return the current value of what an inverse would change; None if its object is gone."""
    try:
        found: JsonValue = _LEFT[type(inverse)](state, inverse)
    except Refused:
        return None
    return found


def whole_id(state: State, written: str) -> str:
    """Return the id of the command that a person means: those that can be undone go before others.

    Raises:
        Refused: If several ids begin so.
    """
    for known in (state.undoable, state.commands):
        if written in known:
            return written
    for known in (state.undoable, state.commands):
        found = [one for one in known if one.startswith(written)] if len(written) >= ID_LEAST else []
        if len(found) > 1:
            raise Refused(f"{len(found)} commands have an id that begins with {written!r}; write more of it")
        if found:
            return found[0]
    return written


def as_json(inverse: Command | None) -> JsonValue:
    """Return an inverse as JSON for the journal."""
    return None if inverse is None else _json(inverse)


def _json(value: Any) -> JsonValue:
    """Return a value as it is read from JSON again: tuples as lists."""
    found: JsonValue = msgspec.json.decode(msgspec.json.encode(value))
    return found


def as_command(inverse: JsonValue) -> Command:
    """Return an inverse that was read from the journal."""
    assert isinstance(inverse, dict)
    made: Command = msgspec.convert(inverse, _BY_TYPE[str(inverse["type"])])
    return made


def _swap(state: State, command: commands.SwapAgent | commands.Rollback) -> commands.Rollback:
    """Name the spec: after a rollback, the one of the previous generation is not the one before the change."""
    agent = find_agent(state, command.agent)
    return commands.Rollback(agent=at(agent.id), mode=command.mode, to=agent.spec)


def _swaps(state: State, command: commands.SwapAgents) -> commands.RollbackAgents:
    return commands.RollbackAgents(rollbacks=[_swap(state, one) for one in command.swaps])


def _rollbacks(state: State, command: commands.RollbackAgents) -> commands.RollbackAgents:
    return commands.RollbackAgents(rollbacks=[_swap(state, one) for one in command.rollbacks])


def _pause(state: State, command: commands.Pause) -> commands.Resume:
    return commands.Resume(target=at(find_any(state, command.target).id))


def _resume(state: State, command: commands.Resume) -> commands.Pause | None:
    """Return None if the command also cleared an error or a circuit, which cannot be restored."""
    found = find_any(state, command.target)
    if not isinstance(found, Run | Agent | Supervisor) or not found.paused:
        return None
    is_in_trouble = not isinstance(found, Run) and found.error is not None
    shut = isinstance(found, Agent) and found.circuit != "closed"
    return None if is_in_trouble or shut else commands.Pause(target=at(found.id))


def _priority(state: State, command: commands.SetPriority) -> commands.SetPriority | None:
    """Return None if the tasks had several priorities, which one command cannot restore."""
    found = find_work(state, command.target)
    priority = _one_priority(state, found)
    return None if priority is None else commands.SetPriority(target=found.id, priority=priority)


def _one_priority(state: State, found: Run | Task | RunSummary) -> int | None:
    """Return the priority of all open work of a run or task, groups included; None if parts of it have others."""
    if isinstance(found, RunSummary):
        return None
    others = any(task.priority != found.priority for task in tasks_of(state, found) if not task.ended)
    return None if others else found.priority


def _deadline(state: State, command: commands.SetDeadline) -> commands.SetDeadline:
    found = find_work(state, command.target)
    return commands.SetDeadline(target=found.id, due_ms=_due_ms(state, found))


def _due_ms(state: State, found: Run | Task | RunSummary) -> int | None:
    """Return the due time of an object's own deadline."""
    whole = state.runs.get(found.run_id) if isinstance(found, Task) and found.parent_id is None else found
    timer = None if whole is None else state.timers.get(timer_id("deadline", whole.id))
    return None if timer is None else timer.due_ms


def _move(state: State, command: commands.Move) -> commands.Move | None:
    member = find_member(state, command.target)
    parent_id = parent_id_of(member)
    if parent_id is None:
        return None  # a supervisor on top cannot be moved back there
    place = state.supervisors[parent_id].members.index(member.id)
    return commands.Move(target=at(member.id), parent=at(parent_id), place=place)


def _settings(state: State, command: commands.ChangeSupervisor) -> commands.ChangeSupervisor:
    """Name the settings that the command changes alone: the others may change before it is undone."""
    supervisor = find_supervisor(state, command.supervisor)
    before, options = supervisor.options, command.options
    after = before if options is None else options_after(before, command)
    fields = [name for name in names(SupervisorOptions) if getattr(before, name) != getattr(after, name)]
    own = {
        name: getattr(supervisor, name)
        for name in _OWN
        if getattr(command, name) not in (None, getattr(supervisor, name))
    }
    return commands.ChangeSupervisor(
        supervisor=at(supervisor.id),
        options=SupervisorOptions(**{name: getattr(before, name) for name in fields}) if fields else None,
        exactly=True,
        fields=fields,
        **own,
    )


def _capabilities(state: State, command: commands.ChangeCapabilities) -> commands.ChangeCapabilities:
    """Add what goes again, each word before the one that stays behind it, and remove what comes."""
    agent = find_agent(state, command.agent)
    specialties = state.spec_of(agent).specialties
    has = {word.casefold() for word in specialties}
    add, remove = (
        list(dict.fromkeys(" ".join(one.split()) for one in words)) for words in (command.add, command.remove)
    )
    going = {word.casefold() for word in remove}
    goes = [word.casefold() in going for word in specialties]
    return commands.ChangeCapabilities(
        agent=at(agent.id),
        add=[word for place, word in enumerate(specialties) if any(goes[max(0, place - 1) : place + 1])],
        remove=[word for word in add if word.casefold() not in has],
    )


def _undo(state: State, command: commands.Undo) -> Command | None:
    """Return the inverse of the undo, which repeats the original command."""
    command_id = whole_id(state, command.command_id) if command.command_id else next(reversed(state.undoable), "")
    found = state.undoable.get(command_id)
    inverse = None if found is None else as_command(found.inverse)
    if isinstance(inverse, commands.Resume):
        return commands.Pause(target=inverse.target)  # it takes back the pause alone, and mends nothing
    return None if inverse is None else inverse_of(state, inverse)


INVERSES: dict[type, Callable[[State, Any], Command | None]] = {
    commands.SwapAgent: _swap,
    commands.SwapAgents: _swaps,
    commands.Rollback: _swap,
    commands.RollbackAgents: _rollbacks,
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


def _specs(state: State, inverse: commands.RollbackAgents) -> JsonValue:
    return [_spec(state, one) for one in inverse.rollbacks]


def _is_paused(state: State, inverse: commands.Pause | commands.Resume) -> JsonValue:
    found = find_any(state, inverse.target)
    return found.paused if isinstance(found, Run | Agent | Supervisor) else None


def _priorities(state: State, inverse: commands.SetPriority) -> JsonValue:
    return _one_priority(state, find_work(state, inverse.target))


def _place(state: State, inverse: commands.Move) -> JsonValue:
    return parent_id_of(find_member(state, inverse.target))


def _set(state: State, inverse: commands.ChangeSupervisor) -> JsonValue:
    supervisor = find_supervisor(state, inverse.supervisor)
    if inverse.fields is None:  # of an earlier version, which took all settings together
        return _json([supervisor.options, supervisor.max_parallel, supervisor.max_agents])
    options = {name: getattr(supervisor.options, name) for name in inverse.fields}
    return _json(options | {name: getattr(supervisor, name) for name in _OWN if getattr(inverse, name) is not None})


def _able(state: State, inverse: commands.ChangeCapabilities) -> JsonValue:
    """Return which words of the inverse the agent has."""
    has = {word.casefold() for word in state.spec_of(find_agent(state, inverse.agent)).specialties}
    return {word: word.casefold() in has for word in (*inverse.add, *inverse.remove)}


def _due(state: State, inverse: commands.SetDeadline) -> JsonValue:
    found = find_work(state, inverse.target)
    return None if isinstance(found, RunSummary) else [_due_ms(state, found)]


def _spec(state: State, inverse: commands.Rollback) -> JsonValue:
    return _spec_and_code(state, find_agent(state, inverse.agent))


def _spec_and_code(state: State, agent: Agent) -> JsonValue:
    """Return what an agent is, whatever its name: its generation also counts the changes that were undone."""
    spec = state.spec_of(agent).with_name("x")
    is_now = changed(spec, specialties=tuple(sorted(spec.specialties)))
    return [spec_hash(is_now), state.code.get(agent.id, NO_CODE)[0]]


_LEFT: dict[type, Callable[[State, Any], JsonValue]] = {
    commands.Rollback: _spec,
    commands.RollbackAgents: _specs,
    commands.Pause: _is_paused,
    commands.Resume: _is_paused,
    commands.SetPriority: _priorities,
    commands.SetDeadline: _due,
    commands.Move: _place,
    commands.ChangeSupervisor: _set,
    commands.ChangeCapabilities: _able,
}
_BY_TYPE: dict[str, Any] = {str(one.type): one for one in _LEFT}  # type: ignore[attr-defined]
