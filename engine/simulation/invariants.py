"""What has to hold in every history: the laws of `engine.simulation.laws`, by when each is looked at.

To add a law, write it in the file of its subject and name it in its table here: `ON_EVENT` (before an event of a class
is folded), `AFTER_BATCH` (what one write brought), `SAMPLED` (as those, at one batch in `SAMPLE`: they are dear),
`AT_MOMENTS` (when time has just moved, so that all that could happen has), `AT_REST` (nothing is at work, no timer is
set, nothing is paused) and `AT_THE_END` (of the history); `ON_BEGIN` is for what an agent is given when it begins.
"""

from engine.core.events import (
    AgentAdded,
    AgentRemoved,
    AgentsRestarted,
    AgentSwapped,
    AttemptCancelled,
    AttemptDone,
    AttemptFailed,
    AttemptMigrated,
    AttemptPreempted,
    AttemptResumed,
    AttemptSetAside,
    AttemptStarted,
    BudgetExhausted,
    CallAnswered,
    CancelRequested,
    CapabilitiesChanged,
    CircuitHalfOpened,
    CircuitOpened,
    CommandApplied,
    CommandRefused,
    CoordinationTuned,
    DeadlinePassed,
    Delegated,
    EngineStarted,
    Escalated,
    GraceEnded,
    GroupEnded,
    GroupGrown,
    GroupPlanned,
    MemberMoved,
    MemberRenamed,
    NeedMet,
    PoolResized,
    PreemptionAsked,
    RetryScheduled,
    RunFinished,
    RunSubmitted,
    SignalDropped,
    StateImported,
    StepRecorded,
    StrategySwitched,
    SupervisorAdded,
    SupervisorFailed,
    SupervisorRemoved,
    SwapDrained,
    SwapRolledBack,
    TaskAnswered,
    TaskFailed,
    TaskFailedOver,
    TaskSkipped,
    TaskTriedAnew,
)
from engine.simulation.laws import (
    commands,
    engine,
    failures,
    inputs,
    order,
    outcomes,
    placement,
    plans,
    questions,
    slots,
    spending,
    stopping,
    team,
)
from engine.simulation.laws.seen import Law

SAMPLE = 25
"""One batch in so many is looked at closely."""

LIVE: tuple[Law, ...] = (outcomes.only_the_attempt_that_is_live_is_heard,)
OUTCOME: tuple[Law, ...] = (outcomes.each_task_has_one_outcome,)
IDS: tuple[Law, ...] = (team.ids_are_given_once,)
QUEUES: tuple[Law, ...] = (team.an_agent_serves_the_queues_near_it,)
FAILURE: tuple[Law, ...] = (failures.a_failure_goes_down_its_chain,)
ANSWER: tuple[Law, ...] = (failures.an_answer_is_carried_out,)
NOT_OVER: tuple[Law, ...] = (stopping.what_is_cancelled_begins_nothing,)

