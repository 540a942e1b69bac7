"""`simulate`: simulate hours of requests, crashes and operators of a team in seconds, and report the result."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dashboard.cli.printing.output import DONE, WORK_FAILED, emit, say
from dashboard.cli.printing.times import FiniteRange

if TYPE_CHECKING:
    from engine.simulation.report import SimulationReport

SAY_EVERY_S = 5.0
SEEDS = 20


@click.command("simulate")
@click.argument("team", required=False, type=click.Path(path_type=Path))
@click.option(
    "--seeds", type=click.IntRange(1, 1_000_000), default=SEEDS, show_default=True, help="How many histories."
)
@click.option("--seed", type=click.IntRange(0), help="One history, by the seed that a failure prints.")
@click.option(
    "--hours",
    type=FiniteRange(0.1, 1_000),
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
    from dashboard.cli.printing.simulation import report_body, report_lines  # the engine, which --help does without
    from engine.simulation.report import simulate as run
    from engine.teamfile import read_team

    file = read_team(team) if team is not None else None
    spec = file.load_command().team if file is not None else None
    chosen_seeds = range(1, seeds + 1) if seed is None else [seed]
    report = run(chosen_seeds, spec, hours=hours, progress=_progress(len(chosen_seeds)))
    replay = None if report.counterexample is None else _replay(team, report.counterexample.plan.seed, hours)
    emit(ctx, "simulation", report_body(report, team, replay), lambda: report_lines(report, replay))
    return WORK_FAILED if report.counterexample is not None else DONE


def _progress(seeds: int) -> "Callable[[SimulationReport], None]":
    said_s = time.monotonic()

    def report_progress(report: "SimulationReport") -> None:
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
