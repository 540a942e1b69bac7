"""`explain`: where the time of a run went, and its critical path.

Rule: the file is only read, and needs no engine.
"""

import click

from dashboard.cli.lists import read_team
from dashboard.cli.printing.items import fields_of
from dashboard.cli.printing.output import DONE, emit, fail
from engine.core.queries.targets import id_in
from engine.core.queries.work.explain import Explanation
from engine.core.records.values import describe_ms
from engine.reading.explaining import explain_run


@click.command("explain")
@click.argument("run")
@click.pass_context
def explain(ctx: click.Context, run: str) -> int:
    """Say where the time of RUN went: shares of its wall time, and who or what took them; open ones until now."""
    run_id = id_in(run)
    with read_team(ctx) as look:
        explanation = explain_run(look.reader, look.state, run_id, look.now_ms, working=look.working)
    if explanation is None:
        fail("unknown_work", f"there is no run {run!r}", "list them with: quarterdeck runs")
    emit(ctx, "explain", explanation_item(explanation), lambda: _format(explanation))
    return DONE


def explanation_item(explanation: Explanation) -> dict[str, object]:
    """Return the JSON fields of an explanation."""
    return {
        **fields_of(explanation, "run_id wall_ms shares"),
        "critical": [fields_of(part, "task_id agent kind ms words") for part in explanation.critical],
        "lines": explanation.lines,
    }


def _format(explanation: Explanation) -> list[str]:
    return [f"{explanation.run_id} took {describe_ms(explanation.wall_ms)}", *explanation.lines]
