"""`cancel`, `abort`, `undo`, `deadline`, `inbox`, `answer`, `grants`: work, people.

Rule: nothing is changed here. Each subcommand builds one command; `change` sends it and prints its outcome.
"""

import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import click

from dashboard.clean import clean
from dashboard.cli.fields import build_command, takes
from dashboard.cli.lists import read_team
from dashboard.cli.printing.filtering import check_filter, filter_option
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.listings import make_table
from dashboard.cli.printing.output import DONE, TextTable, emit, fail, is_interactive, say
from dashboard.cli.printing.times import seconds
from dashboard.cli.sending import Sending, allow_references, change, send_and_report, sending_options
from dashboard.cli.steps import json_given
from dashboard.views.drawing.call_lines import diffs_of, plain_lines
from dashboard.views.facts.last_words import last_words
from dashboard.views.inbox import COLUMNS, NeedRow, need_fields, need_row
from dashboard.views.measures.digest import make_digest
from dashboard.views.words.amounts import moment
from dashboard.views.words.answers import grant_limits
from dashboard.views.words.filters import Filter
from dashboard.views.words.names import JournalTexts
from dashboard.views.words.parsers import Mistyped, parse_amount
from dashboard.views.words.subcommands import subcommand_of
from engine.core import commands
from engine.core.commands import Command
from engine.core.queries.people.needs import reach_of
from engine.core.queries.people.offers import ADD, references_offered, scored_offers
from engine.core.queries.people.undoables import describe_undoable, irrevocable_after
from engine.core.queries.targets import id_in, name_of
from engine.core.queries.team.code import references_of
from engine.core.state import Escalation, State
from engine.reading.folding import fold_file
from store import Reader


def _stop(command: type[Any]) -> click.Command:
    """Make a subcommand that stops work, and asks first in a terminal."""
    word = subcommand_of(command).word

    def build(sending: Callable[[], Sending], *, yes: bool, **values: object) -> Command:
        if not yes and is_interactive():
            target_text = clean(_describe_target(fold_file(sending().path), str(values["target"])))
            click.confirm(f"{word.capitalize()} {target_text}?", abort=True, err=True)
        return build_command(command, values)

    build.__doc__ = command.__doc__
    ask = click.option("--yes", "-y", is_flag=True, help="Do not ask.")
    return change(word, looks=True)(takes(command)(ask(build)))


cancel = _stop(commands.Cancel)
abort = _stop(commands.Abort)


def _describe_target(state: State, target: str) -> str:
    """Describe a target, so that a person sees what they stop."""
    target = id_in(target)
    if (run := state.runs.get(target)) is not None:
        open_tasks = run.total - run.ended
        return f"the run {run.id} ({run.title}), {run.running} of whose {open_tasks} open tasks are at work"
    if (task := state.tasks.get(target)) is not None:
        return f"the task {task.id} ({task.title}) of the run {task.run_id}, which is {task.status.value}"
    return repr(target)


