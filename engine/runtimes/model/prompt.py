"""The system prompt: the user's instructions first, then the engine's.

Rule: the parts that change least come first, so that the beginning stays in the provider's cache.
"""

from collections.abc import Sequence
from decimal import Decimal

from engine.core.queries.team.track_record import mean_of
from engine.core.queries.team.workers import Worker
from engine.core.records.values import dollars
from engine.core.specs.spec import AgentSpec
from engine.core.state import TrackRecord
from engine.runtimes.model.options import ModelOptions

WORKER_DESCRIPTIONS = "{worker_descriptions}"
"""Stands for the workers in a template. All other braces are text, because nothing in it is evaluated."""
MAX_LISTED_AGENTS = 100
"""Most workers that are listed by name; beyond that their capabilities are listed."""


def system_text(
    spec: AgentSpec,
    options: ModelOptions,
    workers: Sequence[Worker] | None,
    extra_instructions: str,
    template: str = "",
) -> str:
    """Return the system message.

    Args:
        spec: Spec of the agent.
        options: Its options, with the names of the built-in tools.
        workers: Its workers; None if it does not lead.
        extra_instructions: Further instructions, after its own.
        template: What a lead is told about its workers, in place of what the engine says.
    """
    if workers is not None and template:
        parts = [spec.instructions.strip(), template.replace(WORKER_DESCRIPTIONS, _describe_workers(workers))]
    else:
        parts = [spec.instructions.strip() or _about(spec)]
        if workers is not None:
            parts.append(_lead_instructions(options, workers))
    parts += [extra_instructions, _records(workers or ())]
    return "\n\n".join(part for part in parts if part)


def _about(spec: AgentSpec) -> str:
    return f"You are {spec.name}. {spec.description}".strip()


def _lead_instructions(options: ModelOptions, workers: Sequence[Worker]) -> str:
    delegate, forward = options.name_of("delegate"), options.name_of("forward_message")
    text = (
        f"You lead a team. Give work to its members with `{delegate}`: say in full what each has to do, because a"
        " worker sees its instructions and nothing else of this conversation. Calls of one turn run at the same time."
        f" Answer the request yourself once you have what you need, or end with `{forward}` where one worker's last"
        " answer is the answer, word for word."
    )
    if not workers:
        return f"{text}\n\nNo worker is available at the moment: answer yourself."
    if len(workers) > MAX_LISTED_AGENTS:
        return f"{text}\n\n{len(workers)} workers are there; name a capability, and one who has it does the work."
    return f"{text}\n\nWorkers:\n" + "\n".join(_worker_line(worker) for worker in workers)


def _describe_workers(workers: Sequence[Worker]) -> str:
    """Return the workers as a template shows them, one a line."""
    if not workers:
        return "No worker is available at the moment."
    if len(workers) > MAX_LISTED_AGENTS:
        return f"{len(workers)} workers, by capability: {', '.join(capabilities_of(workers))}"
    lines = []
    for worker in workers:
        lines.append(f"- {worker.name}: {worker.description}{_skills(worker)}")
    return "\n".join(lines)


def _worker_line(worker: Worker) -> str:
    return f"- {worker.name}{_skills(worker)}" + (f": {worker.description}" if worker.description else "")


def _skills(worker: Worker) -> str:
    """Return the specialties of a worker on one line: untrusted, they must not look like the line of another."""
    skills = ", ".join(" ".join(skill.split()) for skill in worker.specialties)
    return f" ({skills})" if skills else ""


def _records(workers: Sequence[Worker]) -> str:
    """Return the track records of the workers; they change most, so they come last."""
    if len(workers) > MAX_LISTED_AGENTS:
        return ""
    records = [(worker.name, worker.record) for worker in workers if worker.record is not None]
    lines = [f"- {name}: {_record(record)}" for name, record in records if record.done or record.failed]
    return "What came of their work on requests of this kind before:\n" + "\n".join(lines) if lines else ""


def _record(record: TrackRecord) -> str:
    seconds, cost_usd = mean_of(record)
    money = "" if cost_usd is None else f" and {dollars(Decimal(str(cost_usd)))}"
    return f"{record.done} of {record.done + record.failed} done, {_format_number(seconds)} s{money} each"


def _format_number(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def capabilities_of(workers: Sequence[Worker]) -> list[str]:
    """Return the specialties of workers, each once."""
    return list(dict.fromkeys(skill for worker in workers for skill in worker.specialties))
