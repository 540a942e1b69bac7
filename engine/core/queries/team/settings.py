"""The options of a supervisor after a command."""

from engine.core.commands import ChangeSupervisor
from engine.core.errors import Refused
from engine.core.queries.team.declared import OPTIONS
from engine.core.records.records import copy_with
from engine.core.specs.options import SupervisorOptions
from engine.core.state import Supervisor


def options_after(supervisor: Supervisor, command: ChangeSupervisor) -> SupervisorOptions:
    """Return the options of a supervisor after a command; raises Refused if it names one that does not exist."""
    options = supervisor.options if command.options is None else _options_after(supervisor.options, command)
    if command.discovery is None:
        return options
    config = options.discovery or supervisor.discovery
    return copy_with(options, discovery=command.discovery.applied_to(config))


def _options_after(options: SupervisorOptions, command: ChangeSupervisor) -> SupervisorOptions:
    assert command.options is not None
    if not command.exactly:
        return overlay(options, command.options)
    if command.fields is None:
        return command.options
    unknown = next((name for name in command.fields if name not in OPTIONS), None)
    if unknown is not None:
        raise Refused(f"there is no option {unknown!r} of a supervisor")
    return copy_with(options, **{name: getattr(command.options, name) for name in command.fields})


def overlay(options: SupervisorOptions, by: SupervisorOptions) -> SupervisorOptions:
    """Return `options` overlaid with the values of `by` that are neither None nor empty."""
    values = {name: getattr(by, name) for name in OPTIONS}
    return copy_with(options, **{name: value for name, value in values.items() if value not in (None, (), {})})