@change("undo", looks=True)
@click.argument("command_id", metavar="[COMMAND]", required=False)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
def undo(sending: Callable[[], Sending], command_id: str | None, *, yes: bool) -> Command:
    """Take back the last change, or the one whose id begins with COMMAND, where nothing has changed since.

    Swaps, rollbacks, pause, resume, settings, priorities, deadlines, moves and specialties can be taken back. Without
    COMMAND it goes not beyond what cannot be, such as a removal, and names the change before that.
    """
    if command_id is None and not yes and is_interactive():
        words = _describe_last(fold_file(sending().path), time.time_ns() // 1_000_000)
        if words:
            click.confirm(f"Take back: {clean(words)}?", abort=True, err=True)
    return commands.Undo(command_id=command_id)


def _describe_last(state: State, now_ms: int) -> str:
    """Return what an undo would take back; empty if it would be refused."""
    command_id = next(reversed(state.undoable), "")
    if not command_id or irrevocable_after(state, command_id) is not None:
        return ""
    return describe_undoable(state.undoable[command_id], now_ms)


@change("deadline")
@click.argument("target")
@click.argument("time")
def deadline(target: str, time: str) -> Command:
    """End the run or task TARGET in TIME from now (90s, 5m, 2h), if it has not ended; 'none' takes that away."""
    deadline_s = None if time == "none" else seconds(time, "deadline")
    return commands.SetDeadline(target=target, deadline_s=deadline_s)


@click.command("inbox")
@filter_option
@click.pass_context
def inbox(ctx: click.Context, row_filter: Filter) -> None:
    """List the questions that wait for a person."""
    with read_team(ctx) as look:
        state, now_ms, live = look.state, look.now_ms, look.reader.live()
        counts = make_digest(state, working=look.working, live=live, now_ms=now_ms)
        said = _last_words(state, live, look.reader)
    waiting = row_filter.apply(
        [state.escalations[need] for need in counts.needs_person if need in state.escalations],
        lambda escalation: need_fields(state, escalation.id, now_ms),
    )
    troubles = row_filter.apply(
        [need for need in counts.needs_person if need not in state.escalations],
        lambda key: need_fields(state, key, now_ms, counts),
    )
    check_filter(row_filter)
    items = [
        {
            "id": escalation.id,
            "about": escalation.kind,
            **fields_of(escalation, "subject run_id question options default due_ms left_ms asked_ms"),
            "holds_back": reach_of(state, escalation.id),
            "said": said[escalation.id],
            **_call_item(escalation),
        }
        for escalation in waiting
    ]

    def make_lines() -> list[str]:
        needs = ((escalation, need_row(state, escalation.id, now_ms)) for escalation in waiting)
        rows = [  # with options as `answer` takes them
            row._replace(options=escalation.options, said=" ".join(said[escalation.id].split()))
            for escalation, row in needs
        ]
        empty = "no question passes the filter" if row_filter else "no question waits for an answer"
        return [
            *make_table(COLUMNS, rows, empty=empty).lines(),
            *(line for escalation in waiting for line in _call_lines(escalation)),
        ]

    others = [_trouble_item(state, key, need_row(state, key, now_ms, counts)) for key in troubles]
    emit(ctx, "inbox", {**look.body(items), "others": others}, make_lines)
    if others:
        texts = [describe_trouble(item) for item in others]
        say(f"other problems: {', '.join(texts)}")


def _last_words(state: State, live: Mapping[str, str], reader: Reader) -> dict[str, str]:
    """Return what those who ask said before, by question, with texts from the journal."""
    texts = JournalTexts()
    while True:
        texts.begin_redraw()
        said = {key: last_words(state.tasks.get(one.subject), live, texts) for key, one in state.escalations.items()}
        if not texts.missing:
            return said
        bodies = reader.bodies({ref.seq for ref in texts.missing})
        for ref in texts.missing:
            texts.add(ref, bodies.get(ref.seq))


def describe_trouble(item: dict[str, str]) -> str:
    """Return a problem with the command that helps, after whose it is, unless it begins with that name."""
    is_named = item["problem"].startswith(f"{item['of'].rpartition('/')[2]} ")
    return f"{'' if is_named else item['of'] + ' '}{item['problem']} ({item['command']})"


def _call_item(escalation: Escalation) -> dict[str, object]:
    """Return what a question is about: the arguments and diffs of a call, or the agents that it offers."""
    diffs = [{"path": path, "lines": lines} for path, lines in diffs_of(escalation)]
    arguments = {"arguments": escalation.detail["arguments"]} if "arguments" in escalation.detail else {}
    agents = [
        {
            **fields_of(found.spec, "name"),
            "type": found.spec.agent_type,
            "source": found.source.value,
            **fields_of(found, "id hash"),
            "score": None if match is None else match.score,
            "matched": [] if match is None else match.matched,
            "references": [*references_of(found.spec)],
        }
        for found, match in scored_offers(escalation.detail)
    ]
    return {**arguments, **({"diffs": diffs} if diffs else {}), **({"agents": agents} if agents else {})}


def _call_lines(escalation: Escalation) -> list[str]:
    """Return the call that a question is about, as lines below the table."""
    lines = plain_lines(escalation)
    return ["", f"{escalation.id}:", *lines] if lines else []


def _trouble_item(state: State, key: str, row: NeedRow) -> dict[str, str]:
    """Return a problem that needs a person but has no question, with the command that helps."""
    agent = state.agents.get(key)
    if key in state.tasks:
        command = f"quarterdeck retry {key}"
    elif agent is not None and agent.error is None:
        command = f"quarterdeck cancel @{key}"
    else:
        command = f"quarterdeck resume @{key}"
    return {"id": key, "about": row.about.text, "of": row.asker, "problem": row.text, "command": command}


@change("answer", looks=True)
@click.argument("questions")
@click.argument("answer")
@click.option("--trust", is_flag=True, help="With add: allow the code of the agents that join.")
@click.option("--output", metavar="TEXT", help="With 'use': the output that stands for the work.")
@click.option("--output-json", metavar="JSON", help="The same, as a JSON value.")
@click.option("--all-alike", is_flag=True, help="Answer all that are about the same tool, or in the same words.")
@click.option("--for", "lasting", metavar="task|run|TIME", help="With allow_always: for its task, its run, or 10m.")
@click.option("--where", multiple=True, metavar="ARGUMENT", help="With allow_always: only for this argument's value.")
@click.option("--amount", metavar="NUMBER", help="With continue: what the budget is raised by, in its unit.")
def answer(sending: Callable[[], Sending], questions: str, answer: str, *, trust: bool, **options: Any) -> Command:
    """Answer QUESTIONS, by id or that of the task that waits, several with commas; 'quarterdeck inbox' lists them.

    A question that takes a text: quarterdeck answer e1 reply --output TEXT.
    """
    output_json, lasting, amount = options["output_json"], options["lasting"], options["amount"]
    value = options["output"] if output_json is None else json_given(output_json, "a text goes to --output")
    first, *others = questions.split(",")
    is_time = lasting not in (None, "task", "run", "always")
    command = commands.Answer(
        escalation=first,
        answer=answer,
        output=value,
        also=others,
        alike=options["all_alike"],
        amount=None if amount is None else _amount(amount),
        minutes=seconds(lasting, "time of a permission") / 60 if is_time else None,
        scope="until" if is_time else lasting,
        where=list(options["where"]),
    )
    if answer == ADD:
        _ensure_offered_granted(sending(), command, trust=trust)
    return command


def _ensure_offered_granted(sending: Sending, command: commands.Answer, *, trust: bool) -> None:
    """Allow what the agents use that an answer lets in, once a person agrees."""
    if references := references_offered(fold_file(sending.path), command):
        source = f"what {command.escalation} offers"
        allow_references(sending, references, sending.path.resolve(), "", source=source, trust=trust)


def _amount(text: str) -> Decimal:
    try:
        return parse_amount(text)
    except Mistyped:
        fail("usage", f"{text!r} is not an amount", "write a number in the unit of the budget: 2, $0.50, 50k, 10m")


@click.command("grants")
@sending_options
@click.option("--revoke", metavar="ID", help="Ask a person again about calls of the tool.")
@click.pass_context
def grants(ctx: click.Context, revoke: str | None) -> int:
    """List the tools that agents may call, or may not, without a question."""
    if revoke is not None:
        return send_and_report(ctx, Sending.of(ctx), commands.RevokeGrant(grant=revoke))
    with read_team(ctx) as look:
        state, now_ms = look.state, look.now_ms
    grants = list(state.grants.values())
    items = [
        {
            **fields_of(grant, "id agent_id generation tool allows given_ms scope scope_id until_ms"),
            "where": {**grant.where},
            "agent": name_of(state, grant.agent_id),
        }
        for grant in grants
    ]

    def grant_table() -> TextTable:
        rows = [
            (
                grant.id,
                f"{name_of(state, grant.agent_id)} g{grant.generation}",
                grant.tool,
                "allowed" if grant.allows else "rejected",
                grant_limits(grant).strip() or "all calls of this generation",
                moment(grant.given_ms, now_ms),
            )
            for grant in grants
        ]
        return TextTable(("ID", "AGENT", "TOOL", "CALLS ARE", "FOR", "SINCE"), rows, empty="nothing is granted")

    emit(ctx, "grants", look.body(items), grant_table)
    return DONE
