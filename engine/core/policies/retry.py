"""Retry: the same agent again, after a back-off that grows."""

from engine.core.policies.records import Retry
from engine.core.policies.verdicts import Failures, TryAgain
from engine.core.validation.bounds import DAY_S


def after(policy: Retry, failures: Failures) -> TryAgain | None:
    """Try again while there are retries left and the error is worth one; never before the time that it asked for."""
    if failures.retries >= policy.retries or not is_worth_it(policy, failures):
        return None
    delay_s = backoff_s(failures.retries + 2, base_s=policy.base_s, cap_s=policy.cap_s, jitter=failures.jitter)
    asked_s = min(failures.retry_after_s or 0.0, DAY_S)  # whatever an exception asks for
    # Rounded up where it was asked for: a millisecond too early is too early.
    return TryAgain(delay_ms=max(int(delay_s * 1000), -int(-asked_s * 1000 // 1)))


def is_worth_it(policy: Retry, failures: Failures) -> bool:
    """Return whether a retry is worth it: what the policy names goes before what the exception says of itself."""
    if any(name in policy.never_on for name in failures.error_types):
        return False
    if any(name in policy.on for name in failures.error_types):
        return True
    return failures.retryable if failures.retryable is not None else not policy.on


def backoff_s(attempt: int, *, base_s: float, cap_s: float, jitter: float) -> float:
    """Seconds to wait before `attempt`, exponential with full jitter.

    Args:
        attempt: Number of the attempt about to start, 2 for the first retry.
        base_s: Ceiling of the first delay, in seconds.
        cap_s: Largest ceiling, in seconds.
        jitter: Draw from [0, 1); the caller owns the random source, so that replay can record the draw instead of
            repeating it.

    Returns:
        A delay in [0, cap_s), in seconds.

    Raises:
        ValueError: If `attempt` is below 2: a first attempt never waits.

    Source: M. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015, "full jitter" variant.
    """
    if attempt < 2:
        raise ValueError(f"a first attempt never waits, attempt {attempt}")
    ceiling = min(cap_s, base_s * 2.0 ** min(attempt - 2, 60))
    return ceiling * jitter
