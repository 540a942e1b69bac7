"""What a task group raises: the failure policies and the screens see what its tasks raised."""

import pytest

from engine.errors import PermanentFailure, RetryLater
from engine.runtimes.functions.child import MAX_LEAVES
from engine.runtimes.values import one_line, traits


def group(*errors: BaseException) -> BaseException:
    return BaseExceptionGroup("unhandled errors in a TaskGroup", errors)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (group(ValueError("no tides")), "ValueError: no tides"),
        (group(ValueError("a"), group(TypeError("b"))), "ValueError: a; TypeError: b"),
        (group(KeyError("tide"), KeyboardInterrupt()), "KeyError: 'tide'; KeyboardInterrupt"),
        (group(*(OSError(str(one)) for one in range(5))), "OSError: 0; OSError: 1; OSError: 2 and 2 more"),
        (group(ValueError("first\nsecond")), "ValueError: first"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_an_error_says_what_its_tasks_raised(error: BaseException, says: str) -> None:
    assert one_line(error) == says


def test_a_failure_policy_sees_the_classes_in_a_group() -> None:
    types = traits(group(TimeoutError(), group(KeyError("tide")))).types

    assert types[0] == "ExceptionGroup"
    assert {"TimeoutError", "OSError", "KeyError", "LookupError"} <= set(types)


def test_one_final_failure_makes_the_group_final() -> None:
    assert traits(group(ValueError("a"), PermanentFailure("b"))).retryable is False
    assert traits(group(ValueError("a"), RetryLater(3))).retryable is True
    assert traits(group(ValueError("a"))).retryable is None


def test_a_group_asks_to_be_left_alone_for_the_longest_time_of_those_in_it() -> None:
    assert traits(group(RetryLater(3), RetryLater(9))).retry_after_s == 9


def test_of_a_group_without_end_a_part_is_looked_at() -> None:
    error = group(*(ValueError(str(one)) for one in range(MAX_LEAVES * 10)))

    assert one_line(error) == f"ValueError: 0; ValueError: 1; ValueError: 2 and {MAX_LEAVES - 3} more"
