"""Actions about work and questions: retry, priority, deadline, reassign, answer."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from dashboard import dialogs
from dashboard.actions.action import Acting, Action, Spoken, agents, one_of, open_work
from dashboard.actions.marked import ask_of_all, in_bulk
from dashboard.views.changes.bulk import retrying
from dashboard.views.changes.targets import Target
from dashboard.views.drawing.rows import Cell, labelled
from dashboard.views.inbox import question_of
from dashboard.views.words.absent import is_issued
from dashboard.views.words.amounts import moment, remaining
from dashboard.views.words.parsers import Line, Mistyped, due_in_s
from engine.core.commands import Abort, Command, RetryWork, RevokeGrant, SetDeadline, SetPriority, Steer
from engine.core.errors import Refused
from engine.core.queries.money.budget import deadline_of
from engine.core.queries.targets import at as at_id
from engine.core.queries.targets import find_task, find_work, id_in
from engine.core.queries.work.reach import work_reached_by
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.core.state import State
from engine.core.validation.bounds import LOWEST_PRIORITY

if TYPE_CHECKING:
    from dashboard.engines.client import CommandReply


def _retry(at: Acting, said: Spoken) -> None:
    if said.word() is None and (marked := at.marked()):
        in_bulk(at, retrying(at.state, marked))
        return
    word = said.word()
    if word is not None and _has_ended_long_ago(at.state, id_in(word)):
        at.deck.order(RetryWork(target=word))
        return
    target = at.asked(word, find_work)
    if target is None:
        return
    if target.kind == "task" or at.state.summary(target.id) is not None:
        at.deck.order(RetryWork(target=target.id))
    else:
        at.warn(f"{target.said} cannot be retried; a task or a finished run can")


def _has_ended_long_ago(state: State, run_id: str) -> bool:
    """Tell whether a run has ended that the state has dropped; the engine finds it in the journal."""
    is_there = run_id in state.runs or state.summary(run_id) is not None
    return run_id.startswith("r") and is_issued(state, run_id) and not is_there


def _replay(at: Acting, said: Spoken) -> None:
    target = at.asked(said.word(), find_work)
    if target is None or not at.deck.at_hand("it may import the code of agents; in a shell: quarterdeck replay RUN"):
        return
    if at.state.summary(target.id) is not None:
        at.deck.open("replay", target.id)
    else:
        at.warn(f"{target.said} cannot be replayed; a run that has ended can")


def _ask_for(line: Line, what: str, at: Acting, said: Spoken) -> None:
    """Ask for a property of an open run or task, or of all that are marked."""
    if said.word() is None and at.marked():
        ask_of_all(at, line)
        return
    target = at.asked(said.word(), find_work)
    if target is None:
        return
    task = at.state.tasks.get(target.id)
    if target.id in at.state.runs or (task is not None and not task.ended):
        at.ask(dialogs.line.LineDialog(line, target.id, said.word(1) or ""))
        return
    ended = task is not None or target.kind == "run"
    at.warn(f"{target.said} {'has ended already' if ended else f'has no {what}; a run or a task has'}")


def _priority_now(state: State, target_id: str, _now_ms: int) -> Sequence[Cell]:
    subject = state.runs.get(target_id) or state.tasks.get(target_id)
    now = str(subject.priority) if subject is not None else "–"
    told = "0 goes first and may take slots from what is less urgent; 9 goes last, and rises while it waits"
    return [labelled("now", f"{now}; {DEFAULT_PRIORITY} is usual"), Cell(told, "muted")]


def _priority(target_id: str, text: str, _now_ms: int) -> Command | None:
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()):
        raise Mistyped(f"{text!r} is not a priority; write 0, the most urgent, to {LOWEST_PRIORITY}")
    return SetPriority(target=target_id, priority=int(text))


def _deadline_now(state: State, target_id: str, now_ms: int) -> Sequence[Cell]:
    found, now = deadline_of(state, target_id), "none"
    if found is not None:
        whose = "" if found.own else ", inherited"
        now = f"{moment(found.due_ms, now_ms)}, in {remaining(found.due_ms - now_ms)}{whose}"
    told = "at the deadline, waiting tasks are cancelled and attempts stop at their next step; what is done is kept"
    return [labelled("now", now), Cell(told, "muted")]


def _deadline(target_id: str, text: str, now_ms: int) -> Command | None:
    return SetDeadline(target=target_id, deadline_s=due_in_s(text, now_ms)) if text.strip() else None


PRIORITY = Line(
    title="Priority of {}", placeholder=f"0 (first) to {LOWEST_PRIORITY} (last)", about=_priority_now, meant=_priority
)
DEADLINE = Line(
    title="Deadline of {}",
    placeholder="90s, 5m, 2h from now on, or 14:30; none takes it away",
    about=_deadline_now,
    meant=_deadline,
)


def _heard_by(state: State, target_id: str, _now_ms: int) -> Sequence[Cell]:
    waiting = state.tasks[target_id].steers if target_id in state.tasks else {}
    told = "each conversation of it, and of all work below, hears it at its next turn; a crash does not lose it"
    told += "; a function hears it where it calls ctx.steers()"
    return [Cell(told, "muted"), *(labelled("not heard", text) for text in waiting.values())]


def _message(target_id: str, text: str, _now_ms: int) -> Command | None:
    return Steer(target=at_id(target_id), text=text.strip()) if text.strip() else None


STEER = Line(title="Say to {}", placeholder="a message", about=_heard_by, meant=_message, does="Say it", keeps=True)


def _steer(at: Acting, said: Spoken) -> None:
    if not said.said and at.marked():
        ask_of_all(at, STEER)
        return
    target = at.asked(said.word())
    if target is not None and _has_work(at, target):
        at.ask(dialogs.line.LineDialog(STEER, target.id, said.rest_as_line()))


def _has_work(at: Acting, target: Target) -> bool:
    """Tell whether a message or a stop would reach anything; say so where it would not, before it is asked for."""
    try:
        return bool(work_reached_by(at.state, target.at))
    except Refused as refused:
        at.warn(refused.reason)
        return False


def _abort(at: Acting, said: Spoken) -> None:
    target = at.asked(said.word())
    if target is None or not _has_work(at, target):
        return
    told = ("Attempts are stopped in the middle of a step, with all work below.", "Finished steps are kept.")
    question = f"Abort {target.titled}"
    at.ask(dialogs.dialog.Confirm(question, lambda _: told, "Abort at once", Abort(target=target.at)))


def _reassign(at: Acting, said: Spoken) -> None:
    target = at.asked(said.word(), find_task)
    if target is None:
        return
    task = at.state.tasks.get(target.id)
    if task is None or task.kind != "agent" or task.ended:
        at.warn(f"{target.said} cannot be given to another agent; an open task of an agent can")
        return
    at.ask(dialogs.members.ReassignDialog(task.id, said.word(1), now=said.option("now") is not None))


def _answer(at: Acting, said: Spoken) -> None:
    name = said.word()
    marked = [] if name is not None else [one for one in at.marked() if one in at.state.escalations]
    if marked:
        _ask_for_answer(at, marked)
        return
    target = at.target() if name is None else None
    found = question_of(at.state, name or (target.id if target is not None else ""))
    if found is None and name is None and len(at.state.escalations) == 1:
        found = next(iter(at.state.escalations.values()))
    if found is None:
        at.warn("no question waits for an answer here; 8 shows those there are")
        return
    _ask_for_answer(at, [found.id], said.word(1), said.option("output") or "")


def _ask_for_answer(at: Acting, ids: Sequence[str], said: str | None = None, output: str = "") -> None:
    """Ask for one answer to questions; where another one came first, show that, and what was written."""
    dialog = dialogs.answer.AnswerDialog(*ids, said=said, output=output)

    def sent(outcome: "CommandReply") -> None:
        dialog.after(outcome)
        written = dialog.written
        if outcome.status == "refused" and written and not at.app.screen.is_modal:
            _ask_for_answer(at, ids, dialog.answered, written)

    def answered(command: Command | None) -> None:
        if command is not None:
            at.unmark()
        at.deck.order(command, then=sent)

    at.app.push_screen(dialog, answered)


def _revoke(at: Acting, said: Spoken) -> None:
    grant = said.word()
    if grant is None:
        at.warn(f"revoke GRANT: which one? {', '.join(at.state.grants) or 'nothing is granted'}")
    else:
        at.deck.order(RevokeGrant(grant=grant))


def _steerable(state: State, before: str) -> list[str]:
    return [*open_work(state), *agents(state)]


def _tasks(state: State, _before: str) -> list[str]:
    return [task.id for task in state.tasks.values() if not task.ended and task.kind == "agent"]


def _answers(state: State, question: str) -> list[str]:
    asked = state.escalations.get(question)
    return list(asked.options) if asked is not None else []


WORK = (
    Action(
        name="steer",
        key="s",
        options=None,
        does=_steer,
        writes=True,
        for_marked=True,
        of=_steerable,
        arguments="[RUN|TASK|AGENT] [TEXT]",
        told="say something to a run, a task or an agent at work",
        says="send a message to running work",
    ),
    Action(
        name="abort",
        does=_abort,
        writes=True,
        of=_steerable,
        arguments="[RUN|TASK|AGENT]",
        says="stop work at once, in the middle of a step",
    ),
    Action(
        name="retry",
        key="r",
        does=_retry,
        writes=True,
        for_marked=True,
        of=open_work,
        arguments="[RUN|TASK]",
        told="retry a failed task; submit a finished run again",
        says="retry failed work",
    ),
    Action(
        name="replay",
        key="w",
        does=_replay,
        of=lambda state, before: [run.id for run in state.finished],
        arguments="[RUN]",
        told="replay a finished run, without any call",
        says="replay a finished run",
    ),
    Action(
        name="priority",
        key="P",
        does=partial(_ask_for, PRIORITY, "priority"),
        writes=True,
        for_marked=True,
        of=open_work,
        then=one_of(*map(str, range(LOWEST_PRIORITY + 1))),
        arguments="[RUN|TASK] [0–9]",
        shown="P  D",
        told="priority, deadline of a task or a run",
        says="set the priority: 0 goes first, 9 last",
    ),
    Action(
        name="deadline",
        key="D",
        does=partial(_ask_for, DEADLINE, "deadline"),
        writes=True,
        for_marked=True,
        of=open_work,
        then=one_of("none"),
        arguments="[RUN|TASK] [TIME|none]",
        says="set when work has to end: 90s, 5m, 2h, 14:30",
    ),
    Action(
        name="reassign",
        key="a",
        does=_reassign,
        writes=True,
        of=_tasks,
        then=agents,
        options=("now",),
        arguments="[TASK] [AGENT] [--now]",
        told="give a task to another agent",
        says="give a task to another agent",
    ),
    Action(
        name="answer",
        does=_answer,
        writes=True,
        for_marked=True,
        of=lambda state, before: list(state.escalations),
        then=_answers,
        options=("output",),
        arguments="[QUESTION] [ANSWER] [--output TEXT]",
        says="answer what waits for a person",
    ),
    Action(
        name="revoke",
        does=_revoke,
        writes=True,
        of=lambda state, before: list(state.grants),
        arguments="GRANT",
        says="ask again about calls of a tool",
    ),
)
