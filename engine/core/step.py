"""One message through the core: decide, fold, follow up, until nothing more follows."""

from collections import deque

from engine.core.commands import Order
from engine.core.context import Context
from engine.core.decide import decide
from engine.core.decide.dispatch import next_supervisor
from engine.core.effects import Effect, effects_of, restart_effects
from engine.core.events import EngineStarted, Event
from engine.core.fold import fold
from engine.core.prompts import CheckLeaving, Dispatch, FinishRun, LookAtPool, Prompt, prompts_of
from engine.core.signals import Signal
from engine.core.state import State


def step(state: State, message: Order | Signal, ctx: Context) -> tuple[list[Event], list[Effect]]:
    """Decide `message`, fold what follows into `state`, and go on with what that makes possible.

    Returns:
        What happened, to be journaled in this order, and what the shell has to do once it is.
    """
    events: list[Event] = []
    effects: list[Effect] = []
    prompts: deque[Prompt] = deque()
    now: Order | Signal | Prompt = message
    is_news = True
    while True:
        for event in decide(state, now, ctx):
            is_news = True
            fold(state, (event,))
            events.append(event)
            effects += effects_of(state, event)
            prompts.extend(prompts_of(state, event))
            if type(event) is EngineStarted:
                effects += restart_effects(state)
        if prompts:
            now = _next(prompts)
        elif state.startable:
            now = Dispatch(supervisor_id=next_supervisor(state))
        elif state.resizable:
            now = LookAtPool(agent_id=next(iter(state.resizable)))
        elif state.leaving and is_news:
            now, is_news = CheckLeaving(), False
        else:
            return events, effects


def _next(prompts: deque[Prompt]) -> Prompt:
    """Take the next prompt; a run is closed last, because what else follows may still end tasks of it."""
    while type(prompts[0]) is FinishRun and any(type(one) is not FinishRun for one in prompts):
        prompts.rotate(-1)
    return prompts.popleft()
