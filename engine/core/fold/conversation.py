"""Fold: what the runs of a conversation leave to those after them."""

from engine.core.events import RunFinished
from engine.core.state import CONVERSATIONS, EXCHANGES, Conversation, Exchange, Run, State


def join(state: State, run: Run) -> None:
    """Let a new run remember what its conversation holds by now."""
    if run.conversation is None:
        return
    conversations = state.supervisors[run.supervisor_id].conversations
    conversation = conversations.pop(run.conversation, None) or Conversation()
    conversations[run.conversation] = conversation
    conversation.open += 1
    run.remembers = conversation.ended
    for exchange in _seen(conversation, run):
        exchange.readers += 1
    if len(conversations) > CONVERSATIONS:
        oldest = next((name for name, one in conversations.items() if not one.open), None)
        if oldest is not None:
            del conversations[oldest]


def leave(state: State, run: Run, event: RunFinished) -> None:
    """Keep what a run came to for those after it, and drop what no run will see any more."""
    if run.conversation is None:
        return
    conversation = state.supervisors[run.supervisor_id].conversations[run.conversation]
    conversation.open -= 1
    for exchange in _seen(conversation, run):
        exchange.readers -= 1
    conversation.exchanges[conversation.ended] = Exchange(
        run_id=run.id, status=event.status, request=run.request, output=event.output, error=event.error
    )
    conversation.ended += 1
    first = conversation.ended - EXCHANGES
    for number in [*range(max(0, run.remembers - EXCHANGES), run.remembers), first - 1]:
        past = conversation.exchanges.get(number)
        if number < first and past is not None and not past.readers:
            del conversation.exchanges[number]


def _seen(conversation: Conversation, run: Run) -> list[Exchange]:
    numbers = range(max(0, run.remembers - EXCHANGES), run.remembers)
    return [conversation.exchanges[number] for number in numbers]
