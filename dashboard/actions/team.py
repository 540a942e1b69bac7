"""Actions about the team: members, settings, requests; cancelling and removing."""

from collections.abc import Sequence
from functools import partial
from typing import get_origin

from dashboard import dialogs
from dashboard.actions.action import (
    Action,
    ActionScreen,
    CommandLine,
    agents,
    members,
    open_work,
    require_agent,
    require_supervisor,
    require_target,
    show_dialog,
    supervisors,
)
from dashboard.actions.bulk import confirm_bulk
from dashboard.actions.catalogue import add_entry_by_id
from dashboard.user.typed_paths import expand_path
from dashboard.views.changes.bulk import plan_cancel, plan_removal
from dashboard.views.changes.targets import Target, describe_work, receiver
from dashboard.views.drawing.facts import to_cells
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.facts.searches import discovery_fact
from dashboard.views.facts.supervisor import alert_facts, hand_over_facts
from dashboard.views.measures.limits import limit_facts
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.parsers import (
    LineQuestion,
    Mistyped,
    parse_deadline_s,
    parse_duration_s,
    parse_labels,
    parse_priority,
    parse_settings,
    split_words,
)
from dashboard.views.words.subcommands import Parameter, subcommand_of
from engine.core import commands
from engine.core.commands import Command
from engine.core.errors import BadValue, Refused
from engine.core.queries.targets import find_member, id_target
from engine.core.queries.work.reach import work_of, work_reached_by
from engine.core.records.records import JsonValue
from engine.core.specs.options import AGEING_S, BALANCES
from engine.core.state import State

SETTINGS = {option.name.replace("-", "_"): option for option in subcommand_of(commands.ChangeSupervisor).options}
"""By its key in a line, the field that a setting sets."""


def _move(screen: ActionScreen, line: CommandLine) -> None:
    target = require_target(screen, line.word(), find_member)
    if target is None:
        return
    if target.kind in ("agent", "supervisor"):
        show_dialog(screen, dialogs.members.MoveDialog(target.id, line.word(1)))
    else:
        screen.deck.messages.warn(
            f"{target.label} is not a member of the team{fill_keys('; <reassign:a> gives a task to another agent')}"
        )


def _capability(screen: ActionScreen, line: CommandLine) -> None:
    agent_id = require_agent(screen, line.word())
    if agent_id is not None:
        show_dialog(screen, dialogs.line.LineDialog(CAPABILITY, agent_id, line.rest_as_line()))


def _current_specialties(state: State, agent_id: str, _now_ms: int) -> Sequence[Cell]:
    agent = state.agents.get(agent_id)
    able = ", ".join(state.spec_of(agent).specialties) if agent is not None else ""
    text = "its code and generation stay; tasks that ask for a new specialty may go to it at once"
    return [labelled_cell("now", able or "nothing is named"), Cell(text, "muted")]


def _capability_command(agent_id: str, text: str, _now_ms: int) -> Command | None:
    add, remove = _split_signed(split_words(text))
    return commands.ChangeCapabilities(agent=id_target(agent_id), add=add, remove=remove) if add or remove else None


