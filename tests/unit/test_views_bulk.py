"""What became of several changes, in one line."""

from dashboard.views.changes.bulk import MAX_SHOWN, Bulk, BulkChange, describe_outcomes, part_lines, plan_cancel
from dashboard.views.changes.outcomes import UNDO_HINT
from dashboard.views.words.keyed import fill_keys
from engine.core.commands import Cancel
from engine.core.queries.targets import id_target
from engine.supervisor.client import CommandReply
from tests.pilot.trouble import trouble

CANCEL = Bulk("Cancel", "cancelled", ())


def outcome(seq: int | None = None, reason: str | None = None) -> CommandReply:
    status = "applied" if seq is not None else "refused" if reason is not None else "pending"
    return CommandReply(command_id="c", status=status, seq=seq, reason=reason)  # type: ignore[arg-type]


def test_changes_and_refusals_are_counted_with_their_seqs_and_reasons() -> None:
    ended = [outcome(12), outcome(15), outcome(19), outcome(reason="t5 has ended")]
    said = describe_outcomes(CANCEL, ended)

    assert (said.text, said.tone) == ("✓ 3 cancelled at seq 12–19, 1 refused: t5 has ended", "error")


def test_several_reasons_are_counted() -> None:
    ended = [outcome(reason="t5 has ended"), outcome(reason="t6 is paused"), outcome(reason="t5 has ended")]

    assert describe_outcomes(CANCEL, ended).text == "3 refused: t5 has ended (and 1 other reason)"


def test_a_reason_that_differs_in_the_object_alone_is_one() -> None:
    ended = [outcome(reason="t5 has ended"), outcome(reason="t61 has ended"), outcome(reason="no task 't7'")]

    assert describe_outcomes(CANCEL, ended).text == "3 refused: t5 has ended (and 1 other reason)"


def test_work_below_other_marked_work_is_not_cancelled_apart() -> None:
    work = trouble()
    state = work.state
    parent = next(one for one in state.tasks.values() if len(one.children) > 1)
    other = next(one.id for one in state.runs.values() if one.id != parent.run_id)
    below = plan_cancel(state, [*parent.children, parent.id, other])
    whole = plan_cancel(state, [parent.id, parent.run_id, *parent.children])

    assert below.commands == (Cancel(target=id_target(parent.id)), Cancel(target=id_target(other)))
    assert (below.below, whole.below) == (len(parent.children), len(parent.children) + 1)
    assert whole.commands == (Cancel(target=id_target(parent.run_id)),)


def test_what_no_engine_took_is_said() -> None:
    assert describe_outcomes(CANCEL, [outcome(3), outcome()], way_back=fill_keys(UNDO_HINT)).text == (
        "✓ 1 cancelled at seq 3, 1 queued; no engine has taken them yet · u undo"
    )


def test_of_very_many_the_rest_is_counted() -> None:
    part = BulkChange("t5 dive", Cancel(target="t5"), "cancelled task t5", refused=False)

    assert part_lines([part] * (MAX_SHOWN + 1_200))[-1].text == "and 1,200 more"


def test_a_reason_that_differs_in_the_id_of_a_command_alone_is_one() -> None:
    ended = [outcome(reason=f"command {one * 32} was already") for one in "ab"]

    assert describe_outcomes(CANCEL, ended).text == f"2 refused: command {'a' * 32} was already"
