"""Actions on agents and supervisors at work: swap, rollback, another strategy, pause."""

from collections.abc import Sequence
from functools import partial
from typing import get_args

from dashboard import dialogs
from dashboard.actions.action import (
    Action,
    ActionScreen,
    CommandLine,
    agents,
    members,
    one_of,
    require_agent,
    require_supervisor,
    require_target,
    show_dialog,
    supervisors,
    warn_of_marks,
)
from dashboard.actions.bulk import confirm_bulk
from dashboard.views.changes.bulk import any_works, plan_pause
from dashboard.views.changes.targets import Target
from dashboard.views.words.parsers import Mistyped, parse_settings
from engine.core.commands import Command, Pause, Resume
from engine.core.queries.targets import shortest_target
from engine.core.queries.team.strategies import known_strategies
from engine.core.scheduler.waiting import WaitReasons
from engine.core.state import State, SwapMode
from engine.core.validation.bounds import MAX_LABEL_CHARS

_MODEL_WORD = "model="
"""`model=NAME` among the words is `--model NAME`."""


def _swap(screen: ActionScreen, line: CommandLine) -> None:
    """Swap agents: the named ones, else the marked ones, else the one under the cursor."""
    with_ = line.option("with")
    typed_models = [word.removeprefix(_MODEL_WORD) for word in line.words if word.startswith(_MODEL_WORD)]
    model = next(iter(typed_models), line.option("model"))
    words = [word for word in line.words if not word.startswith(_MODEL_WORD)]
    names = words if with_ is not None or model is not None else words[:1]
    marked = [] if names else [key for key in screen.marked_keys() if key in screen.state.agents]
    if screen.marked_keys() and not names and not marked:
        warn_of_marks(screen, "swap")
        return
    agent_ids = marked or _named_agents(screen, names)

    def send(command: Command | None) -> None:
        if command is None:
            return
        screen.unmark()
        screen.deck.commands.send(command)

    if model is not None and not 0 < len(model) <= MAX_LABEL_CHARS:
        screen.deck.messages.warn(f"model=NAME takes 1 to {MAX_LABEL_CHARS} characters, such as model=openai/gpt-4o")
        return
    choice = with_ or next(iter(words[1:] if model is None else ()), None)
    is_path = choice is not None and choice not in screen.state.registry
    if is_path and not screen.deck.access.has_local_access("a path; swap with a file in a shell: quarterdeck swap"):
        return
    if agent_ids and _check_mode(screen, line):
        dialog = dialogs.swap.SwapDialog(*agent_ids, choice=choice, model=model, mode=line.option("mode"))
        screen.app.push_screen(dialog, send)


def _named_agents(screen: ActionScreen, names: Sequence[str]) -> list[str]:
    """Return the agents of these names, without any name the one under the cursor; none after a warning."""
    agent_ids = [require_agent(screen, name) for name in names or (None,)]
    return [] if None in agent_ids else [agent_id for agent_id in dict.fromkeys(agent_ids) if agent_id is not None]


def _rollback(screen: ActionScreen, line: CommandLine) -> None:
    agent_id = require_agent(screen, line.word())
    if agent_id is None:
        return
    agent = screen.state.agents[agent_id]
    if agent.previous is None:
        screen.deck.messages.warn(f"{agent.name} has its first spec; there is nothing to roll back to")
    elif _check_mode(screen, line):
        show_dialog(screen, dialogs.swap.RollbackDialog(agent_id, line.option("mode")))


def _check_mode(screen: ActionScreen, line: CommandLine) -> bool:
    """Warn if the typed mode is not valid; return whether it is."""
    mode, modes = line.option("mode"), get_args(SwapMode)
    if mode is not None and mode not in modes:
        screen.deck.messages.warn(f"no mode {mode!r}; there are {', '.join(modes)}")
    return mode is None or mode in modes


