"""Actions on agents and supervisors at work: swap, rollback, another strategy, pause."""

from functools import partial
from typing import get_args

from dashboard import dialogs
from dashboard.actions.action import Acting, Action, Spoken, agents, members, one_of, supervisors
from dashboard.actions.marked import in_bulk
from dashboard.views.changes.bulk import pausing
from dashboard.views.changes.targets import Target, is_in_trouble
from dashboard.views.words.parsers import Mistyped, settings_of
from engine.core.commands import Command, Pause, Resume
from engine.core.queries.targets import shortest_target
from engine.core.queries.team.strategies import known_strategies
from engine.core.scheduler.waiting import WaitReasons
from engine.core.state import State, SwapMode


def _swap(at: Acting, said: Spoken) -> None:
    """Give agents another spec: those that are named, else those that are marked, else the one under the cursor."""
    with_ = said.option("with")
    names = said.words if with_ is not None else said.words[:1]
    marked = [] if names else at.marked_agents()
    if at.marked() and not names and not marked:
        at.warn_of_marks("swap")
        return
    found: list[str | None] = [*marked] or [at.asked_agent(name) for name in names or (None,)]
    agent_ids = [agent_id for agent_id in dict.fromkeys(found) if agent_id is not None]

    def swapped(command: Command | None) -> None:
        if command is not None:
            at.unmark()
        at.deck.order(command)

    choice = with_ or said.word(1)
    is_path = choice is not None and choice not in at.state.registry
    if is_path and not at.deck.at_hand("a path; swap with a file in a shell: quarterdeck swap"):
        return
    if agent_ids and None not in found and _is_mode(at, said):
        dialog = dialogs.swap.SwapDialog(*agent_ids, choice=choice, mode=said.option("mode"))
        at.app.push_screen(dialog, swapped)


def _rollback(at: Acting, said: Spoken) -> None:
    agent_id = at.asked_agent(said.word())
    if agent_id is None:
        return
    agent = at.state.agents[agent_id]
    if agent.previous is None:
        at.warn(f"{agent.name} has its first spec; there is nothing to roll back to")
    elif _is_mode(at, said):
        at.ask(dialogs.swap.RollbackDialog(agent_id, said.option("mode")))


def _is_mode(at: Acting, said: Spoken) -> bool:
    """Tell whether the mode that was typed is one; say so where it is not."""
    mode, modes = said.option("mode"), get_args(SwapMode)
    if mode is not None and mode not in modes:
        at.warn(f"no mode {mode!r}; there are {', '.join(modes)}")
    return mode is None or mode in modes


def _strategy(at: Acting, said: Spoken) -> None:
    supervisor_id, target = at.asked_supervisor(said.word())
    if supervisor_id is None:
        return
    run = said.option("run") or (target.id if target is not None and target.id in at.state.runs else None)
    try:
        settings = settings_of(said.words[2:])
    except Mistyped as error:
        at.warn(str(error))
        return
    at.ask(
        dialogs.strategy.StrategyDialog(
            supervisor_id, said.word(1), settings=settings, lead=said.option("lead"), run=run
        )
    )


def _held_by(at: Acting, target: Target) -> str:
    """Return what a task waits for that is paused, and how that goes on; empty where nothing paused holds it."""
    task = at.state.tasks.get(target.id)
    wait = at.deck.view.counts.once(WaitReasons, at.state).why(task) if task is not None else None
    if wait is None or wait.why != "pause" or not wait.ids:
        return ""
    return f"{wait.words}; :resume {shortest_target(at.state, wait.ids[0])} lets {target.said} go on"


def _pause(stop: bool | None, at: Acting, said: Spoken) -> None:
    """Pause, or resume; None pauses what works and resumes what is paused."""
    if said.word() is None and (marked := at.marked()):
        in_bulk(at, pausing(at.state, marked, stop))
        return
    target = at.asked(said.word())
    if target is None:
        return
    state = at.state
    member = state.agents.get(target.id) or state.supervisors.get(target.id) or state.runs.get(target.id)
    if member is None:
        at.warn(_held_by(at, target) or f"{target.said} cannot be paused; an agent, a supervisor or an open run can")
        return
    if stop is None:
        stop = not (member.paused or is_in_trouble(state, target.id))
    at.deck.order(Pause(target=target.at) if stop else Resume(target=target.at))


def _pausable(state: State, _before: str) -> list[str]:
    return members(state) + list(state.runs)


AGENTS = (
    Action(
        name="swap",
        key="h",
        does=_swap,
        writes=True,
        for_marked=True,
        of=agents,
        then=one_of("--with"),
        options=("with", "mode"),
        arguments="[AGENT …] [--with SPEC|FILE] [--mode MODE]",
        told="swap an agent: another spec, while it works",
        says="give agents another spec while they work",
    ),
    Action(
        name="rollback",
        key="B",
        label="roll back",
        does=_rollback,
        writes=True,
        of=agents,
        then=one_of("--mode"),
        options=("mode",),
        arguments="[AGENT] [--mode MODE]",
        told="roll an agent back to its previous spec",
        says="give an agent its previous spec",
    ),
    Action(
        name="undo",
        key="u",
        does=lambda at, said: at.deck.undo(said.word()),
        writes=True,
        arguments="[COMMAND]",
        told="undo the last change, where nothing has changed since",
        says="undo a change",
    ),
    Action(
        name="strategy",
        key="S",
        does=_strategy,
        writes=True,
        of=supervisors,
        then=lambda state, before: list(known_strategies()),
        arguments="[SUPERVISOR] [MODE] [key=value …]",
        options=("lead", "run"),
        told="change the strategy of a supervisor, or of the run under the cursor",
        says="change how a supervisor coordinates",
    ),
    Action(
        name="pause or resume",
        key="z",
        label="pause",
        does=partial(_pause, None),
        writes=True,
        told="pause or resume an agent, a supervisor, a run, or all that are marked",
    ),
    Action(
        name="pause",
        does=partial(_pause, True),
        writes=True,
        for_marked=True,
        of=_pausable,
        arguments="[NAME]",
        says="pause an agent, a supervisor or a run: it starts nothing new",
    ),
    Action(
        name="resume",
        does=partial(_pause, False),
        writes=True,
        for_marked=True,
        of=_pausable,
        arguments="[NAME]",
        says="resume what is paused",
    ),
)
