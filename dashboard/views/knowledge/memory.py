"""Insights of the team: the rows of the Memory screen and of `quarterdeck memory`, their filter, one in full. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dashboard.views.drawing.lines import BLANK, Line
from dashboard.views.drawing.prose import prose
from dashboard.views.drawing.row_pane import RowDetails, indent_lines, labelled_paragraphs
from dashboard.views.drawing.rows import Cell, Column, Listing, labelled_cell, make_cells, visible_columns
from dashboard.views.words.amounts import ago, count, moment, pluralize, remaining
from dashboard.views.words.filters import split_terms
from dashboard.views.words.names import JournalTexts
from engine.core.queries.targets import name_of
from engine.core.queries.team.memory import versions_of
from engine.core.records.values import preview
from engine.core.specs.memory import InsightQuery
from engine.core.state import Insight, State

MAX_FORGOTTEN = 5
EMPTY = (
    "the team has remembered nothing yet",
    "agents write insights: ctx.memory.write, remember; you: quarterdeck remember",
)
FILTER_HINT = "words  segment:results  tag:tides  author:scout  unused  superseded"
MAX_WORDS_CHARACTERS = 10_000
MAX_SHOWN_CHARACTERS = 8_000
"""Characters of a text that are shown, from its start."""
_KEYS = ("segment", "tag", "author")


@dataclass(frozen=True, slots=True)
class InsightFilter:
    """Which insights are shown; of segments, tags and authors a part is enough."""

    words: str = ""
    segments: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    unused: bool = False
    superseded: bool = False
    """Those in whose place another was written; without it only the others."""

    @property
    def query(self) -> InsightQuery:
        """What an index is asked; `fits` decides about the rest."""
        words = self.words[:MAX_WORDS_CHARACTERS]
        return InsightQuery(text=words, unused=self.unused, superseded=self.superseded)

    def fits(self, insight: Insight) -> bool:
        """Return whether an insight that the index found passes."""
        tags, author = [tag.casefold() for tag in insight.tags], insight.author.casefold()
        return (
            (insight.superseded_by is not None or not self.superseded)
            and all(part in insight.segment for part in self.segments)
            and all(any(part in tag for tag in tags) for part in self.tags)
            and all(part in author or part.removeprefix("@") == insight.agent_id for part in self.authors)
        )


def parse_insight_filter(line: str) -> InsightFilter:
    """Return the filter of a line that may be unfinished; a word in quotes is only a word."""
    values: dict[str, list[str]] = {key: [] for key in _KEYS}
    terms = split_terms(line)
    words = []
    for term in terms:
        key, _, value = term.partition(":")
        if key in _KEYS:
            values[key] += filter(None, [value.strip('"').casefold()])
        elif term not in ("unused", "superseded"):
            words.append(term.strip('"'))
    return InsightFilter(
        words=" ".join(words),
        segments=tuple(values["segment"]),
        tags=tuple(values["tag"]),
        authors=tuple(values["author"]),
        unused="unused" in terms,
        superseded="superseded" in terms,
    )


class InsightRow(NamedTuple):
    """An insight, with what its cells are made from."""

    insight: Insight
    text: str
    now_ms: int


def _age_cell(row: InsightRow) -> Cell:
    age_ms = row.now_ms - row.insight.at_ms
    return Cell(ago(age_ms).removesuffix(" ago"), "muted", rank=-age_ms)


def _reads_cell(row: InsightRow) -> Cell:
    reads = row.insight.reads
    return Cell(count(reads), "" if reads else "faint", rank=reads)


COLUMNS: tuple[Column[InsightRow, Any], ...] = (
    Column("ID", 6, drop=5, meaning="names it for :forget and in a shell", shell_rank=1,
           cell=lambda row: Cell(row.insight.id, "faint")),
    Column("SEGMENT", 8, grow=1, max_width=20, meaning="where it was written; private is of its author alone",
           shell_rank=2, cell=lambda row: Cell(row.insight.segment, "muted" if row.insight.superseded_by else "")),
    Column("AUTHOR", 8, grow=1, max_width=18, named=True, meaning="who wrote it", shell_rank=3,
           cell=lambda row: Cell(row.insight.author, "strong")),
    Column("IMP", 4, right=True, drop=2, meaning="its importance, from 0 to 1", shell_rank=4,
           cell=lambda row: Cell(importance_text(row.insight), rank=row.insight.importance)),
    Column("VER", 3, right=True, drop=3, meaning="its version; those before it are superseded", shell_rank=5,
           cell=lambda row: Cell(count(row.insight.version), "faint" if row.insight.version == 1 else "",
                                 rank=row.insight.version)),
    Column("AGE", 6, right=True, calm=True, drop=1, meaning="how long ago it was written", shell_rank=6,
           cell=_age_cell),
    Column("READS", 5, right=True, meaning="steps that have read it", shell_rank=7, cell=_reads_cell),
    Column("TAGS", 10, grow=1, max_width=30, drop=4, meaning="words that it is found by", shell_rank=8,
           cell=lambda row: Cell(", ".join(row.insight.tags), "muted")),
    Column("TEXT", 30, grow=4, meaning="its first line", shell_rank=9,
           cell=lambda row: Cell(preview(row.text), "muted" if row.insight.superseded_by else "")),
)  # fmt: skip


class FoundInsights(NamedTuple):
    """What a search found."""

    needle: str = ""
    ids: Sequence[str] = ()
    """The best first, or the most important, then the newest."""


def memory_listing(state: State, found: FoundInsights | None, texts: JournalTexts, *, now_ms: int) -> Listing:
    """Return the insights that were found; None before the first search."""
    columns = visible_columns(COLUMNS)

    def make(key: str) -> tuple[Cell, ...]:
        insight = state.insights.get(key)
        return () if insight is None else make_cells(columns, InsightRow(insight, texts.of(insight.text), now_ms))

    ids = [insight_id for insight_id in found.ids if insight_id in state.insights] if found is not None else []
    empty: Sequence[str] = EMPTY
    if state.insights:
        if found is None:
            empty = ("looking …",)
        elif found.needle:
            empty = ("no insight passes the filter", "esc shows all")
        else:
            empty = ("no insight holds any more", "/ superseded shows those that others took the place of")
    return Listing(columns=columns, keys=ids, make=make, empty=empty, total=len(state.insights))


def describe_insight(state: State, insight: Insight, text: str, *, now_ms: int, width: int, height: int) -> RowDetails:
    """Describe an insight: who wrote it where, who read it, its other versions, and its text."""
    lines: list[Line] = []
    for label, fact in insight_facts(state, insight, now_ms):
        key = fact if label in ("task", "run") else ""  # a click opens it
        lines += [line._replace(key=key) for line in labelled_paragraphs([labelled_cell(label, fact)], width)]
    lines += [BLANK, *indent_lines(prose(text[:MAX_SHOWN_CHARACTERS], width - 2))]
    return RowDetails(f"INSIGHT {insight.id}", lines[:height], "enter opens its task" if insight.evidence else "")


def insight_facts(state: State, insight: Insight, now_ms: int) -> list[tuple[str, str]]:
    """Return what is known of an insight besides its text, each fact with its label."""
    evidence, expires_ms = insight.evidence, insight.expires_ms
    left_ms = None if expires_ms is None else expires_ms - now_ms
    others = [version for version in versions_of(state, insight) if version is not insight]
    readers = ", ".join(str(name_of(state, reader)) for reader in reversed(insight.readers))
    where = f"version {insight.version} in {insight.segment}, importance {importance_text(insight)}"
    facts = [
        ("written", f"{moment(insight.at_ms, now_ms)} by {insight.author or 'nobody known'}: {where}"),
        ("tags", ", ".join(insight.tags)),
        ("expires", "" if left_ms is None else f"in {remaining(left_ms)}" if left_ms > 0 else "it has expired"),
        ("task", "" if evidence is None else evidence.task_id),
        ("run", "" if evidence is None else evidence.run_id),
        ("step", "" if evidence is None else evidence.step),
        ("read", f"by {pluralize(insight.reads, 'step')}; last by {readers}" if readers else "by no step"),
        *((f"version {each.version}", f"{each.id} by {each.author}, {ago(now_ms - each.at_ms)}") for each in others),
    ]
    return [(label, fact) for label, fact in facts if fact]


def importance_text(insight: Insight) -> str:
    """Return an importance without zeros at its end."""
    return f"{insight.importance:.2f}".rstrip("0").rstrip(".")


def forget_lines(state: State, ids: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """Return what forgetting insights would do, with their texts by id as far as they are known."""
    insights = [state.insights[insight_id] for insight_id in ids if insight_id in state.insights]
    shown, more = insights[:MAX_FORGOTTEN], len(insights) - MAX_FORGOTTEN
    read = sum(insight.reads > 0 for insight in insights)
    return [
        *(f"{each.id} by {each.author} in {each.segment}: {preview(texts.get(each.id, ''), 50)}" for each in shown),
        *([f"and {more:,} more"] if more > 0 else []),
        "No agent finds them any more, and this cannot be undone; the texts stay in the journal.",
        *([f"{pluralize(read, 'of them was', 'of them were')} read by a step."] if read else []),
    ]
