"""Builds the view of the team that all screens draw: live, or as of a past moment."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.deck.playback import Playback
from dashboard.reading.feed import Feed
from dashboard.views.header import engine_time_ms, gone_since_ms
from dashboard.views.measures.digest import Digest, make_digest
from dashboard.views.measures.queues import EVERY_MS, waiting_of
from dashboard.views.past import PastMoment, rate_of
from dashboard.views.situation import Situation
from dashboard.views.view_state import ViewState
from engine.core.state import State

if TYPE_CHECKING:
    from dashboard.reading.past import Past


def make_view_state(
    feed: Feed,
    playback: Playback,
    *,
    db: Path,
    wall_ms: int,
    readonly: bool,
    in_browser: bool,
    before: ViewState | None = None,
) -> ViewState:
    """Return the team at the current moment, and the situation of its engine.

    Args:
        before: The previous view, whose counts are reused while the state is unchanged.
    """
    now_ms = engine_time_ms(feed.state.at_ms, feed.engine, wall_ms)
    past = playback.moment(max(feed.state.seq, feed.file_seq), now_ms)
    situation = Situation(
        db=str(db),
        engine=feed.engine,
        standbys=feed.standbys,
        now_ms=now_ms,
        events_per_s=feed.events_per_s,
        behind=feed.behind,
        opening=feed.opening,
        trouble=feed.trouble,
        readonly=readonly,
        is_loaded=feed.has_polled,
        wall_ms=wall_ms,
        in_browser=in_browser,
    )
    if past is not None and playback.past is not None:
        _sample(feed, now_ms)
        return _past_view(playback.past, past, situation, before)
    state = State() if situation.opening else feed.state
    working = not feed.has_polled or (feed.engine is not None and feed.engine.alive)
    counts = _digest_of(state, before, feed.live, now_ms, working=working)
    feed.activity.close_questions(state)
    feed.activity.until_ms = None if working else gone_since_ms(state, feed.engine)
    feed.activity.sample_queues(situation.now_ms, counts.waiting, counts.waiting_of)
    return ViewState(state, counts, feed.live, situation, feed.names, feed.activity, feed.recent)


def _sample(feed: Feed, now_ms: int) -> None:
    """Sample the live queues while a past moment is shown; the plots would have a gap afterwards."""
    queued = feed.activity.queued
    if not queued or not 0 <= now_ms - queued[-1][0] < EVERY_MS:
        waiting = sum(queue.ready for queue in feed.state.queues.values())
        feed.activity.sample_queues(now_ms, waiting, waiting_of(feed.state))


def _digest_of(
    state: State, before: ViewState | None, live: Mapping[str, str], now_ms: int, *, working: bool = True
) -> Digest:
    counts = before.counts if before is not None and before.state is state else None
    if counts is not None and (counts.seq, counts.working) == (state.seq, working):
        return counts.at(live, now_ms)
    return make_digest(state, working=working, live=live, now_ms=now_ms, before=counts)


def _past_view(playback: "Past", past: PastMoment, now: Situation, before: ViewState | None) -> ViewState:
    """Return the view of a past moment, without facts of the present such as live texts and the engine."""
    rate = rate_of(playback.recent, past.at_ms)
    situation = replace(now, engine=None, standbys=(), now_ms=past.at_ms, events_per_s=rate, behind=0, opening=False)
    stopped_ms = playback.state.engine.stopped_ms if playback.state.engine is not None else None
    counts = _digest_of(playback.state, before, {}, past.at_ms, working=stopped_ms is None)
    playback.activity.until_ms = stopped_ms
    playback.activity.sample_queues(past.at_ms, counts.waiting, counts.waiting_of)
    return ViewState(playback.state, counts, {}, situation, playback.names, playback.activity, playback.recent, past)
