"""Actions about the team: members, settings, requests; cancelling and removing."""

from collections.abc import Sequence
from functools import partial

from dashboard import dialogs
from dashboard.actions.action import Acting, Action, Spoken, agents, members, open_work, supervisors
from dashboard.actions.marked import in_bulk
from dashboard.user.typed_paths import path_typed
from dashboard.views.changes.bulk import cancelling
from dashboard.views.changes.targets import Target, receiver
from dashboard.views.drawing.rows import Cell, labelled
from dashboard.views.measures.limits import limit_lines
from dashboard.views.words.amounts import duration, pluralize
from dashboard.views.words.keyed import keyed
from dashboard.views.words.parsers import Line, Mistyped, due_in_s, length_s, limits_of, settings_of, words_of
from engine.core import commands
from engine.core.commands import Command
from engine.core.queries.targets import at, find_member
from engine.core.queries.team.tree import depth_of, mean_ms_of
from engine.core.records.records import JsonValue, names
from engine.core.specs.options import AGEING_S, BALANCES, Preempt, SupervisorOptions
from engine.core.state import State

SETTINGS = ("max_parallel", "max_total", "processes", "max_agents", "balance", "track_record", "ageing", "preempt")


def _move(on: Acting, said: Spoken) -> None:
    target = on.asked(said.word(), find_member)
    if target is None:
        return
    if target.kind in ("agent", "supervisor"):
        on.ask(dialogs.members.MoveDialog(target.id, said.word(1)))
    else:
        on.warn(f"{target.said} is not a member of the team{keyed('; <reassign:a> gives a task to another agent')}")


def _capability(on: Acting, said: Spoken) -> None:
    agent_id = on.asked_agent(said.word())
    if agent_id is not None:
        on.ask(dialogs.line.LineDialog(CAPABILITY, agent_id, said.rest_as_line()))


def _able_now(state: State, agent_id: str, _now_ms: int) -> Sequence[Cell]:
    agent = state.agents.get(agent_id)
    able = ", ".join(state.spec_of(agent).specialties) if agent is not None else ""
    told = "its code and generation stay; tasks that ask for a new specialty may go to it at once"
    return [labelled("now", able or "nothing is named"), Cell(told, "muted")]


def _able(agent_id: str, text: str, _now_ms: int) -> Command | None:
    add, remove = _signed(words_of(text))
    return commands.ChangeCapabilities(agent=at(agent_id), add=add, remove=remove) if add or remove else None


