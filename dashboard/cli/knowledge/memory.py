"""`memory`: what the agents of a team remember; searched and shown from the file, forgotten by its engine."""

from typing import Any

import click

from dashboard.cli.group import shared_options
from dashboard.cli.knowledge.default_command import DefaultCommandGroup
from dashboard.cli.lists import TeamReading, read_team
from dashboard.cli.printing.items import Item, fields_of
from dashboard.cli.printing.listings import make_table
from dashboard.cli.printing.output import DONE, REFUSED, emit, fail
from dashboard.cli.printing.times import FiniteRange
from dashboard.cli.sending import Sending, send_and_report, sending_options
from dashboard.reading.insights import InsightSearch, text_of
from dashboard.views.knowledge.memory import COLUMNS, EMPTY, InsightRow, insight_facts
from engine.core.commands import Forget
from engine.core.errors import BadValue
from engine.core.queries.targets import id_in
from engine.core.queries.team.memory import versions_of
from engine.core.specs.memory import InsightQuery
from engine.core.state import Insight

MAX_ROWS = 50_000
_OPTIONS = {"segment": "--segment", "any_of": "--any-tag", "all_of": "--all-tag", "min_importance": "--min-importance"}
"""Options by the condition of a search that they set."""


@click.group("memory", cls=DefaultCommandGroup)
def memory() -> None:
    """Find what the agents of the team remember, show it in full, or let it be forgotten.

    quarterdeck memory [WORDS] searches: the best match first, or the most important, then the newest. A word that
    is the name of a subcommand needs it: quarterdeck memory search show.
    """


@memory.command("search")
@click.argument("words", nargs=-1)
@click.option("--segment", metavar="S", help="Only this segment; private is of each agent alone.")
@click.option("--any-tag", "any_of", metavar="T", multiple=True, help="With one of these tags at least.")
@click.option("--all-tag", "all_of", metavar="T", multiple=True, help="With each of these tags.")
@click.option("--min-importance", type=FiniteRange(0, 1), default=0, metavar="X", help="From 0 to 1.")
@click.option("--unused", is_flag=True, help="Only what no step has read.")
@click.option("--limit", type=click.IntRange(1, MAX_ROWS), default=50, show_default=True, help="The most insights.")
@click.pass_context
def search(ctx: click.Context, /, *, words: tuple[str, ...], limit: int, **conditions: Any) -> int:
    """Find insights by words, tags and segment.

    The subcommand may be left out. What was superseded or has expired is not found.
    """
    try:
        query = InsightQuery(text=" ".join(words), **conditions)
    except BadValue as error:
        option = _OPTIONS.get(str(error.path[0]), "WORDS")
        fail("usage", f"{option} {error.text}", "see: quarterdeck memory search --help")
    with read_team(ctx) as look:
        insights = look.state.insights
        found = InsightSearch().search(look.reader, look.state, query, now_ms=look.now_ms, limit=limit)
        rows = [_row(look, insights[insight_id]) for insight_id in found.ids]
    is_cut = found.total > len(rows)
    empty = "no insight matches" if insights else "; ".join(EMPTY)
    cut = [f"{len(rows):,} of {found.total:,}; --limit shows more"] if is_cut else []
    body = look.body([insight_item(row) for row in rows], total=found.total, cut=is_cut)
    emit(ctx, "memory", body, lambda: [*make_table(COLUMNS, rows, empty=empty).lines(), *cut])
    return DONE


@memory.command("show")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.pass_context
def show(ctx: click.Context, /, *, ids: tuple[str, ...]) -> int:
    """Show insights in full.

    Their text, the step in which each was written, who read it, and its other versions.
    """
    with read_team(ctx) as look:
        rows = [_row(look, _insight(look, insight_id)) for insight_id in dict.fromkeys(ids)]
    items = [_full_item(look, row) for row in rows]
    emit(ctx, "insights", look.body(items), lambda: [line for row in rows for line in _full_lines(look, row)][:-1])
    return DONE


@memory.command("forget")
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@sending_options
@click.pass_context
def forget(ctx: click.Context, /, *, ids: tuple[str, ...]) -> int:
    """Let insights be forgotten, all or none.

    No agent finds them any more. Their texts stay in the journal.
    """
    return send_and_report(ctx, Sending.of(ctx), Forget(insights=list(dict.fromkeys(map(id_in, ids)))))


for command in memory.commands.values():
    command.params += shared_options()


def insight_item(row: InsightRow) -> Item:
    """Return an insight."""
    insight = row.insight
    evidence = insight.evidence and fields_of(insight.evidence, "run_id task_id step")
    names = "at_ms expires_ms version supersedes superseded_by reads"
    return {
        **fields_of(insight, "id author segment tags importance"),
        "text": row.text,
        **fields_of(insight, names),
        "evidence": evidence,
    }


def _full_item(look: TeamReading, row: InsightRow) -> Item:
    versions = [fields_of(version, "id version author at_ms") for version in versions_of(look.state, row.insight)]
    return {**insight_item(row), "agent_id": row.insight.agent_id, "readers": row.insight.readers, "versions": versions}


def _full_lines(look: TeamReading, row: InsightRow) -> list[str]:
    facts = insight_facts(look.state, row.insight, look.now_ms)
    wide = max(len(label) for label, _ in facts)
    lines = [f"{label:<{wide}}  {fact}" for label, fact in facts]
    return [row.insight.id, *lines, "", *row.text.splitlines(), ""]


def _row(look: TeamReading, insight: Insight) -> InsightRow:
    return InsightRow(insight, text_of(look.reader, insight.text), look.now_ms)


def _insight(look: TeamReading, insight_id: str) -> Insight:
    insight = look.state.insights.get(id_in(insight_id))
    if insight is None:
        text = f"there is no insight {insight_id!r:.60}; it may be forgotten by now"
        fail("unknown_insight", text, "list them with: quarterdeck memory", REFUSED)
    return insight
