"""The work of the team in team.yaml, and of the agents of the pack sea.yaml."""

from quarterdeck import Context, Task


def read_tides(task: Task, ctx: Context) -> str:
    return "high water at 06:12 and 18:37"


def write(task: Task, ctx: Context) -> str:
    facts = "; ".join(str(each.output) for each in task.inputs)
    return f"{task.request}: {facts or 'nothing is known'}"