def _split_signed(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split `+a -b --add c --remove d` into added and removed words."""
    add: list[str] = []
    remove: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in ("--add", "--remove"):
            (add if word == "--add" else remove).append(next(remaining, ""))
        elif word[:1] == "-" and len(word) > 1:
            remove.append(word[1:])
        elif word not in ("+", "-"):
            add.append(word.removeprefix("+"))
    return add, remove


def _set(screen: ActionScreen, line: CommandLine) -> None:
    supervisor_id, _ = require_supervisor(screen, line.word())
    if supervisor_id is not None:
        show_dialog(screen, dialogs.line.LineDialog(SETTING, supervisor_id, line.rest_as_line()))


_HOW_TO_DISCOVER = "agents by the words of a request; discover=catalogue,rag documents approve max_new evict: how"


def _current_settings(state: State, supervisor_id: str, now_ms: int) -> Sequence[Cell]:
    supervisor = state.supervisors.get(supervisor_id)
    if supervisor is None:
        return [Cell("it has left the team", "muted")]
    options = supervisor.options
    inherited_text = "as above it" if supervisor.parent_id is not None else None
    preempt = options.preempt.at if options.preempt is not None else inherited_text or "step"
    text = inherited_text or "no" if options.track_record is None else "yes" if options.track_record else "no"
    ageing = f"{options.ageing_s:g} s" if options.ageing_s is not None else inherited_text or f"{AGEING_S:g} s"
    rows = (
        ("max_parallel", supervisor.max_parallel, "attempts at once of its own agents"),
        ("max_total", options.max_total or "no limit", "of it and everything under it"),
        ("processes", options.processes or _processes(state, inherited_text), "the same for attempts in processes"),
        ("max_agents", supervisor.max_agents, f"it has {pluralize(len(supervisor.members), 'member')}"),
        (
            "balance",
            options.balance or inherited_text or BALANCES[0],
            f"which of several able agents: {', '.join(BALANCES)}",
        ),
        ("track_record", text, "a model that leads is told how its workers did before: yes, no"),
        ("ageing", ageing, "wait after which a task rises by one priority"),
        ("preempt", preempt, "when an urgent task takes a slot: step, now, never"),
        ("auto_discover", "yes" if supervisor.auto_discover else "no", _HOW_TO_DISCOVER),
    )
    lines = [Cell(f"{value!s:<12} {about}", "", f"{key:<14}") for key, value, about in rows]
    limits = limit_facts(state, supervisor.id, now_ms=now_ms)
    others = [*discovery_fact(supervisor), *limits, *alert_facts(supervisor), *hand_over_facts(supervisor)]
    return [*lines, *to_cells(others, wide=14)]


def _settings_command(supervisor_id: str, text: str, _now_ms: int) -> Command | None:
    settings = parse_settings(_join_options(split_words(text)))
    settings = {key.removeprefix("--").replace("-", "_").removesuffix("_s"): value for key, value in settings.items()}
    unknown = next((key for key in settings if key not in SETTINGS), None)
    if unknown is not None:
        raise Mistyped(f"no setting {unknown!r}; there are {', '.join(SETTINGS)}")
    values = {SETTINGS[key].path: _parse_setting(key, value) for key, value in settings.items()}
    try:
        return subcommand_of(commands.ChangeSupervisor).build({("supervisor",): id_target(supervisor_id), **values})
    except BadValue as bad:
        raise Mistyped(bad.reason) from bad


def _processes(state: State, inherited_text: str | None) -> str:
    """Return the default limit of attempts in processes."""
    processes = None if state.engine is None else state.engine.processes
    return inherited_text or ("no limit" if processes is None else f"{processes} (all)")


def _join_options(words: Sequence[str]) -> list[str]:
    """Turn `--key value` into `--key=value`."""
    joined_words: list[str] = []
    remaining = iter(words)
    for word in remaining:
        is_option = word.startswith("--") and "=" not in word
        joined_words.append(f"{word}={next(remaining, '')}" if is_option else word)
    return joined_words


def _parse_setting(key: str, value: JsonValue) -> object:
    setting = SETTINGS[key]
    if setting.type is int and (isinstance(value, bool) or not isinstance(value, int)):
        raise Mistyped(f"{key} is a whole number, not {value!r}")
    if setting.type is bool and value not in ("yes", "no", True, False):
        raise Mistyped(f"{key} is yes or no, not {value!r}")
    if setting.choices and value not in setting.choices:
        raise Mistyped(f"{key} is one of {', '.join(setting.choices)}, not {value!r}")
    if setting.path[-1].endswith("_s"):
        return parse_duration_s(str(value))
    if get_origin(setting.type) is list:
        return str(value).split(",")
    return value in ("yes", True) if setting.type is bool else value


CAPABILITY = LineQuestion(
    title="What {} can do",
    placeholder="+word adds it, -word takes it away",
    about=_current_specialties,
    parse=_capability_command,
    does="Change",
)
SETTING = LineQuestion(
    title="Settings of {}", placeholder="key=value …", about=_current_settings, parse=_settings_command, does="Change"
)


def _cancel(screen: ActionScreen, line: CommandLine) -> None:
    if line.word() is None and (marked := screen.marked_keys()):
        confirm_bulk(screen, plan_cancel(screen.state, marked))
        return
    target = require_target(screen, line.word())
    if target is None:
        return
    # The key offers to remove a member too; the word cancels work, as in a shell.
    if line.word() is None and target.kind in ("agent", "supervisor"):
        agent = screen.state.agents.get(target.id)
        _remove_member(screen, target, offers_stop=agent is not None and bool(work_of(screen.state, agent)))
    elif target.kind in ("agent", "supervisor"):
        _cancel_work_of(screen, target)
    else:
        _cancel_work(screen, target)


def _cancel_work_of(screen: ActionScreen, target: Target) -> None:
    try:
        work_reached_by(screen.state, target.reference)
    except Refused as refusal:
        screen.deck.messages.warn(f"{refusal.reason}; :remove {target.name} removes it from the team")
        return
    question, command = f"Cancel the work of {target.title}", commands.Cancel(target=target.reference)
    consequences = partial(_describe_stopped_work, target.id)
    show_dialog(screen, dialogs.dialog.ConfirmCancel(question, consequences, "Cancel its work", command))


def _describe_stopped_work(agent_id: str, state: State) -> Sequence[str]:
    agent = state.agents.get(agent_id)
    if agent is None:
        return ()
    return describe_work(agent, state), "Its tasks end at their next step; it stays in the team. Finished work is kept."


def _cancel_work(screen: ActionScreen, target: Target) -> None:
    task, run = screen.state.tasks.get(target.id), screen.state.runs.get(target.id)
    if (task is None or task.ended) and run is None:
        screen.deck.messages.warn(f"{target.label} has ended already")
        return
    question, consequences = f"Cancel {target.title}", partial(_describe_stopped, target.id)
    command = commands.Cancel(target=target.reference)
    show_dialog(screen, dialogs.dialog.ConfirmCancel(question, consequences, f"Cancel the {target.kind}", command))


def _describe_stopped(target_id: str, state: State) -> Sequence[str]:
    """Describe what a cancellation stops; empty once the object has ended."""
    run, task = state.runs.get(target_id), state.tasks.get(target_id)
    if run is not None:
        stop, left = "stops" if run.running == 1 else "stop", run.total - run.ended
        stops = (
            f"{pluralize(run.running, 'attempt')} {stop} at the next step" if run.running else "nothing is under way"
        )
        text = f"{stops}; {left:,} of {pluralize(run.total, 'task')} {'has' if left == 1 else 'have'} not ended"
    elif task is not None and not task.ended:
        text = "it stops at its next step; what waits for it goes on without its output or is skipped"
    else:
        return ()
    return text, "Finished work is kept."


def _remove(screen: ActionScreen, line: CommandLine) -> None:
    if line.word() is None and (marked := screen.marked_keys()):
        members = [key for key in marked if key in screen.state.agents or key in screen.state.supervisors]
        confirm_bulk(screen, plan_removal(screen.state, members))
        return
    target = require_target(screen, line.word(), find_member)
    if target is None:
        return
    if target.kind in ("agent", "supervisor"):
        _remove_member(screen, target)
    else:
        screen.deck.messages.warn(f"{target.label} is not a member of the team; ctrl+d cancels it")


def _remove_member(screen: ActionScreen, target: Target, *, offers_stop: bool = False) -> None:
    if target.kind == "agent":
        show_dialog(screen, dialogs.members.RemoveDialog(target.id, offers_stop=offers_stop))
        return
    consequences = ("It can be removed only when it has no members.", "Its name becomes free; its events are kept.")
    command = commands.RemoveMember(target=target.reference)
    show_dialog(screen, dialogs.dialog.Confirm(f"Remove {target.title}", lambda _: consequences, "Remove it", command))


def _request(screen: ActionScreen, line: CommandLine) -> None:
    request = line.word()
    if request is None:
        show_dialog(screen, dialogs.request.RequestDialog(receiver(screen.state, screen.target())))
        return
    try:
        screen.deck.commands.send(_submit(request, line, screen.deck.view.now_ms))
    except Mistyped as error:
        screen.deck.messages.warn(str(error))


REQUEST = subcommand_of(commands.Submit)
REQUEST_OPTIONS = tuple(parameter.name for parameter in REQUEST.options)
"""Options of a request, as in a shell."""


def _submit(request: str, line: CommandLine, now_ms: int) -> Command:
    """Return the command for a request with its options.

    Raises:
        Mistyped: If the value of an option is invalid.
    """
    values = {
        option.path: _parse_option(option, text, now_ms)
        for option in REQUEST.options
        if (text := line.option(option.name)) is not None
    }
    try:
        return REQUEST.build({("request",): request, **values})
    except BadValue as bad:
        raise Mistyped(bad.reason) from bad


def _parse_option(option: Parameter, text: str, now_ms: int) -> object:
    if option.name == "priority":
        return parse_priority(text)
    if option.name == "deadline":
        return parse_deadline_s(text, now_ms)
    if option.name == "after":
        return text.replace(",", " ").split()
    if option.name == "label":
        return parse_labels(text.split("\n"))
    return parse_settings([f"limit={text}"])["limit"] if option.path[0] == "limits" else text


def _add(screen: ActionScreen, line: CommandLine) -> None:
    """Add the agents of a file; if they need code, ask first, because adding them trusts it."""
    from dashboard.user.specfile import read_spec_file  # slow import: needed only to read a file
    from engine.teamfile import TeamFileError

    if (entry_id := line.option("catalogue")) is not None:
        add_entry_by_id(screen, entry_id, name=line.option("as") or "", under=line.option("under"))
        return
    if (name := line.word()) is None:
        screen.deck.messages.warn("add FILE: which file? Or add --catalogue ID;  :catalogue  shows entries")
        return
    if not screen.deck.access.has_local_access("a path; add agents in a shell: quarterdeck add"):
        return
    try:
        spec_file = read_spec_file(file := expand_path(name))
    except TeamFileError as error:
        screen.deck.messages.warn(str(error).split("\n", 1)[0])
        return
    under, deck = line.option("under"), screen.deck
    command: Command
    if spec_file.team is not None:
        command = commands.AddSupervisor(parent=under, team=spec_file.team)
    else:
        command = commands.AddAgent(supervisor=under, spec=spec_file.agents[0], also=spec_file.agents[1:])

    def add(answer: object) -> None:
        if answer is not None and deck.trust.trust_code(spec_file.references, spec_file.path, spec_file.sha256):
            deck.commands.send(command)

    if not spec_file.references:
        add(command)
        return
    consequences = (f"It runs {', '.join(spec_file.references)}.", "Adding it trusts that code: look at it first.")
    title = f"Add the agents in {file.name}"
    screen.app.push_screen(dialogs.dialog.Confirm(title, lambda _: consequences, "Add and trust it", command), add)


def _cancellable(state: State, before: str) -> list[str]:
    return [*open_work(state, before), *agents(state, before)]


TEAM_ACTIONS = (
    Action(
        name="move",
        key="m",
        run=_move,
        writes=True,
        targets=members,
        values=supervisors,
        arguments="[NAME] [SUPERVISOR]",
        key_help="move an agent, or a supervisor with all under it, under another supervisor",
        about="move a member, with all under it, to another supervisor",
    ),
    Action(
        name="capability",
        key="c",
        options=None,
        run=_capability,
        writes=True,
        targets=agents,
        arguments="[AGENT] [+WORD] [-WORD]",
        key_help="change what an agent can do",
        about="change what an agent can do",
    ),
    Action(
        name="set",
        key="o",
        options=None,
        label="settings",
        run=_set,
        writes=True,
        targets=supervisors,
        values=lambda state, before: [f"{key}=" for key in SETTINGS],
        arguments="[SUPERVISOR] [key=value …]",
        key_help="change the settings of a supervisor",
        about="change the settings of a supervisor",
    ),
    Action(
        name="cancel",
        key="ctrl+d",
        run=_cancel,
        writes=True,
        for_marked=True,
        targets=_cancellable,
        arguments="[RUN|TASK|AGENT]",
        key_help="cancel a task, a run or what an agent is at; remove an agent; asks first",
        about="stop work at its next step",
    ),
    Action(
        name="remove",
        key="R",
        run=_remove,
        writes=True,
        for_marked=True,
        targets=members,
        arguments="[NAME]",
        key_help="remove an agent",
        about="remove an agent, or an empty supervisor",
    ),
    Action(
        name="run",
        key="n",
        label="request",
        run=_request,
        writes=True,
        verbatim=True,
        arguments="[REQUEST]",
        key_help="give the team, or the supervisor under the cursor, a request",
        about="give the team a request",
    ),
    Action(
        name="add",
        run=_add,
        writes=True,
        options=("under", "catalogue", "as"),
        arguments="FILE|--catalogue ID [--as NAME] [--under SUPERVISOR]",
        about="add the agents of a file, or an entry of the catalogue",
    ),
)