def _strategy(screen: ActionScreen, line: CommandLine) -> None:
    supervisor_id, target = require_supervisor(screen, line.word())
    if supervisor_id is None:
        return
    run = line.option("run") or (target.id if target is not None and target.id in screen.state.runs else None)
    try:
        settings = parse_settings(line.words[2:])
    except Mistyped as error:
        screen.deck.messages.warn(str(error))
        return
    mode, lead = line.word(1), line.option("lead")
    show_dialog(screen, dialogs.strategy.StrategyDialog(supervisor_id, mode, settings=settings, lead=lead, run=run))


def _pause_hint(screen: ActionScreen, target: Target) -> str:
    """Return which paused object a task waits for, and how to resume it; empty if it waits for none."""
    task = screen.state.tasks.get(target.id)
    wait = screen.deck.view.counts.compute_once(WaitReasons, screen.state).wait_of(task) if task is not None else None
    if wait is None or wait.reason != "pause" or not wait.ids:
        return ""
    return f"{wait.words}; :resume {shortest_target(screen.state, wait.ids[0])} lets {target.label} go on"


def _pause(stop: bool, screen: ActionScreen, line: CommandLine) -> None:
    now = line.option("now") is not None
    if line.word() is None and (marked := screen.marked_keys()):
        confirm_bulk(screen, plan_pause(screen.state, marked, stop=stop, now=now))
        return
    target = require_target(screen, line.word())
    if target is None:
        return
    state = screen.state
    if target.id in state.agents or target.id in state.supervisors or target.id in state.runs:
        screen.deck.commands.send(Pause(target=target.reference, now=now) if stop else Resume(target=target.reference))
    else:
        screen.deck.messages.warn(
            _pause_hint(screen, target) or f"{target.label} cannot be paused; an agent, a supervisor or an open run can"
        )


def _pause_or_resume(screen: ActionScreen, line: CommandLine) -> None:
    target = screen.target()
    keys = screen.marked_keys() or ([target.id] if target is not None else [])
    _pause(any_works(screen.state, keys), screen, line)


def _pausable(state: State, _before: str) -> list[str]:
    return members(state) + list(state.runs)


AGENT_ACTIONS = (
    Action(
        name="swap",
        key="h",
        run=_swap,
        writes=True,
        for_marked=True,
        targets=agents,
        values=one_of("--with", "--model"),
        options=("with", "model", "mode"),
        arguments="[AGENT …] [--with SPEC|FILE] [--model NAME] [--mode MODE]",
        key_help="swap an agent: another model or spec, while it works",
        about="give agents another model or spec while they work",
    ),
    Action(
        name="rollback",
        key="B",
        label="roll back",
        run=_rollback,
        writes=True,
        targets=agents,
        values=one_of("--mode"),
        options=("mode",),
        arguments="[AGENT] [--mode MODE]",
        key_help="roll an agent back to its previous spec",
        about="give an agent its previous spec",
    ),
    Action(
        name="undo",
        key="u",
        run=lambda screen, line: screen.deck.commands.undo(line.word()),
        writes=True,
        arguments="[COMMAND]",
        key_help="undo the last change; it is named first, u again does it",
        about="undo a change",
    ),
    Action(
        name="strategy",
        key="S",
        run=_strategy,
        writes=True,
        targets=supervisors,
        values=lambda state, before: list(known_strategies()),
        arguments="[SUPERVISOR] [MODE] [key=value …]",
        options=("lead", "run"),
        key_help="change the strategy of a supervisor, or of the run under the cursor",
        about="change how a supervisor coordinates",
    ),
    Action(
        name="pause or resume",
        key="z",
        label="pause",
        run=_pause_or_resume,
        writes=True,
        key_help="pause or resume an agent, a supervisor, a run, or all that are marked",
    ),
    Action(
        name="pause",
        run=partial(_pause, True),
        writes=True,
        for_marked=True,
        targets=_pausable,
        options=("now",),
        arguments="[NAME] [--now]",
        about="pause an agent, a supervisor or a run at its next step; --now sets its work aside at once",
    ),
    Action(
        name="resume",
        run=partial(_pause, False),
        writes=True,
        for_marked=True,
        targets=_pausable,
        arguments="[NAME]",
        about="resume what is paused",
    ),
)
