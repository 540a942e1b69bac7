"""The time that a team lives in: that of its engine, which stamps what is journaled."""

from store.records import EngineInfo


def engine_time_ms(newest_ms: int, engine: EngineInfo | None, wall_ms: int) -> int:
    """Return the time by which what is journaled is to be judged: how long ago it was, and when a deadline comes.

    Args:
        newest_ms: Time of the newest event; no view says that it lies in the future.
        engine: Who holds the file.
        wall_ms: The time of this computer.
    """
    ahead_ms = engine.ahead_ms if engine is not None and engine.alive else 0
    return max(newest_ms, wall_ms + ahead_ms)
