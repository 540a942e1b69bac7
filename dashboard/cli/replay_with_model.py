"""`replay --with-model`: a finished run goes on from a step with another model, in a file of its own.

The new steps are shown beside the old ones. Rule: the database itself is read and never changed.
"""

from pathlib import Path

import click

from dashboard.cli.printing.output import DONE, TextTable, emit, fail, say
from dashboard.cli.printing.progress import ProgressLine, RunEnd, await_run, end_of
from dashboard.cli.sending import perform
from dashboard.cli.steps import parts_of, step_item
from dashboard.engines.process import bound_engine
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.names import readable
from engine.core.commands import Resume, SwapAgent
from engine.core.errors import Refused
from engine.core.queries.targets import id_target
from engine.core.records.records import JsonValue, copy_with
from engine.core.records.values import as_text, preview
from engine.history.comparing import Pair, side_by_side
from engine.history.forking import Fork, fork, step_named
from engine.history.steps import Step
from engine.reading.folding import fold_file, fold_file_at
from store import NameTaken, Reader

_WITHIN_S = 30.0
_SILENT = "the engine did not answer"
_MAX_CHARACTERS = 50


def rerun_with_model(ctx: click.Context, db: Path, run_id: str, *, model: str, step: str, into: Path) -> int:
    """Continue a run from a step with another model, and show the new steps beside the old ones.

    Args:
        db: The database in which the run has ended.
        step: `TASK/STEP` of the model answer that is requested again.
    """
    first_end = end_of(db, run_id)
    if first_end is None:
        fail("unknown_work", f"no run {run_id!r} has ended here", "list them: quarterdeck runs")
    task_id, key = parts_of(step)
    new_fork, new_end = _fork_and_run(db, run_id, model=model, task_id=task_id, key=key, into=into)
    with Reader(db) as old_reader, Reader(into) as new_reader:
        pairs = side_by_side(old_reader, new_reader, run_id, since_seq=new_fork.at_seq + 1)
    first = next((pair for pair in pairs if not pair.is_same), None)
    outputs = [readable(end.output) if end.output is not None else end.error for end in (first_end, new_end)]
    differs: dict[str, JsonValue] | None = None
    if first is not None or outputs[0] != outputs[1]:
        differs = {"task_id": task_id, "step": "output", "was": outputs[0], "now": outputs[1]}
        if first is not None:
            first_step = _present_step(first)
            step_outputs = [None if step is None else step.output for step in (first.was, first.now)]
            differs = {
                "task_id": first_step.task_id,
                "step": first_step.step,
                "was": step_outputs[0],
                "now": step_outputs[1],
            }
    body = {
        "run_id": run_id,
        "steps": 0,
        "differs": differs,
        "compared": [_pair_item(pair) for pair in pairs],
        "outputs": {"was": outputs[0], "now": outputs[1]},
    }
    emit(ctx, "replay", body, lambda: _format_comparison(run_id, pairs, outputs, model))
    return DONE


def _fork_and_run(db: Path, run_id: str, *, model: str, task_id: str, key: str, into: Path) -> tuple[Fork, RunEnd]:
    try:
        with Reader(db) as reader:
            seq = step_named(reader, task_id, key)
        new_fork = fork(db, into, at_seq=seq - 1)
    except NameTaken as name_error:
        fail("name_taken", str(name_error))
    except Refused as refused:
        fail(refused.code, refused.reason)
    past, state = fold_file_at(db, seq - 1), fold_file(into)
    attempt = past.tasks[task_id].attempt
    if attempt is None or attempt.agent_id is None or run_id not in state.runs:
        fail("usage", f"step {key!r} of {task_id} is not one of {run_id}")
    agent = state.agents[attempt.agent_id]
    spec = copy_with(state.spec_of(agent), model=model)
    if not spec.is_played_by_model:
        fail("usage", f"{agent.name} is not played by a model", "name a step of a model agent")
    say(f"forked to {into} at seq {new_fork.at_seq:,}; {agent.name} goes on there with {model}")
    with bound_engine(into, folder=None if past.team is None else Path(past.team.folder)):
        if spec != state.spec_of(agent):
            perform(into, SwapAgent(agent=id_target(agent.id), spec=spec), _WITHIN_S, silent=_SILENT)
        perform(into, Resume(target=id_target(run_id)), _WITHIN_S, silent=_SILENT)
        return new_fork, await_run(into, run_id, ProgressLine(into, run_id, every_s=0.2))


def _present_step(pair: Pair) -> Step:
    step = pair.was or pair.now
    assert step is not None
    return step


def _pair_item(pair: Pair) -> dict[str, object]:
    return {
        "same": pair.is_same,
        "was": None if pair.was is None else step_item(pair.was),
        "now": None if pair.now is None else step_item(pair.now),
    }


def _format_comparison(run_id: str, pairs: list[Pair], outputs: list[str | None], model: str) -> list[str]:
    rows = [
        (
            "" if pair.is_same else "≠",
            _present_step(pair).task_id,
            _present_step(pair).name,
            _describe_step(pair.was),
            _describe_step(pair.now),
        )
        for pair in pairs
    ]
    differing = sum(not pair.is_same for pair in pairs)
    old_output, new_output = map(one_line, outputs)
    rows.append(("" if outputs[0] == outputs[1] else "≠", run_id, "output", old_output, new_output))
    head = f"{run_id} with {model}: {pluralize(differing, 'step')} of {len(pairs)} differ"
    return [head, *TextTable(("", "TASK", "STEP", "WAS", f"WITH {model}"), rows).lines()]


def _describe_step(step: Step | None) -> str:
    """Return the output of a step in one line: of a model its text and calls."""
    if step is None:
        return "nothing"
    output = step.output
    if step.what != "model" or not isinstance(output, dict):
        return one_line(output)
    calls = output.get("calls")
    called = [_call(call) for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return one_line(" ".join([str(output.get("text") or ""), *called]).strip())


def _call(call: dict[str, JsonValue]) -> str:
    arguments = call.get("arguments")
    values = [str(value) for value in arguments.values()] if isinstance(arguments, dict) else []
    return f"→ {call.get('name')}({', '.join(values)})"


def one_line(value: JsonValue, length: int = _MAX_CHARACTERS) -> str:
    """Return the beginning of a value, in one line."""
    return "nothing" if value is None else preview(as_text(value), length)
