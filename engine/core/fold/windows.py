"""Fold: figures of the last minutes, by slot of event time.

Work at the end of an attempt is one addition to the slot in progress of its agent. Only when that slot is over, at the
first end in a later one, is it added to the closed slots and to the supervisor.
"""

from decimal import Decimal

from engine.core.entities.figures import (
    COARSE_SLOTS,
    DURATION_KEYS,
    MAX_SLOTS,
    MAX_TIMES,
    MAX_WINDOWS,
    OTHER,
    SLOT_MS,
    Window,
    Windows,
)
from engine.core.records.values import Usage
from engine.core.state import Agent, Attempt, State, Task

_NANO = Decimal(10**9)
_MAX_AMOUNTS = 60
"""Limit on the names of amounts of a slot, above which kinds of errors are counted together."""


def count_done(state: State, agent: Agent, task: Task, attempt: Attempt, *, time_ms: int, category: str | None) -> None:
    """Count a done attempt with its time at work: the most frequent end, so that it only notes the time."""
    window = None if state.windows is None else state.windows.agents.get(agent.id)
    if window is None or state.at_ms >= window.until_ms or len(window.times_ms) >= MAX_TIMES:
        window = _window_of(state, agent, state.at_ms // SLOT_MS)
        window.open, window.times_ms, window.wait_ms = window.in_progress(), [], 0
    wait_ms = attempt.started_ms - task.ready_ms
    window.times_ms.append(time_ms)
    window.wait_ms += wait_ms
    if category is not None:
        _count_in_category(state, category, DURATION_KEYS[min(time_ms.bit_length(), 23)], wait_ms)


def count_failed(state: State, agent: Agent, task: Task, attempt: Attempt, error_type: str) -> None:
    """Count a failed attempt by the kind of its error."""
    _count_end(state, agent, task, attempt, "failed")
    category = state.runs[task.run_id].category
    _count_error(_window_of(state, agent, state.at_ms // SLOT_MS), error_type)
    if category is not None:
        _count_error(_keyed_window(state, _windows_in(state).categories, category), error_type)


def count_cancelled(state: State, agent: Agent, task: Task, attempt: Attempt) -> None:
    """Count a cancelled attempt."""
    _count_end(state, agent, task, attempt, "cancelled")


def count_retry(state: State, task: Task) -> None:
    """Count a retry for the agent that failed."""
    agent = state.agents.get(task.agent_id or "")
    if agent is not None:
        _add(_window_of(state, agent, state.at_ms // SLOT_MS).open, "retries", 1)
    category = state.runs[task.run_id].category
    if category is not None:
        _add(_keyed_window(state, _windows_in(state).categories, category).open, "retries", 1)


def count_model_call(state: State, model: str, duration_ms: int, error_type: str | None = None) -> None:
    """Count a call of a model that was answered, or failed."""
    window = _keyed_window(state, _windows_in(state).models, model)
    if error_type is None:
        _add(window.open, DURATION_KEYS[min(max(duration_ms, 0).bit_length(), 23)], 1)
    else:
        _add(window.open, "failed", 1)
        _count_error(window, error_type)


def count_usage(state: State, task: Task | None, agent: Agent | None, usage: Usage, *, model: str | None) -> None:
    """Count tokens and money."""
    windows = []
    if agent is not None:
        windows.append(_window_of(state, agent, state.at_ms // SLOT_MS))
    if model is not None:
        windows.append(_keyed_window(state, _windows_in(state).models, model))
    category = None if task is None else state.runs[task.run_id].category
    if category is not None:
        windows.append(_keyed_window(state, _windows_in(state).categories, category))
    cost_nano = 0 if usage.cost_usd is None else int(usage.cost_usd * _NANO)
    for window in windows:
        amounts = window.open
        if usage.tokens_in:
            amounts["tokens_in"] = amounts.get("tokens_in", 0) + usage.tokens_in
        if usage.tokens_out:
            amounts["tokens_out"] = amounts.get("tokens_out", 0) + usage.tokens_out
        if cost_nano:
            amounts["cost_nano"] = amounts.get("cost_nano", 0) + cost_nano


def close_window(state: State, agent: Agent) -> None:
    """Close the slot in progress of an agent that leaves, so that its supervisor has all of it."""
    window = _windows_in(state).agents.get(agent.id)
    if window is not None:
        _close(state, window, state.at_ms // SLOT_MS, agent)


def hand_window_up(state: State, supervisor_id: str, parent_id: str | None) -> None:
    """Give the window of a removed supervisor to its parent."""
    window = _windows_in(state).supervisors.pop(supervisor_id, None)
    if window is None or parent_id is None:
        return
    newest = state.at_ms // SLOT_MS
    _in_progress(state, window, newest + 1)
    parent = _windows_in(state).supervisors.setdefault(parent_id, _new_window(newest))
    for number, amounts in window.fine.items():
        _keep(parent.fine, number, amounts, newest)
    for number, amounts in window.coarse.items():
        _keep(parent.coarse, number, amounts, newest // COARSE_SLOTS)


def _count_end(state: State, agent: Agent, task: Task, attempt: Attempt, key: str) -> None:
    window = _window_of(state, agent, state.at_ms // SLOT_MS)
    wait_ms = max(0, attempt.started_ms - task.ready_ms)
    _add(window.open, key, 1)
    _add(window.open, "wait_ms", wait_ms)
    category = state.runs[task.run_id].category
    if category is not None:
        _count_in_category(state, category, key, wait_ms)


def _count_in_category(state: State, category: str, key: str, wait_ms: int) -> None:
    amounts = _keyed_window(state, _windows_in(state).categories, category).open
    _add(amounts, key, 1)
    _add(amounts, "wait_ms", wait_ms)


def _count_error(window: Window, error_type: str) -> None:
    key = f"error {error_type}"
    _add(window.open, key if key in window.open or len(window.open) < _MAX_AMOUNTS else f"error {OTHER}", 1)


def _windows_in(state: State) -> Windows:
    if state.windows is None:
        state.windows = Windows()
    return state.windows


def _add(amounts: dict[str, int], key: str, amount: int) -> None:
    if amount:
        amounts[key] = amounts.get(key, 0) + amount


def _window_of(state: State, agent: Agent, slot: int) -> Window:
    """Return the window of an agent with this slot in progress; beyond the limit, that of its supervisor."""
    windows = _windows_in(state).agents
    window = windows.get(agent.id)
    if window is None:
        if len(windows) >= MAX_WINDOWS:
            _forget_old(state, windows, slot)
        if len(windows) >= MAX_WINDOWS:
            return _in_progress(
                state, _windows_in(state).supervisors.setdefault(agent.supervisor_id, _new_window(slot)), slot
            )
        window = windows[agent.id] = _new_window(slot)
    elif window.slot != slot:
        _close(state, window, slot, agent)
    return window


def _keyed_window(state: State, windows: dict[str, Window], key: str) -> Window:
    """Return the window of a model or category with the present slot in progress."""
    slot = state.at_ms // SLOT_MS
    window = windows.get(key)
    if window is None:
        if len(windows) >= MAX_WINDOWS:
            _forget_old(state, windows, slot)
        window = windows.setdefault(key if len(windows) < MAX_WINDOWS else OTHER, _new_window(slot))
    return _in_progress(state, window, slot)


def _new_window(slot: int) -> Window:
    return Window(slot=slot, until_ms=(slot + 1) * SLOT_MS)


def _in_progress(state: State, window: Window, slot: int) -> Window:
    if window.slot != slot:
        _close(state, window, slot, None)
    return window


def _forget_old(state: State, windows: dict[str, Window], slot: int) -> None:
    """Forget windows without an amount of the last hour."""
    oldest = slot - COARSE_SLOTS * MAX_SLOTS
    for key in [key for key, window in windows.items() if window.slot <= oldest]:
        del windows[key]


def _close(state: State, window: Window, slot: int, agent: Agent | None) -> None:
    """Close the slot in progress and begin `slot`; an agent's amounts are added to its supervisor too."""
    closed, amounts = window.slot, window.in_progress()
    window.slot, window.until_ms = slot, (slot + 1) * SLOT_MS
    window.open, window.times_ms, window.wait_ms = {}, [], 0
    if not amounts:
        return
    windows = [window]
    if agent is not None:
        windows.append(_windows_in(state).supervisors.setdefault(agent.supervisor_id, _new_window(slot)))
    for each in windows:
        _keep(each.fine, closed, amounts, slot)
        _keep(each.coarse, closed // COARSE_SLOTS, amounts, slot // COARSE_SLOTS)


def _keep(slots: dict[int, dict[str, int]], number: int, amounts: dict[str, int], newest: int) -> None:
    """Add amounts to a closed slot, and forget slots that are too old."""
    oldest = newest - MAX_SLOTS
    if number in slots:
        _merge(slots[number], amounts)
    elif number > oldest:
        slots[number] = dict(amounts)
        if next(iter(slots)) <= oldest or len(slots) > MAX_SLOTS:
            for old in [each for each in slots if each <= oldest]:
                del slots[old]


def _merge(total: dict[str, int], amounts: dict[str, int]) -> None:
    for key, amount in amounts.items():
        total[key] = total.get(key, 0) + amount
