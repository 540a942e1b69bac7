"""`simulate`: simulate hours of requests, crashes and operators of a team in seconds, and report the result."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dashboard.cli.printing.output import DONE, WORK_FAILED, emit, say
from dashboard.cli.printing.times import Within
from dashboard.views.words.amounts import duration, pluralize

if TYPE_CHECKING:
    from collections import Counter

    from engine.simulation.plan import HistoryResult
    from engine.simulation.report import Cause, Report

SAY_EVERY_S = 5.0
SEEDS = 20
MAX_CAUSES = 5
"""Causes of failed tasks that are printed; --json has all."""
LAST_EVENTS = 60
"""Events of a broken history that are printed; earlier ones are counted."""


@click.command("simulate")
@click.argument("team", required=False, type=click.Path(path_type=Path))
@click.option(
    "--seeds", type=click.IntRange(1, 1_000_000), default=SEEDS, show_default=True, help="How many histories."
)
@click.option("--seed", type=click.IntRange(0), help="One history, by the seed that a failure prints.")
@click.option(
    "--hours",
    type=Within(0.1, 1_000),
    default=6.0,
    show_default=True,
    help="For how long requests and commands come; each goes on until its work has ended.",
)
@click.pass_context
def simulate(ctx: click.Context, team: Path | None, *, seeds: int, seed: int | None, hours: float) -> int:
    """Simulate the team file TEAM: random requests, operators, failing agents and crashes, on a clock that jumps.

    None of its code is imported: every agent is replaced by a simulated one with the same name, specialties, policies
    and limits. The same seed is the same history each time. Without TEAM each seed draws a team of its own, which
    tests the engine itself. Exit status 1 if a rule of the engine is broken.
    """
    from engine.simulation.report import simulate as run  # the engine, which --help does without
    from engine.teamfile import read_team

    file = read_team(team) if team is not None else None
    spec = file.load_command().team if file is not None else None
    chosen = range(1, seeds + 1) if seed is None else [seed]
    report = run(chosen, spec, hours=hours, progress=_progress(len(chosen)))
    replay = None if report.counterexample is None else _replay(team, report.counterexample.plan.seed, hours)
    emit(ctx, _body(report, team, replay), lambda: _report_lines(report, replay))
    return WORK_FAILED if report.counterexample is not None else DONE


def _progress(seeds: int) -> "Callable[[Report], None]":
    said_s = time.monotonic()

    def report_progress(report: "Report") -> None:
        nonlocal said_s
        if sys.stderr.isatty() and time.monotonic() - said_s >= SAY_EVERY_S:
            said_s = time.monotonic()
            say(f"{report.seeds} of {seeds} histories, {report.hours:,.0f} simulated hours")

    return report_progress


def _replay(team: Path | None, seed: int, hours: float) -> str:
    length = "" if hours == 6.0 else f" --hours {hours:g}"
    if team is None:
        return f"make simulate SEED={seed}" if not length else f"quarterdeck simulate --seed {seed}{length}"
    return f"quarterdeck simulate {team} --seed {seed}{length}"


def _body(report: "Report", team: Path | None, replay: str | None) -> dict[str, Any]:
    return {
        "v": 1,
        "kind": "simulation",
        "team": None if team is None else str(team),
        "seeds": report.seeds,
        "hours": round(report.hours, 3),
        "wall_s": round(report.wall_s, 3),
        **{name: getattr(report, name) for name in ("events", "engines", "commands", "refused")},
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
            {
                **{name: getattr(cause, name) for name in ("agent", "example", "advice")},
                "cause": cause.kind,
                "tasks": count,
            }
            for cause, count in _worst(report)
        ],
        "starved": report.starved,
        "left": dict(report.blocked_tasks),
        "broken": None if report.counterexample is None else _broken(report.counterexample, replay),
    }


def _broken(past: "HistoryResult", replay: str | None) -> dict[str, Any]:
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


def _report_lines(report: "Report", replay: str | None) -> list[str]:
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
        ("deadlocks", "none"),
        ("no agent for", ", ".join(f"{name} ({n})" for name, n in report.blocked_tasks.most_common(3)) or "no task"),
        ("invariants", "all hold"),
    ]
    if report.counterexample is not None:
        assert report.counterexample.violation is not None
        is_deadlock = report.counterexample.violation.law == "whatever_can_move_has_moved"
        rows[-3] = ("deadlocks", "found, see below" if is_deadlock else "none")
        rows[-1] = ("invariants", "BROKEN")
    lines = [f"{name:<13}{text}" for name, text in rows if name or text]
    return [*lines, *(_broken_lines(report.counterexample, replay) if report.counterexample is not None else [])]


def _failures(report: "Report") -> list[tuple[str, str]]:
    """Return why tasks failed, and which change to the team would have prevented it."""
    rows: list[tuple[str, str]] = []
    for cause, count in _worst(report)[:MAX_CAUSES]:
        why = cause.example if cause.kind in cause.example else f"{cause.kind}: {cause.example}"
        rows.append(("" if rows else "failed", f"{pluralize(count, 'task')} of {cause.agent}: {why}"))
        rows.append(("", f"  to change it: {cause.advice}"))
    return rows


def _worst(report: "Report") -> "list[tuple[Cause, int]]":
    return sorted(report.failures.values(), key=lambda cause_count: -cause_count[1])


def _format_counts(counts: "Counter[str]") -> str:
    kinds = [f"{name} ({count:,})" for name, count in counts.most_common(MAX_CAUSES)]
    more = f", {pluralize(len(counts) - MAX_CAUSES, 'more kind')}" if len(counts) > MAX_CAUSES else ""
    return ", ".join(kinds) + more or "nothing"


def _bottlenecks(report: "Report") -> str:
    bottlenecks = [
        f"{name} ({duration(in_all)} in all, p95 {duration(report.wait_ms(0.95, name))})"
        for name, in_all in report.bottlenecks[:3]
    ]
    return ", ".join(bottlenecks) or "nobody"


def _broken_lines(past: "HistoryResult", replay: str | None) -> list[str]:
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


def _story(past: "HistoryResult") -> list[str]:
    """Return what happened, from outside and inside, one line each."""
    from dashboard.views.words.names import Names
    from dashboard.views.words.sentences import sentence
    from engine.simulation.world import START_MS

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
