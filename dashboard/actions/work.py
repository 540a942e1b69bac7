"""Actions about work and questions: retry, priority, deadline, reassign, answer."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dashboard import dialogs
from dashboard.actions.action import (
    Action,
    ActionScreen,
    CommandLine,
    agents,
    one_of,
    open_work,
    require_target,
    show_dialog,
)
from dashboard.actions.bulk import ask_line_for_marked, confirm_bulk
from dashboard.views.answers import WITH_OUTPUT
from dashboard.views.changes.bulk import plan_retry
from dashboard.views.changes.targets import Target
from dashboard.views.drawing.rows import Cell, labelled_cell
from dashboard.views.inbox import question_of
from dashboard.views.words.absent import is_issued
from dashboard.views.words.amounts import moment, remaining
from dashboard.views.words.parsers import LineQuestion, parse_deadline_s, parse_priority
from engine.core.commands import Abort, Answer, Command, RetryWork, RevokeGrant, SetDeadline, SetPriority, Steer
from engine.core.errors import Refused
from engine.core.queries.money.budget import deadline_of
from engine.core.queries.people.offers import references_offered
from engine.core.queries.targets import find_task, find_work, id_in, id_target
from engine.core.queries.work.reach import work_reached_by
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import State
from engine.core.validation.bounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    from engine.supervisor.client import CommandReply


def _retry(screen: ActionScreen, line: CommandLine) -> None:
    if line.word() is None and (marked := screen.marked_keys()):
        confirm_bulk(screen, plan_retry(screen.state, marked))
        return
    word = line.word()
    if word is not None and _is_forgotten_run(screen.state, id_in(word)):
        screen.deck.commands.send(RetryWork(target=word))
        return
    target = require_target(screen, word, find_work)
    if target is None:
        return
    if target.kind == "task" or screen.state.summary(target.id) is not None:
        screen.deck.commands.send(RetryWork(target=target.id))
    else:
        screen.deck.messages.warn(f"{target.label} cannot be retried; a task or a finished run can")


def _is_forgotten_run(state: State, run_id: str) -> bool:
    """Return whether a finished run was dropped from the state; the engine still finds it in the journal."""
    is_in_state = run_id in state.runs or state.summary(run_id) is not None
    return run_id.startswith("r") and is_issued(state, run_id) and not is_in_state


def _replay(screen: ActionScreen, line: CommandLine) -> None:
    target = require_target(screen, line.word(), find_work)
    if target is None or not screen.deck.access.has_local_access(
        "it may import the code of agents; in a shell: quarterdeck replay RUN"
    ):
        return
    if screen.state.summary(target.id) is not None:
        screen.deck.open("replay", target.id)
    else:
        screen.deck.messages.warn(f"{target.label} cannot be replayed; a run that has ended can")


def _open_line_dialog(question: LineQuestion, property_name: str, screen: ActionScreen, line: CommandLine) -> None:
    """Ask for a property of an open run or task, or of all marked ones."""
    if line.word() is None and screen.marked_keys():
        ask_line_for_marked(screen, question)
        return
    target = require_target(screen, line.word(), find_work)
    if target is None:
        return
    task = screen.state.tasks.get(target.id)
    if target.id in screen.state.runs or (task is not None and not task.ended):
        show_dialog(screen, dialogs.line.LineDialog(question, target.id, line.word(1) or ""))
        return
    has_ended = task is not None or target.kind == "run"
    screen.deck.messages.warn(
        f"{target.label} {'has ended already' if has_ended else f'has no {property_name}; a run or a task has'}"
    )


def _current_priority(state: State, target_id: str, _now_ms: int) -> Sequence[Cell]:
    subject = state.runs.get(target_id) or state.tasks.get(target_id)
    now = str(subject.priority) if subject is not None else "–"
    text = "0 goes first and may take slots from what is less urgent; 9 goes last, and rises while it waits"
    return [labelled_cell("now", f"{now}; {DEFAULT_PRIORITY} is usual"), Cell(text, "muted")]


def _current_deadline(state: State, target_id: str, now_ms: int) -> Sequence[Cell]:
    deadline, now = deadline_of(state, target_id), "none"
    if deadline is not None:
        whose = "" if deadline.own else ", inherited"
        now = f"{moment(deadline.due_ms, now_ms)}, in {remaining(deadline.due_ms - now_ms)}{whose}"
    text = "at the deadline, waiting tasks are cancelled and attempts stop at their next step; what is done is kept"
    return [labelled_cell("now", now), Cell(text, "muted")]


PRIORITY = LineQuestion(
    title="Priority of {}",
    placeholder=f"0 (first) to {LOWEST_PRIORITY} (last)",
    about=_current_priority,
    parse=lambda target_id, text, now_ms: SetPriority(target=target_id, priority=parse_priority(text)),
)
DEADLINE = LineQuestion(
    title="Deadline of {}",
    placeholder="90s, 5m, 2h from now on, or 14:30; none takes it away",
    about=_current_deadline,
    parse=lambda target_id, text, now_ms: SetDeadline(target=target_id, deadline_s=parse_deadline_s(text, now_ms)),
)


def _pending_messages(state: State, target_id: str, _now_ms: int) -> Sequence[Cell]:
    waiting = state.tasks[target_id].steers if target_id in state.tasks else {}
    text = "each conversation of it, and of all work below, hears it at its next turn; a crash does not lose it"
    text += "; a function hears it where it calls ctx.steers()"
    return [Cell(text, "muted"), *(labelled_cell("not heard", text) for text in waiting.values())]


STEER = LineQuestion(
    title="Say to {}",
    placeholder="a message",
    about=_pending_messages,
    parse=lambda target_id, text, now_ms: Steer(target=id_target(target_id), text=text),
    does="Say it",
    keeps=True,
)


def _steer(screen: ActionScreen, line: CommandLine) -> None:
    if not line.typed_words and screen.marked_keys():
        ask_line_for_marked(screen, STEER)
        return
    target = require_target(screen, line.word())
    if target is not None and _has_work(screen, target, begun=True):
        show_dialog(screen, dialogs.line.LineDialog(STEER, target.id, line.rest_as_line()))


def _has_work(screen: ActionScreen, target: Target, *, begun: bool = False) -> bool:
    """Return whether a message or a stop would reach any work; warn if not, before a dialog opens."""
    try:
        return bool(work_reached_by(screen.state, target.reference, begun=begun))
    except Refused as refused:
        screen.deck.messages.warn(refused.reason)
        return False


def _abort(screen: ActionScreen, line: CommandLine) -> None:
    target = require_target(screen, line.word())
    if target is None or not _has_work(screen, target):
        return
    consequences = ("Attempts are stopped in the middle of a step, with all work below.", "Finished steps are kept.")
    question = f"Abort {target.title}"
    show_dialog(
        screen,
        dialogs.dialog.Confirm(question, lambda _: consequences, "Abort at once", Abort(target=target.reference)),
    )


def _reassign(screen: ActionScreen, line: CommandLine) -> None:
    target = require_target(screen, line.word(), find_task)
    if target is None:
        return
    task = screen.state.tasks.get(target.id)
    if task is None or task.kind != "agent" or task.ended:
        screen.deck.messages.warn(f"{target.label} cannot be given to another agent; an open task of an agent can")
        return
    show_dialog(screen, dialogs.members.ReassignDialog(task.id, line.word(1), now=line.option("now") is not None))


def _answer(screen: ActionScreen, line: CommandLine) -> None:
    name = line.word()
    marked = [] if name is not None else [key for key in screen.marked_keys() if key in screen.state.escalations]
    if marked:
        _ask_for_answer(screen, marked)
        return
    target = screen.target() if name is None else None
    escalation = question_of(screen.state, name or (target.id if target is not None else ""))
    if escalation is None and name is None and len(screen.state.escalations) == 1:
        escalation = next(iter(screen.state.escalations.values()))
    if escalation is None:
        screen.deck.messages.warn("no question waits for an answer here; 8 shows those there are")
        return
    option, output = line.word(1), line.option("output")
    is_whole = option in escalation.options and (output is not None or (escalation.kind, option) not in WITH_OUTPUT)
    command = Answer(escalation=escalation.id, answer=option or "", output=output) if is_whole else None
    if command is not None and not screen.deck.trust.untrusted_references(references_offered(screen.state, command)):
        screen.deck.commands.send(command)
    else:
        _ask_for_answer(screen, [escalation.id], option, output or "")


def _ask_for_answer(screen: ActionScreen, ids: Sequence[str], option: str | None = None, output: str = "") -> None:
    """Ask for answers to questions one by one; if another answer came first, ask again with the draft."""

    def send(command: Command | None) -> None:
        if isinstance(command, Answer):
            screen.deck.commands.send(command, receive=partial(receive, command))

    def receive(command: Answer, outcome: "CommandReply") -> None:
        dialog.handle_answer(command, outcome)
        text = command.output
        if outcome.status == "refused" and isinstance(text, str) and text and not screen.app.screen.is_modal:
            _ask_for_answer(screen, [command.escalation, *command.also], command.answer, text)

    is_named = option is not None or bool(output)
    dialog = dialogs.answer.AnswerDialog(*ids, initial_option=option, output=output, send=None if is_named else send)
    screen.app.push_screen(dialog, send)


def _revoke(screen: ActionScreen, line: CommandLine) -> None:
    grant = line.word()
    if grant is None:
        screen.deck.messages.warn(f"revoke GRANT: which one? {', '.join(screen.state.grants) or 'nothing is granted'}")
    else:
        screen.deck.commands.send(RevokeGrant(grant=grant))


def _steerable(state: State, before: str) -> list[str]:
    return [*open_work(state), *agents(state)]


def _tasks(state: State, _before: str) -> list[str]:
    return [task.id for task in state.tasks.values() if not task.ended and task.kind == "agent"]


def _answer_options(state: State, question: str) -> list[str]:
    escalation = state.escalations.get(question)
    return list(escalation.options) if escalation is not None else []


WORK_ACTIONS = (
    Action(
        name="steer",
        key="s",
        options=None,
        run=_steer,
        writes=True,
        for_marked=True,
        targets=_steerable,
        arguments="[RUN|TASK|AGENT] [TEXT]",
        key_help="say something to a run, a task or an agent at work",
        about="send a message to running work",
    ),
    Action(
        name="abort",
        run=_abort,
        writes=True,
        targets=_steerable,
        arguments="[RUN|TASK|AGENT]",
        about="stop work at once, in the middle of a step",
    ),
    Action(
        name="retry",
        key="r",
        run=_retry,
        writes=True,
        for_marked=True,
        targets=open_work,
        arguments="[RUN|TASK]",
        key_help="retry a failed task; submit a finished run again",
        about="retry failed work",
    ),
    Action(
        name="replay",
        key="w",
        run=_replay,
        targets=lambda state, before: [run.id for run in state.finished],
        arguments="[RUN]",
        key_help="replay a finished run, without any call",
        about="replay a finished run",
    ),
    Action(
        name="priority",
        key="P",
        run=partial(_open_line_dialog, PRIORITY, "priority"),
        writes=True,
        for_marked=True,
        targets=open_work,
        values=one_of(*map(str, range(LOWEST_PRIORITY + 1))),
        arguments="[RUN|TASK] [0–9]",
        key_text="P  D",
        key_help="priority, deadline of a task or a run",
        about="set the priority: 0 goes first, 9 last",
    ),
    Action(
        name="deadline",
        key="D",
        run=partial(_open_line_dialog, DEADLINE, "deadline"),
        writes=True,
        for_marked=True,
        targets=open_work,
        values=one_of("none"),
        arguments="[RUN|TASK] [TIME|none]",
        about="set when work has to end: 90s, 5m, 2h, 14:30",
    ),
    Action(
        name="reassign",
        key="a",
        run=_reassign,
        writes=True,
        targets=_tasks,
        values=agents,
        options=("now",),
        arguments="[TASK] [AGENT] [--now]",
        key_help="give a task to another agent",
        about="give a task to another agent",
    ),
    Action(
        name="answer",
        run=_answer,
        writes=True,
        for_marked=True,
        targets=lambda state, before: list(state.escalations),
        values=_answer_options,
        options=("output",),
        arguments="[QUESTION] [ANSWER] [--output TEXT]",
        about="answer what waits for a person",
    ),
    Action(
        name="revoke",
        run=_revoke,
        writes=True,
        targets=lambda state, before: list(state.grants),
        arguments="GRANT",
        about="ask again about calls of a tool",
    ),
)
