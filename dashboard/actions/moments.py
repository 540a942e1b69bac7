"""Actions of time travel: marks, events, minutes, freeze and play, jumps, a fork, and back to live."""

from dashboard import dialogs
from dashboard.actions.action import Acting, Action, Spoken
from dashboard.deck.time_travel import MINUTE_MS
from dashboard.views.words.keyed import keyed
from dashboard.views.words.parsers import Mistyped, Seq, moment_of


def _at(at: Acting, said: Spoken) -> None:
    text = " ".join(said.words)
    if not text:
        at.warn("at MOMENT: a time such as 13:59:10 or 2026-01-31T12:04, 10m for ten minutes ago, or a seq such as 812")
        return
    try:
        found = moment_of(text, at.deck.view.present_ms)
    except Mistyped as error:
        at.warn(str(error))
        return
    if isinstance(found, Seq):
        at.deck.goto_seq(found)
    else:
        at.deck.goto_time(found)


def _back_here(at: Acting, _said: Spoken) -> None:
    seq = at.looked_at()
    if seq.isdigit():
        at.deck.goto_seq(int(seq))
    else:
        at.warn(keyed("choose an event: <back here:b> shows the team as it was after it; :at goes to any moment"))


def _fork(at: Acting, said: Spoken) -> None:
    if not at.state.seq:
        at.warn("nothing has happened yet that a fork could go on from")
        return
    target = said.word()
    if target is None or at.deck.at_hand("a path; <fork:F> sends the fork to the browser"):
        at.app.push_screen(dialogs.fork.ForkDialog(at.deck.path, target))


def _diff(at: Acting, said: Spoken) -> None:
    past, given = at.deck.view.past, list(said.words)
    if not given and past is None:
        at.warn("diff A B: two seqs, times, databases or archives; in the past = compares this moment with the newest")
        return
    from dashboard.reading.comparing import key_of  # only who compares needs it

    seq, newest = str(at.state.seq), str(past.live_seq if past is not None else at.state.seq)
    one, other = {0: (seq, newest), 1: (given[0] if given else "", seq)}.get(len(given), tuple(given[:2]))
    at.deck.open("diff", key_of(one, other))


MOMENTS = (
    Action(
        name="mark before",
        key="left_square_bracket",
        label="time",
        does=lambda at, said: at.deck.goto_mark(-1),
        shown="[  ]",
        told="go back in time to the mark before, on to the next: swaps, strategies, failures, questions",
    ),
    Action(name="next mark", key="right_square_bracket", does=lambda at, said: at.deck.goto_mark(1)),
    Action(
        name="minute before",
        key="left_curly_bracket",
        does=lambda at, said: at.deck.step_time(-MINUTE_MS),
        shown="{  }",
        told="go a minute back, a minute on; in the past , and . go by single events",
    ),
    Action(name="next minute", key="right_curly_bracket", does=lambda at, said: at.deck.step_time(MINUTE_MS)),
    Action(
        name="freeze",
        key="t",
        does=lambda at, said: at.deck.freeze(),
        told="stand still at this moment; again: go on",
        says="stand still at this moment",
    ),
    Action(
        name="play",
        key="p",
        does=lambda at, said: at.deck.play(),
        told="in the past: play, and stop; ( and ) slower and faster, 1 to 64 times",
        says="let the past go on",
    ),
    Action(name="slower", key="left_parenthesis", does=lambda at, said: at.deck.play_faster(-1)),
    Action(name="faster", key="right_parenthesis", does=lambda at, said: at.deck.play_faster(1)),
    Action(
        name="at",
        does=_at,
        arguments="TIME|SEQ",
        says="go to a time or an event: 13:59:10, 10m, 812",
    ),
    Action(
        name="back here",
        key="b",
        does=_back_here,
        label="back here",
        told="go back to the moment of the event under the cursor",
    ),
    Action(
        name="fork",
        key="F",
        does=_fork,
        arguments="[NEW.db]",
        told="fork: a new file that goes on, paused, from the moment that is shown",
        says="make a new file that goes on from this moment",
    ),
    Action(
        name="diff",
        key="equals_sign",
        does=_diff,
        arguments="A [B]",
        shown="=",
        told="in the past: what differs from this moment to the newest",
        says="what differs: seqs, times, databases, archives; B is the moment shown",
    ),
    Action(
        name="live",
        key="L",
        does=lambda at, said: at.deck.live(),
        told="back to live",
        says="back to the newest event",
    ),
)
