"""The report of `simulate`, as lines and as JSON. See docs/reference/command-line.md."""

from collections import Counter
from pathlib import Path
from typing import Any

from dashboard.cli.printing.items import fields_of
from dashboard.views.words.amounts import duration, pluralize
from dashboard.views.words.names import Names
from dashboard.views.words.sentences import sentence
from engine.simulation.plan import HistoryResult
from engine.simulation.report import Cause, SimulationReport
from engine.simulation.world import START_MS

MAX_CAUSES = 5
"""Causes of failed tasks that are printed; --json has all."""
LAST_EVENTS = 60
"""Events of a broken history that are printed; earlier ones are counted."""


def report_body(report: SimulationReport, team: Path | None, replay: str | None) -> dict[str, Any]:
    """Return it in the shape of `--json`; `replay` is the command that shows a broken history again."""
    return {
        "team": None if team is None else str(team),
        "seeds": report.seeds,
        "hours": round(report.hours, 3),
        "wall_s": round(report.wall_s, 3),
        **fields_of(report, "events engines commands refused"),
        **{name: dict(getattr(report, name)) for name in ("refusals", "runs", "tasks")},
        "attempts": report.attempts,
        "retries": report.retries,
        "wait_p95_ms": report.wait_ms(0.95),
        "wait_longest_ms": report.wait_ms(1.0),
        "agents": {
            name: {"attempts": count, "wait_p95_ms": report.wait_ms(0.95, name)}
            for name, count in sorted(report.workers.items())
        },
        "unused": report.unused,
        "trouble": dict(report.mishaps),
        "faults": dict(report.faults),
        "failures": [
            {**fields_of(cause, "agent example advice"), "cause": cause.kind, "tasks": count}
            for cause, count in _sort_causes(report)
        ],
        "starved": report.starved,
        "left": dict(report.blocked_tasks),
        "broken": None if report.counterexample is None else _violation_fields(report.counterexample, replay),
    }


def _violation_fields(past: HistoryResult, replay: str | None) -> dict[str, Any]:
    assert past.violation is not None
    broken = past.violation
    return {
        "seed": past.plan.seed,
        "invariant": broken.law,
        "says": broken.statement,
        "what": broken.details,
        "seq": broken.seq,
        "replay": replay,
        "story": _story(past),
    }


def report_lines(report: SimulationReport, replay: str | None) -> list[str]:
    """Return it in words; `replay` as in `report_body`."""
    broken = None if report.counterexample is None else report.counterexample.violation
    is_deadlock = broken is not None and broken.law == "whatever_can_move_has_moved"
    rate = report.hours / report.wall_s * 60 if report.wall_s else 0.0
    refusals = ", ".join(f"{kind} ({count:,})" for kind, count in report.refusals.most_common(3))
    refused = f", {report.refused:,} refused: {refusals}" if report.refused else ""
    runs, tasks = (
        ", ".join(f"{count:,} {name}" for name, count in sorted(counter.items())) or "none"
        for counter in (report.runs, report.tasks)
    )
    rows: list[tuple[str, str]] = [
        ("simulated", f"{report.hours:,.1f} h in {pluralize(report.seeds, 'history', 'histories')}"),
        ("", f"{report.wall_s:.1f} s of real time, {rate:,.0f} h a minute, {report.events:,} events"),
        ("engines", f"{report.engines:,} started, {report.engines - report.seeds:,} of them after a crash or a stop"),
        ("commands", f"{report.commands:,}, {report.accepted:.0%} accepted{refused}"),
        ("runs", runs),
        ("tasks", tasks),
        ("attempts", f"{report.attempts:,}, {report.retries:,} of them retries"),
        ("trouble", f"in {pluralize(report.mishaps.total(), 'attempt')}: {_format_counts(report.mishaps)}"),
        ("", f"around the team: {_format_counts(report.faults)}"),
        *_failures(report),
        ("wait p95", duration(report.wait_ms(0.95))),
        ("wait longest", duration(report.wait_ms(1.0))),
        ("waited for", _bottlenecks(report)),
        ("busiest", ", ".join(f"{name} ({count:,})" for name, count in report.workers.most_common(5)) or "nobody"),
        ("never used", ", ".join(report.unused) or "nobody"),
        (
            "starved",
            f"{pluralize(report.starved, 'task')} waited for more than 6 h" if report.starved else "no task",
        ),
        ("deadlocks", "found, see below" if is_deadlock else "none"),
        ("no agent for", ", ".join(f"{name} ({n})" for name, n in report.blocked_tasks.most_common(3)) or "no task"),
        ("invariants", "all hold" if broken is None else "BROKEN"),
    ]
    lines = [f"{name:<13}{text}" for name, text in rows if name or text]
    return [*lines, *(_broken_lines(report.counterexample, replay) if report.counterexample is not None else [])]


def _failures(report: SimulationReport) -> list[tuple[str, str]]:
    """Return why tasks failed, and which change to the team would have prevented it."""
    rows: list[tuple[str, str]] = []
    for cause, count in _sort_causes(report)[:MAX_CAUSES]:
        reason = cause.example if cause.kind in cause.example else f"{cause.kind}: {cause.example}"
        rows.append(("" if rows else "failed", f"{pluralize(count, 'task')} of {cause.agent}: {reason}"))
        rows.append(("", f"  to change it: {cause.advice}"))
    return rows


def _sort_causes(report: SimulationReport) -> list[tuple[Cause, int]]:
    return sorted(report.failures.values(), key=lambda cause_count: -cause_count[1])


def _format_counts(counts: Counter[str]) -> str:
    kinds = [f"{name} ({count:,})" for name, count in counts.most_common(MAX_CAUSES)]
    more = f", {pluralize(len(counts) - MAX_CAUSES, 'more kind')}" if len(counts) > MAX_CAUSES else ""
    return ", ".join(kinds) + more or "nothing"


def _bottlenecks(report: SimulationReport) -> str:
    bottlenecks = [
        f"{name} ({duration(in_all)} in all, p95 {duration(report.wait_ms(0.95, name))})"
        for name, in_all in report.bottlenecks[:3]
    ]
    return ", ".join(bottlenecks) or "nobody"


def _broken_lines(past: HistoryResult, replay: str | None) -> list[str]:
    broken = past.violation
    assert broken is not None
    return [
        "",
        f"seed {past.plan.seed} breaks an invariant: {broken.statement}.",
        f"  {broken.details}",
        f"  ({broken.law}, at seq {broken.seq})",
        "",
        "the shortest history found that breaks it:",
        *(f"  {line}" for line in _story(past)),
        "",
        f"to see it again: {replay}",
    ]


def _story(past: HistoryResult) -> list[str]:
    """Return what happened, from outside and inside, one line each."""
    names, lines, outside = Names(), [], list(past.lines)
    for seq, event in enumerate(past.events, 1):
        while outside and outside[0].seq < seq:
            lines.append(_line(outside[0].at_ms, f"** {outside.pop(0).words}"))
        names.learn([event])
        lines.append(_line(event.at_ms - START_MS, f"{sentence(event, names).text}  [{seq} {event.type}]"))
    lines += [_line(line.at_ms, f"** {line.words}") for line in outside]
    hidden = len(lines) - LAST_EVENTS
    return lines if hidden <= 0 else [f"({hidden} earlier lines)", *lines[-LAST_EVENTS:]]


def _line(at_ms: int, text: str) -> str:
    seconds = max(0, at_ms) / 1000
    return f"{int(seconds // 3600)}:{int(seconds // 60 % 60):02}:{seconds % 60:06.3f}  {text}"
