"""Fold: the memory of conversations, from finished runs to later ones."""

from collections.abc import Sequence

from engine.core.events import RunFinished
from engine.core.events.attempt import Said
from engine.core.records.values import StoredValue, stored_value
from engine.core.state import (
    MAX_CONVERSATIONS,
    MAX_EXCHANGES,
    MAX_UTTERANCES,
    Conversation,
    Exchange,
    Run,
    State,
    Task,
    Utterance,
)


def join(state: State, run: Run) -> None:
    """Add a new run to its conversation; it remembers the runs that have ended by now."""
    if run.conversation is None:
        return
    conversations = state.supervisors[run.supervisor_id].conversations
    conversation = conversations.pop(run.conversation, None) or Conversation()
    conversations[run.conversation] = conversation
    conversation.open += 1
    run.remembers = conversation.ended
    for exchange in _remembered_exchanges(conversation, run):
        # Counted, because an exchange must stay as long as an open run may still show it to a model.
        exchange.readers += 1
    # The dict is in order of use, so the first one without an open run is the least recently used.
    if len(conversations) > MAX_CONVERSATIONS:
        oldest = next((name for name, candidate in conversations.items() if not candidate.open), None)
        if oldest is not None:
            del conversations[oldest]


def leave(state: State, run: Run, event: RunFinished) -> None:
    """Keep the result of a run for later runs, and drop results that no run will see any more."""
    if run.conversation is None:
        return
    conversation = state.supervisors[run.supervisor_id].conversations[run.conversation]
    conversation.open -= 1
    for exchange in _remembered_exchanges(conversation, run):
        exchange.readers -= 1
    conversation.exchanges[conversation.ended] = Exchange(
        run_id=run.id,
        status=event.status,
        request=run.request,
        output=event.output,
        error=event.error,
        said=list(_outcome(state, run).said),
    )
    conversation.ended += 1
    conversation.worked = _graph_members(state, run) or conversation.worked
    first = conversation.ended - MAX_EXCHANGES
    for number in [*range(max(0, run.remembers - MAX_EXCHANGES), run.remembers), first - 1]:
        past = conversation.exchanges.get(number)
        if number < first and past is not None and not past.readers:
            del conversation.exchanges[number]
    _shorten(conversation)


def utterances(state: State, task: Task, messages: Sequence[Said]) -> list[Utterance]:
    """Return the utterances of a finished task, with contents by reference where possible."""
    return [
        Utterance(role=message.role, content=_content(state, task, message, index), call_id=message.call_id)
        for index, message in enumerate(messages)
    ]


def _content(state: State, task: Task, message: Said, place: int) -> StoredValue:
    if not message.key:
        return stored_value(message.text, state.seq, "said", place, "text")
    call = task.calls.get(message.key)
    if message.key in task.steps or call is None:
        return task.steps.get(message.key)
    return state.tasks[call.children[0]].output if call.children else None


def _outcome(state: State, run: Run) -> Task:
    """Return the task whose output is that of a run."""
    task = state.tasks[run.root_id]
    while task.kind == "group" and task.outcome_id is not None:
        task = state.tasks[task.outcome_id]
    return task


def _graph_members(state: State, run: Run) -> list[str]:
    """Return the members that had a node in a graph of a run, without those that only got delegated work."""
    tasks = [state.tasks[task_id] for task_id in run.tasks if task_id != run.root_id]
    planned = (task.worker_id for task in tasks if task.worker_id and not task.asked_by and not task.call_key)
    return list(dict.fromkeys(planned))


def _shorten(conversation: Conversation) -> None:
    """Drop all but the newest messages, except those that an open run still shows to its attempts."""
    remaining = MAX_UTTERANCES
    for number in sorted(conversation.exchanges, reverse=True):
        exchange = conversation.exchanges[number]
        if remaining <= 0 and not exchange.readers:
            exchange.said = []
        remaining -= len(exchange.said)
        if any(utterance.role == "summary" for utterance in exchange.said):
            remaining = 0  # a summary replaces everything before it


def _remembered_exchanges(conversation: Conversation, run: Run) -> list[Exchange]:
    numbers = range(max(0, run.remembers - MAX_EXCHANGES), run.remembers)
    return [conversation.exchanges[number] for number in numbers]
