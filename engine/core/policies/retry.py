"""Retry: the same agent again, after a back-off that grows."""


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
