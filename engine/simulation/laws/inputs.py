"""What attempts and joins are given: the outputs before them, the steps that are done, the code of their generation."""

from engine.core import events
from engine.core.spec import spec_hash
from engine.runtimes.task import Task
from engine.runtimes.work import Work
from engine.simulation.chronicle import Chronicle
from engine.simulation.laws.registry import When, law


@law(When.ON_READ)
def an_attempt_is_given_what_came_before(books: Chronicle, given: tuple[Work, Task]) -> str | None:
    """An attempt is given the outputs before it, the steps that earlier attempts finished, and nothing else."""
    work, task = given
    effect = work.effect
    job = books.work.jobs.get(effect.task_id)
    if job is None or job.attempt is None or job.attempt.number != effect.attempt:
        return None  # what made it needless came in the same batch
    began_seq = books.started_seq.get((effect.task_id, effect.attempt), 0)
    if any(isinstance(one, events.StrategySwitched) for one in books.events[began_seq:]):
        return None  # it was given what came before it when it began
    wanted = [one.id for one in books.work.inputs_of(job)]
    if [one.task_id for one in effect.inputs] != wanted:
        return f"{job.id} is given {[one.task_id for one in effect.inputs]}, and {wanted} come before it"
    outputs = [books.work.jobs[one].output for one in wanted]
    if [one.output for one in task.inputs] != outputs:
        return f"{job.id} is given other outputs than {wanted} had"
    if set(effect.steps) != set(job.steps):
        return f"{job.id} is told of the steps {sorted(effect.steps)}; {sorted(job.steps)} are recorded"
    run = books.work.runs[job.run_id]
    return None if task.request == run.request else f"{job.id} is told that the request is {task.request!r:.60}"


@law(When.ON_BEGIN)
def an_attempt_runs_the_code_of_its_generation(books: Chronicle, work: Work) -> str | None:
    """An attempt runs the spec of the generation that it began on, or migrated to."""
    effect = work.effect
    job, agent = books.work.jobs.get(effect.task_id), books.team.agents.get(effect.agent_id)
    if job is None or agent is None or job.attempt is None or job.attempt.number != effect.attempt:
        return None
    if job.attempt.generation != effect.generation:
        return f"{job.id} runs on g{effect.generation}, and is on g{job.attempt.generation}"
    if job.attempt.spec is not None and spec_hash(work.spec) != spec_hash(job.attempt.spec):
        return f"{job.id} runs another spec than that of g{agent.generation} of {agent.id}"
    return None


@law(When.ON_CALL)
def a_tool_is_not_called_again_in_doubt(books: Chronicle, work: Work) -> str | None:
    """A tool that must not be called twice is called again only where it is known that it did not happen."""
    task_id, attempt = work.effect.task_id, work.effect.attempt
    mine = [one for one in books.events if getattr(one, "task_id", None) == task_id]
    began = next((one for one in reversed(mine) if isinstance(one, events.ToolStarted)), None)
    if began is None or began.attempt != attempt:
        return f"attempt {attempt} of {task_id} calls a tool, and the journal does not say that it does"
    is_over = True
    for event in mine[: mine.index(began)]:
        match event:
            case events.ToolStarted(key=began.key):
                is_over = False
            case events.ToolFailed(key=began.key) | events.DoubtSettled(key=began.key, ran=False):
                is_over = True
            case events.StepRecorded(key=began.key) | events.DoubtSettled(key=began.key, ran=True):
                is_over = False
            case events.AttemptCancelled(restarted=True):
                is_over = True
    return None if is_over else f"attempt {attempt} of {task_id} calls {began.key}, which may have happened already"


@law(events.AttemptDone)
def a_join_has_what_it_joins(books: Chronicle, event: events.AttemptDone) -> str | None:
    """A built-in join gives what the outputs that were done before it are together, and nothing else."""
    expected = books.joins.get((event.task_id, event.attempt))
    if expected is None or event.output == expected.value:
        return None
    return f"{event.task_id} joined {expected.of} to {event.output!r:.80}, not {expected.value!r:.80}"