def _signed(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Sort `+a -b --add c --remove d` into what is added and what is taken away."""
    add: list[str] = []
    remove: list[str] = []
    left = iter(words)
    for word in left:
        if word in ("--add", "--remove"):
            (add if word == "--add" else remove).append(next(left, ""))
        elif word[:1] == "-" and len(word) > 1:
            remove.append(word[1:])
        elif word not in ("+", "-"):
            add.append(word.removeprefix("+"))
    return add, remove


def _set(on: Acting, said: Spoken) -> None:
    supervisor_id, _ = on.asked_supervisor(said.word())
    if supervisor_id is not None:
        on.ask(dialogs.line.LineDialog(SETTING, supervisor_id, said.rest_as_line()))


def _settings_now(state: State, supervisor_id: str, now_ms: int) -> Sequence[Cell]:
    one = state.supervisors.get(supervisor_id)
    if one is None:
        return [Cell("it has left the team", "muted")]
    options = one.options
    above = "as above it" if one.parent_id is not None else None
    preempt = options.preempt.at if options.preempt is not None else above or "step"
    told = above or "no" if options.track_record is None else "yes" if options.track_record else "no"
    ageing = f"{options.ageing_s:g} s" if options.ageing_s is not None else above or f"{AGEING_S:g} s"
    rows = (
        ("max_parallel", one.max_parallel, "attempts at once of its own agents"),
        ("max_total", options.max_total or "no limit", "of it and everything under it"),
        ("processes", options.processes or _processes(state, above), "the same for attempts in processes"),
        ("max_agents", one.max_agents, f"it has {pluralize(len(one.members), 'member')}"),
        ("balance", options.balance or above or BALANCES[0], f"which of several able agents: {', '.join(BALANCES)}"),
        ("track_record", told, "a model that leads is told how its workers did before: yes, no"),
        ("ageing", ageing, "wait after which a task rises by one priority"),
        ("preempt", preempt, "when an urgent task takes a slot: step, now, never"),
    )
    lines = [Cell(f"{value!s:<12} {about}", "", f"{key:<14}") for key, value, about in rows]
    lines += [Cell(line.drawn, line.tone, f"{line.label:<14}") for line in limit_lines(state, one.id, now_ms=now_ms)]
    if one.restarts_ms:
        told = f"{pluralize(len(one.restarts_ms), 'time')} within the period that is counted"
        lines.append(Cell(told, "warn", f"{'restarts':<14}"))
    took_ms = mean_ms_of(one)
    if took_ms is not None:
        told = f"{duration(took_ms)} a request besides the work below it, on level {depth_of(state, one)}"
        lines.append(Cell(told, "muted", f"{'hand-over':<14}"))
    return lines


def _settings(supervisor_id: str, text: str, _now_ms: int) -> Command | None:
    said = settings_of(_joined(words_of(text)))
    said = {key.removeprefix("--").replace("-", "_").removesuffix("_s"): value for key, value in said.items()}
    unknown = next((key for key in said if key not in SETTINGS), None)
    if unknown is not None:
        raise Mistyped(f"no setting {unknown!r}; there are {', '.join(SETTINGS)}")
    if not said:
        return None
    parallel, agents = (_whole(key, said[key]) if key in said else None for key in ("max_parallel", "max_agents"))
    return commands.ChangeSupervisor(
        supervisor=at(supervisor_id), options=_options(said), max_parallel=parallel, max_agents=agents
    )


def _processes(state: State, above: str | None) -> str:
    """Return how many attempts in processes may be at work where nothing is set."""
    most = None if state.engine is None else state.engine.processes
    return above or ("no limit" if most is None else f"{most} (all)")


def _joined(words: Sequence[str]) -> list[str]:
    """Read `--key value`, as a shell has it, like `key=value`."""
    out: list[str] = []
    left = iter(words)
    for word in left:
        out.append(f"{word}={next(left, '')}" if word.startswith("--") and "=" not in word else word)
    return out


def _whole(key: str, value: JsonValue) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise Mistyped(f"{key} is a whole number, not {value!r}")
    return value


def _yes(value: JsonValue) -> bool:
    if value not in ("yes", "no", True, False):
        raise Mistyped(f"track_record is yes or no, not {value!r}")
    return value in ("yes", True)


def _options(said: dict[str, JsonValue]) -> SupervisorOptions | None:
    wanted: dict[str, object] = {}
    for key in ("max_total", "processes"):
        if key in said:
            wanted[key] = _whole(key, said[key])
    if "balance" in said:
        wanted["balance"] = said["balance"]
    if "track_record" in said:
        wanted["track_record"] = _yes(said["track_record"])
    if "ageing" in said:
        wanted["ageing_s"] = length_s(str(said["ageing"]))
    if "preempt" in said:
        if said["preempt"] not in ("step", "now", "never"):
            raise Mistyped(f"preempt is one of step, now, never, not {said['preempt']!r}")
        wanted["preempt"] = Preempt(at=said["preempt"])  # type: ignore[arg-type]
    if not wanted:
        return None
    known = set(names(SupervisorOptions))
    assert known.issuperset(wanted)
    try:
        return SupervisorOptions(**wanted)  # type: ignore[arg-type]
    except ValueError as error:
        raise Mistyped(str(error)) from error


CAPABILITY = Line(
    title="What {} can do",
    placeholder="+word adds it, -word takes it away",
    about=_able_now,
    meant=_able,
    does="Change",
)
SETTING = Line(title="Settings of {}", placeholder="key=value …", about=_settings_now, meant=_settings, does="Change")


def _cancel(on: Acting, said: Spoken) -> None:
    if said.word() is None and (marked := on.marked()):
        in_bulk(on, cancelling(on.state, marked))
        return
    target = on.asked(said.word())
    if target is not None and target.kind in ("agent", "supervisor"):
        _remove_member(on, target)
    elif target is not None:
        _cancel_work(on, target)


def _cancel_work(on: Acting, target: Target) -> None:
    task, run = on.state.tasks.get(target.id), on.state.runs.get(target.id)
    if (task is None or task.ended) and run is None:
        on.warn(f"{target.said} has ended already")
        return
    question, told = f"Cancel {target.titled}", partial(_stopped, target.id)
    on.ask(dialogs.dialog.ConfirmCancel(question, told, f"Cancel the {target.kind}", commands.Cancel(target=target.at)))


def _stopped(target_id: str, state: State) -> Sequence[str]:
    """Return what a cancellation stops; empty once that has ended."""
    run, task = state.runs.get(target_id), state.tasks.get(target_id)
    if run is not None:
        stop, left = "stops" if run.running == 1 else "stop", run.total - run.ended
        stops = (
            f"{pluralize(run.running, 'attempt')} {stop} at the next step" if run.running else "nothing is under way"
        )
        told = f"{stops}; {left:,} of {pluralize(run.total, 'task')} {'has' if left == 1 else 'have'} not ended"
    elif task is not None and not task.ended:
        told = "it stops at its next step; what waits for it goes on without its output or is skipped"
    else:
        return ()
    return told, "Finished work is kept."


def _remove(on: Acting, said: Spoken) -> None:
    if said.word() is None and (marked := on.marked()):
        members = [key for key in marked if key in on.state.agents or key in on.state.supervisors]
        in_bulk(on, cancelling(on.state, members))
        return
    target = on.asked(said.word(), find_member)
    if target is None:
        return
    if target.kind in ("agent", "supervisor"):
        _remove_member(on, target)
    else:
        on.warn(f"{target.said} is not a member of the team; ctrl+d cancels it")


def _remove_member(on: Acting, target: Target) -> None:
    if target.kind == "agent":
        on.ask(dialogs.members.RemoveDialog(target.id))
        return
    told = ("It can be removed only when it has no members.", "Its name becomes free; its events are kept.")
    on.ask(
        dialogs.dialog.Confirm(
            f"Remove {target.titled}", lambda _: told, "Remove it", commands.RemoveMember(target=target.at)
        )
    )


def _request(on: Acting, said: Spoken) -> None:
    request = said.word()
    if request is None:
        on.ask(dialogs.request.RequestDialog(receiver(on.state, on.target())))
        return
    try:
        on.deck.order(_submit(request, said, on.deck.view.now_ms))
    except Mistyped as error:
        on.warn(str(error))


_MOST = {"max-attempts": "attempts", "max-tokens": "tokens", "max-cost": "cost_usd"}
OF_REQUEST = ("supervisor", "priority", "deadline", "category", "after", "conversation", *_MOST)
"""Options of a request, as in a shell."""


def _submit(request: str, said: Spoken, now_ms: int) -> commands.Submit:
    """Return the command for a request with its options.

    Raises:
        Mistyped: If one of them has no such value.
    """
    priority, deadline = said.option("priority"), said.option("deadline")
    limits = " ".join(f"{name}={value}" for option, name in _MOST.items() if (value := said.option(option)) is not None)
    if priority is not None and not priority.isdecimal():
        raise Mistyped(f"{priority!r} is not a priority; write 0, the most urgent, to 9")
    return commands.Submit(
        request=request,
        supervisor=said.option("supervisor"),
        priority=int(priority) if priority is not None else None,
        deadline_s=due_in_s(deadline, now_ms) if deadline is not None else None,
        category=said.option("category"),
        after=(said.option("after") or "").replace(",", " ").split(),
        conversation=said.option("conversation"),
        limits=limits_of(limits),
    )


def _add(on: Acting, said: Spoken) -> None:
    """Add the agents of a file; if that brings code, ask first, because adding it trusts it."""
    from dashboard.user.specfile import read_spec_file  # reads YAML: only who brings a file needs it
    from engine.teamfile import TeamFileError

    if (name := said.word()) is None:
        on.warn("add FILE: which file?")
        return
    if not on.deck.at_hand("a path; add agents in a shell: quarterdeck add"):
        return
    try:
        found = read_spec_file(file := path_typed(name))
    except TeamFileError as error:
        on.warn(str(error).split("\n", 1)[0])
        return
    under, deck = said.option("under"), on.deck
    wanted: Command
    if found.team is not None:
        wanted = commands.AddSupervisor(parent=under, team=found.team)
    else:
        wanted = commands.AddAgent(supervisor=under, spec=found.agents[0], also=found.agents[1:])

    def answered(said: object) -> None:
        if said is not None and deck.allow(found.references, found.path, found.sha256):
            deck.order(wanted)

    if not found.references:
        answered(wanted)
        return
    told = (f"It runs {', '.join(found.references)}.", "Adding it trusts that code: look at it first.")
    on.app.push_screen(
        dialogs.dialog.Confirm(f"Add the agents in {file.name}", lambda _: told, "Add and trust it", wanted), answered
    )


TEAM = (
    Action(
        name="move",
        key="m",
        does=_move,
        writes=True,
        of=members,
        then=supervisors,
        arguments="[NAME] [SUPERVISOR]",
        told="move an agent, or a supervisor with all under it, under another supervisor",
        says="move a member, with all under it, to another supervisor",
    ),
    Action(
        name="capability",
        key="c",
        options=None,
        does=_capability,
        writes=True,
        of=agents,
        arguments="[AGENT] [+WORD] [-WORD]",
        told="change what an agent can do",
        says="change what an agent can do",
    ),
    Action(
        name="set",
        key="o",
        options=None,
        label="settings",
        does=_set,
        writes=True,
        of=supervisors,
        then=lambda state, before: [f"{key}=" for key in SETTINGS],
        arguments="[SUPERVISOR] [key=value …]",
        told="change the settings of a supervisor",
        says="change the settings of a supervisor",
    ),
    Action(
        name="cancel",
        key="ctrl+d",
        does=_cancel,
        writes=True,
        for_marked=True,
        of=open_work,
        arguments="[RUN|TASK]",
        told="cancel a task or a run; remove an agent; asks first",
        says="stop work at its next step",
    ),
    Action(
        name="remove",
        key="R",
        does=_remove,
        writes=True,
        for_marked=True,
        of=members,
        arguments="[NAME]",
        told="remove an agent",
        says="remove an agent, or an empty supervisor",
    ),
    Action(
        name="run",
        key="n",
        label="request",
        does=_request,
        writes=True,
        verbatim=True,
        arguments="[REQUEST]",
        told="give the team, or the supervisor under the cursor, a request",
        says="give the team a request",
    ),
    Action(
        name="add",
        does=_add,
        writes=True,
        options=("under",),
        arguments="FILE [--under SUPERVISOR]",
        says="add the agents of a file",
    ),
)
