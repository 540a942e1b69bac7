"""Operators of a simulation: every kind of command, mostly valid ones.

A command that is not in `SPECIAL` is drawn from the names and types of its fields, so that a new command takes part
without further code. Most operators ask the core first whether it would accept a command, and draw another if not.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from engine.core import commands
from engine.core.commands import COMMAND_KINDS, Command, Order
from engine.core.decide import decide
from engine.core.decisions.decision_context import DecisionContext
from engine.core.events import CommandRefused
from engine.core.queries.people.offers import references_offered
from engine.core.queries.targets import id_target
from engine.core.queries.team.code import references_in_command
from engine.core.records.records import copy_with, field_names
from engine.core.specs.limits import Limits
from engine.core.state import State, Supervisor
from engine.simulation.drawing import DRAW_BY_NAME, INVALID_SHARE, SKILLS, choose_name, draw_record, targets_of
from engine.simulation.teams import draw_chain, draw_mode, draw_options, draw_settings

LONG_TEXT = "a request that is longer than what the state keeps, so that it is read from the journal each time. " * 3
CONVERSATIONS = ("main", "side")
UNCHECKED_SHARE = 0.06
"""Share of commands that are sent without asking the core first."""
TRIES_PER_KIND = 6
"""How many commands of a kind are drawn before another kind is tried."""
EVICTION_SHARE = 0.7
"""Share of added agents that go to a full supervisor, if there is one."""
OTHER_KINDS = 3
"""How many other kinds are tried if no command of the first is accepted."""

WEIGHTS: dict[str, float] = {
    "submit": 8.0,
    "load_team": 0.2,
    "import_state": 0.02,
    "hand_over": 0.02,
    "answer": 1.0,
    "stop_engine": 0.15,
    "ping": 0.1,
    "remove_member": 0.4,
    "register_spec": 0.2,
    "unregister_spec": 0.2,
    "add_supervisor": 0.4,
    "replace_team": 0.4,
    "cancel": 0.6,
    "abort": 0.3,
    "remember": 0.6,
    "forget": 0.4,
    "create_agent": 0.5,
    "retire_recipes": 0.4,
    "undo": 0.7,
    "pause": 0.7,
    "resume": 1.5,
    "set_priority": 1.5,
    "reassign": 1.5,
}
"""Weights of kinds of commands; 1 for those that are not listed."""


def command_weights() -> dict[str, float]:
    """Return every kind of command with its weight."""
    return {kind: WEIGHTS.get(kind, 1.0) for kind in COMMAND_KINDS}


def choose_command(kind: str, draw: Random, state: State, number: int) -> Command | None:
    """Return a command of a kind that the core accepts, or of another; None without one; `number` makes it distinct."""
    if draw.random() < UNCHECKED_SHARE:
        return draw_command(kind, draw, state, number)
    others = [
        other_kind for other_kind, weight in command_weights().items() if weight >= 0.5 and other_kind != "submit"
    ]
    for candidate_kind in [kind] * TRIES_PER_KIND + draw.sample(others, OTHER_KINDS):
        command = draw_command(candidate_kind, draw, state, number)
        if command is not None and is_accepted(command, state):
            return command
    return None


def is_accepted(command: Command, state: State) -> bool:
    """Return whether the core would accept a command; commands that the shell decides count as accepted."""
    if isinstance(command, commands.HandOver | commands.ImportState):
        return True
    try:
        # As if the user trusted whom an answer lets in, which the shell looks up.
        granted = dict.fromkeys([*references_offered(state, command), *references_in_command(command)], "")
        order = Order(id="looked", command=command, granted=granted)
        events = decide(state, order, DecisionContext(now_ms=state.at_ms, jitter=0.5))
    except Exception:  # the engine runs into it too, where a law notices
        return True
    return not isinstance(events[-1], CommandRefused)


def draw_command(kind: str, draw: Random, state: State, number: int) -> Command | None:
    """Return a random command of a kind about the state; None if it is invalid; `number` makes requests distinct."""
    special = SPECIAL.get(kind)
    try:
        if special is not None:
            return special(draw, state, number)
        command: Command = draw_record(COMMAND_KINDS[kind], draw, state)
    except ValueError:
        return None
    return command


def _submit(draw: Random, state: State, number: int) -> Command:
    skills = sorted({word for spec in state.specs.values() for word in spec.specialties}) or list(SKILLS)
    words = " and ".join(draw.sample(skills, min(len(skills), draw.randint(1, 2))))
    request: Any = f"request {number}: {words}"
    if draw.random() < 0.15:
        request = draw.choice([f"{request} {LONG_TEXT}", {"title": f"request {number}", "about": words}])
    if draw.random() < INVALID_SHARE:
        request = ""
    supervisor = DRAW_BY_NAME["supervisor"](draw, state) if draw.random() < 0.4 else None
    if _wants_list(state, supervisor) and draw.random() < 0.9:
        request = [f"{request}, item {place}" for place in range(draw.randint(0, 6))]
    return commands.Submit(
        request=request,
        supervisor=supervisor,
        on_failure=list(draw_chain(draw)) if draw.random() < 0.25 else [],
        priority=DRAW_BY_NAME["priority"](draw, state) if draw.random() < 0.6 else None,
        deadline_s=DRAW_BY_NAME["deadline_s"](draw, state) if draw.random() < 0.2 else None,
        limits=draw_record(Limits, draw, state, omission_share=0.8) if draw.random() < 0.15 else None,
        category=_category(draw, state, supervisor) if draw.random() < 0.15 else None,
        after=DRAW_BY_NAME["after"](draw, state) if draw.random() < 0.2 else [],
        conversation=draw.choice(CONVERSATIONS) if draw.random() < 0.4 else None,
    )


def _wants_list(state: State, supervisor: str | None) -> bool:
    """Return whether the supervisor of the request makes one task for each item of a list."""
    receiver = _receiver(state, supervisor)
    return receiver is not None and receiver.mode == "map"


def _category(draw: Random, state: State, supervisor: str | None) -> str | None:
    """Return a category for which the supervisor of the request has a strategy; sometimes any other."""
    receiver = _receiver(state, supervisor)
    categories = [] if receiver is None else list(receiver.options.strategies)
    return draw.choice(SKILLS) if draw.random() < INVALID_SHARE else draw.choice(categories) if categories else None


def _receiver(state: State, supervisor: str | None) -> Supervisor | None:
    return next(
        (candidate for candidate in state.supervisors.values() if supervisor in (None, *targets_of(state, candidate))),
        None,
    )


def _stop_engine(draw: Random, state: State, number: int) -> Command:
    return commands.StopEngine(token=draw.choice([None, None, 1]))


def _switch_strategy(draw: Random, state: State, number: int) -> Command:
    command: commands.SwitchStrategy = draw_record(commands.SwitchStrategy, draw, state)
    supervisor = _some_supervisor(draw, state)
    mode = draw_mode(draw)
    values = {name: getattr(command, name) for name in field_names(commands.SwitchStrategy)}
    if supervisor is not None and draw.random() > INVALID_SHARE:
        members, agents = member_names(state, supervisor)
        lead = draw.choice([None, *agents]) if mode != "delegate" or not agents else draw.choice(agents)
        settings = draw_settings(draw, mode, members)
        values |= {
            "supervisor": id_target(supervisor.id),
            "mode": mode,
            "settings": settings,
            "lead": lead,
            "aggregator": None,
        }
        values["aggregation"] = draw.choice(["concat", "first", "vote", "best", None])
        values["run"] = choose_name(draw, list(state.runs)) if values["scope"] == "run" else None
    return commands.SwitchStrategy(**values)


def _change_supervisor(draw: Random, state: State, number: int) -> Command:
    command: commands.ChangeSupervisor = draw_record(commands.ChangeSupervisor, draw, state)
    supervisor = _some_supervisor(draw, state)
    if supervisor is None or command.options is None:
        return command
    options = draw_options(draw, supervisor.mode, *member_names(state, supervisor))
    return commands.ChangeSupervisor(
        supervisor=id_target(supervisor.id),
        options=options,
        max_parallel=command.max_parallel,
        max_agents=command.max_agents,
    )


def _add_agent(draw: Random, state: State, number: int) -> Command:
    """Return a command that adds an agent; mostly with eviction if a supervisor is full."""
    command: commands.AddAgent = draw_record(commands.AddAgent, draw, state)
    full_supervisors = [
        supervisor
        for supervisor in state.supervisors.values()
        if len(member_names(state, supervisor)[1]) >= supervisor.max_agents
    ]
    if full_supervisors and draw.random() < EVICTION_SHARE:
        return copy_with(command, supervisor=id_target(draw.choice(full_supervisors).id), evict=True)
    return command


def _some_supervisor(draw: Random, state: State) -> Supervisor | None:
    return draw.choice([*state.supervisors.values()]) if state.supervisors else None


def member_names(state: State, supervisor: Supervisor) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of all members of a supervisor, and the names of its agents."""
    agents = [state.agents[member_id].name for member_id in supervisor.members if member_id in state.agents]
    teams = [state.supervisors[member_id].name for member_id in supervisor.members if member_id in state.supervisors]
    return [*agents, *teams], agents


SPECIAL: dict[str, Callable[[Random, State, int], Command]] = {
    "add_agent": _add_agent,
    "submit": _submit,
    "stop_engine": _stop_engine,
    "switch_strategy": _switch_strategy,
    "change_supervisor": _change_supervisor,
}
"""Commands that are not drawn from their fields alone."""
