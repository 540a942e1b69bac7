"""What waits for a person, in order."""

from engine.core.state import State, TaskStatus


def needs_person(state: State) -> list[str]:
    """Return the ids that need a person: questions, members in error, and tasks that failed or are in doubt.

    Questions come first, ordered by the time at which their default answer applies.
    """
    failed, in_doubt = TaskStatus.FAILED, TaskStatus.IN_DOUBT
    escalations = sorted(
        state.escalations.values(), key=lambda escalation: (escalation.due_ms is None, escalation.due_ms or 0)
    )
    broken = [agent.id for agent in state.agents.values() if agent.error is not None]
    broken += [supervisor.id for supervisor in state.supervisors.values() if supervisor.error is not None]
    return [
        *(escalation.id for escalation in escalations),
        *broken,
        *(
            task.id
            for task in state.tasks.values()
            if ((status := task.status) is failed or (status is in_doubt and task.escalation_id is None))
            and task.kind == "agent"
        ),
    ]
