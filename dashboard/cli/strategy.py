"""`strategy`: how a supervisor coordinates from now on; with --dry-run what that would do, as the engine decides it."""

from typing import Any

import click

from dashboard.cli.database import team_fields
from dashboard.cli.fields import takes
from dashboard.cli.printing.items import Item, fields_of
from dashboard.cli.printing.output import DONE, emit, fail
from dashboard.cli.sending import Sending, send_and_report, sending_options
from dashboard.views.changes.switching import replanned_ids
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.parsers import Mistyped, parse_settings
from engine.core.commands import SwitchStrategy
from engine.core.events import GroupChange, StrategySwitched
from engine.core.preview import switch_event
from engine.core.state import State
from engine.reading.folding import fold_file


@click.command("strategy")
@takes(SwitchStrategy, "supervisor", "mode", "aggregation", "aggregator", "lead", "run")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the strategy; JSON, or text.")
@click.option("--no-preserve", is_flag=True, help="Stop what runs at its next step; its partial results are kept.")
@click.option("--new-only", is_flag=True, help="Leave open runs as they are.")
@click.option("--dry-run", is_flag=True, help="Show what would be kept and what replanned.")
@sending_options
@click.pass_context
def strategy(
    ctx: click.Context,
    /,
    *,
    settings: tuple[str, ...],
    run: str | None,
    no_preserve: bool,
    new_only: bool,
    dry_run: bool,
    **values: Any,
) -> int:
    """Let SUPERVISOR coordinate by MODE from now on, in its open runs too; finished work is kept."""
    sending = Sending.of(ctx, changes=not dry_run)
    try:
        parsed = parse_settings(settings)
    except Mistyped as error:
        fail("usage", str(error), "such as --set rounds=3")
    command = SwitchStrategy(
        preserve_agent_states=not no_preserve,
        scope="run" if run is not None else "new" if new_only else "open",
        run=run,
        settings=parsed or None,
        **values,
    )
    if not dry_run:
        return send_and_report(ctx, sending, command)
    state = fold_file(sending.path)
    event = switch_event(state, command)
    emit(ctx, "strategy", _body(state, event) | team_fields(sending.path, state), _summary_lines(state, event))
    return DONE


def _body(state: State, event: StrategySwitched) -> Item:
    return {
        "dry_run": True,
        "seq": state.seq,
        **fields_of(event, "supervisor_id previous mode aggregation aggregator"),
        "items": [
            {
                "run_id": change.run_id,
                "kept": change.kept,
                "cancelled": change.cancelled,
                "replanned": replanned_ids(change),
                "added": [node.task_id for node in change.added],
                "removed": change.removed,
            }
            for change in event.groups
        ],
    }


def _summary_lines(state: State, event: StrategySwitched) -> list[str]:
    name = state.supervisors[event.supervisor_id].name
    lines = [f"{name}: {event.previous} → {event.mode}, joined by {event.aggregation}"]
    if not event.groups:
        lines.append("no open run is replanned; the next one is coordinated this way")
    for change in event.groups:
        run = state.runs[change.run_id]
        lines.append(f"{run.id} ({run.title}):")
        lines += [f"  {line}" for line in _lines_of(state, change)]
    return lines


def _lines_of(state: State, change: GroupChange) -> list[str]:
    ended_ids = [task_id for task_id in change.kept if state.tasks[task_id].ended]
    ids = {
        "stays done": ended_ids,
        "goes on": [task_id for task_id in change.kept if task_id not in ended_ids],
        "is stopped": change.cancelled,
        "re-planned": replanned_ids(change),
    }
    titles = {label: [state.tasks[task_id].title for task_id in task_ids] for label, task_ids in ids.items()}
    titles["added"] = [node.title for node in change.added]
    titles["left out"] = [state.tasks[task_id].title for task_id in change.removed]
    lines = [f"{label:<13}{', '.join(task_titles)}" for label, task_titles in titles.items() if task_titles]
    return lines or [f"{pluralize(0, 'task')} to replan"]
