"""Moments that have come: what each kind of timer is for."""

from collections.abc import Callable
from typing import TypeAlias

from engine.core.context import Context
from engine.core.decide import budgets, circuit, deadlines, draining, escalations, failing, pools
from engine.core.events import Event
from engine.core.signals import TimerDue
from engine.core.state import State, Timer

OnTimer: TypeAlias = Callable[[State, Timer, Context], list[Event]]
ON_TIMER: dict[str, OnTimer] = {
    "retry": failing.retry_due,
    "escalation": escalations.overdue,
    "circuit": circuit.cooled,
    "pool": pools.watched,
    "warn": deadlines.warn,
    "deadline": deadlines.passed,
    "grace": deadlines.grace_over,
    "time": budgets.time_due,
    "drain": draining.drain_due,
}
"""The handler of every kind of timer; each leaves the timer dropped by what it decides."""


def timer_due(state: State, signal: TimerDue, ctx: Context) -> list[Event]:
    """Decide what a timer was set for, unless it was taken back or set anew."""
    timer = state.timers.get(signal.timer_id)
    if timer is None or timer.due_ms > ctx.now_ms:
        return []
    return ON_TIMER[timer.kind](state, timer, ctx)
