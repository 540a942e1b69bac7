"""Bugs that are more than one piece of text that stands otherwise."""

from collections.abc import Callable
from typing import Any

from engine.core import step
from engine.core.decide.teams import team
from engine.core.decide.work import attempts, discovering, failing, strategy
from engine.core.effects import Effect, StartTimer
from engine.core.effects.table import restart_effects
from engine.core.events import TaskSkipped
from engine.core.fold import attempt as fold_attempt
from engine.core.followups import table as followups_table
from engine.core.followups.table import followups_of
from engine.core.policies import auto_tuning
from engine.core.records.records import copy_with
from engine.core.scheduler import Schedule
from engine.core.state import State
from engine.host import attempts as host_attempts
from engine.host import effects as host_effects
from engine.host import journal_writer, runtime_pool
from engine.host.attempts import Attempts
from engine.host.batch import Batch
from engine.host.loop import Loop
from engine.runtimes.attempts.attempt import Attempt
from engine.simulation.laws import discovery, engine, failures, outcomes, plans, slots
from store import Deposed
from tests.simulation.planted.planting import Bug, Patch, planted, rewrite


def _answers_that_get_lost(patch: Patch) -> None:
    rewrite(patch, Attempts.deliver, "work.delegations.accept_outcomes(effect)", "pass")


def _room_where_there_is_none(patch: Patch) -> None:
    rewrite(patch, discovering._room, "max(0, supervisor.max_agents - len(agents))", "50")
    rewrite(patch, team.find_evictable, "len(living) < supervisor.max_agents", "True")


def _a_stale_token(patch: Patch) -> None:
    real = journal_writer.append

    async def append(*args: Any) -> None:
        try:
            await real(*args)
        except Deposed:
            return

    patch.setattr(journal_writer, "append", append)


def _deeds_before_the_disk(patch: Patch) -> None:
    real = Loop._write_batch

    async def carry_out(self: Loop, batch: Batch) -> None:
        self._perform(batch)
        batch.effects.clear()
        await real(self, batch)

    patch.setattr(Loop, "_write_batch", carry_out)


def _no_timers_at_a_restart(patch: Patch) -> None:
    def without_timers(state: State) -> list[Effect]:
        return [effect for effect in restart_effects(state) if not isinstance(effect, StartTimer)]

    patch.setattr(step, "restart_effects", without_timers)


def _nobody_follows_what_is_skipped(patch: Patch) -> None:
    patch.setitem(followups_table._FOLLOWUPS, TaskSkipped, lambda state, event: [])


def _code_elsewhere_fails(patch: Patch) -> None:
    real = runtime_pool.unusable_agent
    for module in (host_attempts, host_effects):
        patch.setattr(module, "unusable_agent", lambda *said: copy_with(real(*said), away=False))


def _tuned_at_once(function: Callable[..., Any], old: str, new: str) -> Callable[[Patch], None]:
    """Plant a bug where coordination is tuned, and let one run be enough to go by: else it takes days."""

    def plant(patch: Patch) -> None:
        patch.setattr(auto_tuning, "MIN_RUNS", 1)
        rewrite(patch, function, old, new)

    return plant


def _processes_for_everybody(patch: Patch) -> None:
    patch.setattr(Schedule, "lacks_process", lambda self, state, agent: False)


def _policies_are_not_asked(patch: Patch) -> None:
    rewrite(patch, failing.apply_policy, "if task is None or", "if True or task is None or")
    again = "task.error = event.error; enqueue(state, task)"
    rewrite(patch, fold_attempt._attempt_failed, "task.error = event.error", again)


def _steps_are_taken_again(patch: Patch) -> None:
    rewrite(patch, Attempt.is_recorded, "key in self.effect.steps", "False")
    rewrite(patch, attempts.step_finished, "or signal.key in state.tasks[signal.task_id].steps", "")


BUGS: list[Bug] = [
    planted(
        "answers never reach who asked",
        Attempts.deliver,
        _answers_that_get_lost,
        engine.whatever_can_move_has_moved,
    ),
    planted(
        "those who are found join a full team",
        discovering._room,
        _room_where_there_is_none,
        discovery.a_run_brings_no_more_than_it_may,
    ),
    planted("a deposed engine goes on as if it had written", journal_writer.append, _a_stale_token, "disk_before_deed"),
    planted("deeds come before the disk", Loop._write_batch, _deeds_before_the_disk, "disk_before_deed"),
    planted("a new engine sets no timers", restart_effects, _no_timers_at_a_restart, engine.timers_fire),
    planted(
        "nobody is told of what is skipped",
        followups_of,
        _nobody_follows_what_is_skipped,
        engine.whatever_can_move_has_moved,
    ),
    planted(
        "code elsewhere is taken for an error",
        runtime_pool.unusable_agent,
        _code_elsewhere_fails,
        outcomes.nothing_fails_for_code_that_is_elsewhere,
    ),
    planted(
        "failed tasks begin again by themselves",
        failing.apply_policy,
        _policies_are_not_asked,
        failures.a_failure_is_decided_before_the_next_attempt,
    ),
    planted(
        "tuning rewires open runs",
        strategy.tune,
        _tuned_at_once(strategy._carry_out, 'scope="new"', 'scope="open"'),
        plans.tuning_leaves_open_runs_alone,
    ),
    planted(
        "who was not told to tunes itself",
        strategy.tune,
        _tuned_at_once(auto_tuning._propose_selection, "optimize.optimize_agent_selection and ", ""),
        plans.a_tuned_supervisor_wanted_it,
    ),
    planted(
        "a step is recorded again",
        attempts.step_finished,
        _steps_are_taken_again,
        outcomes.a_step_is_recorded_once,
    ),
    planted(
        "agents begin whether a process is free or not",
        Schedule.lacks_process,
        _processes_for_everybody,
        slots.nobody_is_over_a_limit,
    ),
]