ON_EVENT: dict[type, tuple[Law, ...]] = {
    EngineStarted: (team.tokens_rise,),
    RunSubmitted: IDS,
    StateImported: IDS,
    SupervisorAdded: IDS,
    AgentAdded: (*IDS, *QUEUES),
    CapabilitiesChanged: QUEUES,
    MemberMoved: QUEUES,
    MemberRenamed: QUEUES,
    GroupPlanned: (
        *IDS,
        *NOT_OVER,
        outcomes.what_comes_first_has_ended,
        plans.a_graph_is_for_those_who_take_part,
        plans.a_chain_is_one_after_the_other,
    ),
    NeedMet: (plans.as_many_answers_come_as_are_needed,),
    CoordinationTuned: (plans.a_tuned_supervisor_wanted_it,),
    GroupGrown: IDS,
    StrategySwitched: (*IDS, plans.a_switch_keeps_what_is_done, plans.tuning_leaves_open_runs_alone),
    AttemptStarted: (
        outcomes.a_finished_task_is_not_started,
        outcomes.what_comes_first_has_ended,
        *NOT_OVER,
        stopping.what_is_paused_starts_nothing,
        stopping.an_attempt_begins_on_the_newest,
        slots.nobody_is_over_a_limit,
        spending.nothing_begins_on_a_spent_budget,
        failures.a_failure_is_decided_before_the_next_attempt,
        order.first_come_first_served,
        order.the_more_urgent_goes_first,
        order.agents_are_chosen_by_the_balance,
    ),
    AttemptResumed: (
        *LIVE,
        slots.nobody_is_over_a_limit,
        outcomes.answers_are_complete,
        outcomes.who_goes_on_was_answered,
    ),
    CallAnswered: (outcomes.answers_are_complete,),
    AttemptDone: (*LIVE, *OUTCOME, outcomes.no_lie_is_taken, inputs.a_join_has_what_it_joins),
    AttemptFailed: (
        *LIVE,
        outcomes.nothing_fails_for_code_that_is_elsewhere,
        stopping.who_was_asked_to_stop_does_not_fail,
    ),
    AttemptCancelled: (
        *LIVE,
        *OUTCOME,
        stopping.an_attempt_ends_as_it_was_asked,
        stopping.who_is_stopped_for_good_is_told_why,
    ),
    AttemptMigrated: (*LIVE, stopping.an_attempt_ends_as_it_was_asked, stopping.a_migration_goes_to_the_newest),
    AttemptPreempted: (*LIVE, order.who_makes_way_was_asked),
    AttemptSetAside: (*LIVE, stopping.an_attempt_ends_as_it_was_asked),
    PreemptionAsked: (order.only_the_less_urgent_makes_way, order.slots_are_taken_in_turn),
    Delegated: (*LIVE, *IDS, *NOT_OVER),
    StepRecorded: (*LIVE, outcomes.a_step_is_recorded_once),
    TaskFailed: (*OUTCOME, *FAILURE, *ANSWER),
    TaskSkipped: (*OUTCOME, *FAILURE, *ANSWER),
    TaskFailedOver: FAILURE,
    TaskTriedAnew: ANSWER,
    TaskAnswered: (*OUTCOME, *ANSWER),
    RetryScheduled: (*NOT_OVER, *FAILURE),
    Escalated: (*IDS, *FAILURE),
    GroupEnded: (*OUTCOME, outcomes.a_graph_ends_as_its_nodes_did),
    RunFinished: (
        outcomes.nothing_of_a_finished_run_is_open,
        outcomes.a_run_ends_as_its_root_did,
    ),
    CancelRequested: (stopping.whatever_is_below_stops,),
    DeadlinePassed: (
        stopping.whatever_is_below_stops,
        stopping.a_deadline_passes_when_it_is_due,
        stopping.grace_is_given,
    ),
    GraceEnded: (stopping.grace_ends_for_all,),
    BudgetExhausted: (spending.a_budget_ends_with_what_was_spent, stopping.a_spent_budget_reaches_what_spends_it),
    CircuitOpened: (failures.a_circuit_opens_after_failures_in_a_row,),
    CircuitHalfOpened: (failures.a_circuit_cools_down,),
    AgentsRestarted: (failures.restarts_are_counted,),
    SupervisorFailed: (failures.a_supervisor_fails_after_too_many_restarts,),
    AgentSwapped: (team.a_generation_follows_the_one_before, *QUEUES),
    SwapRolledBack: (team.a_generation_follows_the_one_before, *QUEUES),
    SwapDrained: (team.a_swap_is_drained_once_nothing_old_is_at_work,),
    AgentRemoved: (team.who_leaves_has_nothing_left, team.the_idlest_makes_room),
    SupervisorRemoved: (team.a_supervisor_leaves_empty,),
    PoolResized: (slots.a_pool_grows_and_shrinks_for_a_reason,),
    CommandApplied: (commands.a_command_has_one_outcome, commands.an_applied_command_has_done_what_it_asks),
    CommandRefused: (commands.a_command_has_one_outcome, commands.no_message_runs_into_a_defect),
    SignalDropped: (commands.no_message_runs_into_a_defect,),
}
"""Checked before an event of a class is folded."""
ON_EVERY_EVENT: tuple[Law, ...] = (engine.time_does_not_go_back,)
AFTER_BATCH: tuple[Law, ...] = (
    engine.the_state_is_legal,
    outcomes.no_outcome_is_taken_back,
    outcomes.outcomes_are_those_of_events,
    outcomes.runs_count_what_became_of_their_tasks,
    outcomes.finished_runs_are_remembered,
    outcomes.totals_add_up,
    slots.slots_are_those_of_attempts,
    slots.generations_are_those_of_attempts,
    slots.whatever_can_start_has_started,
    stopping.deadlines_are_inherited,
    stopping.cancelled_work_ends,
    team.the_team_is_what_events_say,
    team.queues_are_served_by_those_who_were_named,
    team.the_registry_is_what_events_say,
    team.no_swap_is_left_undrained,
    team.leaving_comes_to_an_end,
    team.what_was_declared_is_remembered,
    placement.what_nobody_near_can_do_goes_elsewhere,
    spending.usage_adds_up,
    spending.agents_count_their_attempts,
    spending.hand_overs_are_measured,
    spending.a_spent_budget_is_noticed,
    failures.circuits_follow_from_attempts,
    failures.crashes_are_answered,
    questions.questions_are_those_that_were_asked,
    questions.every_question_has_what_asks_it,
    questions.whoever_waits_for_a_person_has_a_question,
    engine.what_is_limited_is_known,
)
"""Checked on what the journal alone gives, after each write."""
SAMPLED: tuple[Law, ...] = (engine.the_journal_is_the_state, engine.looking_changes_nothing)
"""Checked after one write in `SAMPLE`."""
ON_BEGIN: tuple[Law, ...] = (inputs.an_attempt_runs_the_code_of_its_generation,)
"""Checked when an agent begins, with its `Work`."""
ON_READ: tuple[Law, ...] = (inputs.an_attempt_is_given_what_came_before,)
"""Checked when an agent has read its task, with its `Work` and the `Task`."""
ON_CALL: tuple[Law, ...] = (inputs.a_tool_is_not_called_again_in_doubt,)
"""Checked when a tool is called that must not be called twice, with the `Work` of its attempt."""
AT_MOMENTS: tuple[Law, ...] = (
    engine.timers_fire,
    engine.what_is_due_has_happened,
    engine.attempts_are_really_at_work,
    engine.the_journal_is_the_state,
)
"""Checked whenever an operator wakes: the clock moves only when nothing else can happen."""
AT_REST: tuple[Law, ...] = (
    engine.whatever_can_move_has_moved,
    engine.no_timer_is_left,
    engine.every_command_has_an_outcome,
)
"""Checked once the team has come to rest, with nothing paused, missing or full."""
AT_THE_END: tuple[Law, ...] = (engine.a_snapshot_is_only_a_shortcut,)
"""Checked on the disk, once the last engine has ended."""

INVARIANTS: tuple[Law, ...] = tuple(
    dict.fromkeys(
        (
            *(law for laws in ON_EVENT.values() for law in laws),
            *ON_EVERY_EVENT,
            *AFTER_BATCH,
            *SAMPLED,
            *ON_BEGIN,
            *ON_READ,
            *ON_CALL,
            *AT_MOMENTS,
            *AT_REST,
            *AT_THE_END,
        )
    )
)
"""Every law, each once; besides them a history itself says `broken` of what it sees first-hand (see `history`)."""
