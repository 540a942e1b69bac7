"""Actions of time travel: marks, events, minutes, freeze and play, jumps, a fork, and back to live."""

from dashboard import dialogs
from dashboard.actions.action import Action, ActionScreen, CommandLine
from dashboard.deck.time_travel import MINUTE_MS
from dashboard.views.words.keyed import fill_keys
from dashboard.views.words.parsers import Mistyped, Seq, parse_moment


def _go_to_moment(screen: ActionScreen, line: CommandLine) -> None:
    text = " ".join(line.words)
    if not text:
        screen.deck.messages.warn(
            "at MOMENT: a time such as 13:59:10 or 2026-01-31T12:04, 10m for ten minutes ago, or a seq such as 812"
        )
        return
    try:
        moment = parse_moment(text, screen.deck.view.present_ms)
    except Mistyped as error:
        screen.deck.messages.warn(str(error))
        return
    if isinstance(moment, Seq):
        screen.deck.past.goto_seq(moment)
    else:
        screen.deck.past.goto_time(moment)


def _go_to_event(screen: ActionScreen, _line: CommandLine) -> None:
    seq = screen.id_at_cursor()
    if seq.isdigit():
        screen.deck.past.goto_seq(int(seq))
    else:
        screen.deck.messages.warn(
            fill_keys("choose an event: <back here:b> shows the team as it was after it; :at goes to any moment")
        )


def _fork(screen: ActionScreen, line: CommandLine) -> None:
    if not screen.state.seq:
        screen.deck.messages.warn("nothing has happened yet that a fork could go on from")
        return
    target = line.word()
    if target is None or screen.deck.access.has_local_access("a path; <fork:F> sends the fork to the browser"):
        screen.app.push_screen(dialogs.fork.ForkDialog(screen.deck.path, target))


def _diff(screen: ActionScreen, line: CommandLine) -> None:
    past, words = screen.deck.view.past, list(line.words)
    if not words and past is None:
        screen.deck.messages.warn(
            "diff A B: two seqs, times, databases or archives; in the past = compares this moment with the newest"
        )
        return
    from dashboard.reading.comparing import key_of  # slow import: needed only for a comparison

    seq, newest = str(screen.state.seq), str(past.live_seq if past is not None else screen.state.seq)
    first, other = {0: (seq, newest), 1: (words[0] if words else "", seq)}.get(len(words), tuple(words[:2]))
    screen.deck.open("diff", key_of(first, other))


TIME_TRAVEL_ACTIONS = (
    Action(
        name="mark before",
        key="left_square_bracket",
        label="time",
        run=lambda screen, line: screen.deck.past.goto_mark(-1),
        key_text="[  ]",
        key_help="go back in time to the mark before, on to the next: swaps, strategies, failures, questions",
    ),
    Action(name="next mark", key="right_square_bracket", run=lambda screen, line: screen.deck.past.goto_mark(1)),
    Action(
        name="minute before",
        key="left_curly_bracket",
        run=lambda screen, line: screen.deck.past.step_time(-MINUTE_MS),
        key_text="{  }",
        key_help="go a minute back, a minute on; in the past , and . go by single events",
    ),
    Action(
        name="next minute", key="right_curly_bracket", run=lambda screen, line: screen.deck.past.step_time(MINUTE_MS)
    ),
    Action(
        name="freeze",
        key="t",
        run=lambda screen, line: screen.deck.past.freeze(),
        key_help="stand still at this moment; again: go on",
        about="stand still at this moment",
    ),
    Action(
        name="play",
        key="p",
        run=lambda screen, line: screen.deck.past.play(),
        key_help="in the past: play, and stop; ( and ) slower and faster, 1 to 64 times",
        about="let the past go on",
    ),
    Action(name="slower", key="left_parenthesis", run=lambda screen, line: screen.deck.past.play_faster(-1)),
    Action(name="faster", key="right_parenthesis", run=lambda screen, line: screen.deck.past.play_faster(1)),
    Action(
        name="at",
        run=_go_to_moment,
        arguments="TIME|SEQ",
        about="go to a time or an event: 13:59:10, 10m, 812",
    ),
    Action(
        name="back here",
        key="b",
        run=_go_to_event,
        label="back here",
        key_help="go back to the moment of the event under the cursor",
    ),
    Action(
        name="fork",
        key="F",
        run=_fork,
        arguments="[NEW.db]",
        key_help="fork: a new file that goes on, paused, from the moment that is shown",
        about="make a new file that goes on from this moment",
    ),
    Action(
        name="diff",
        key="equals_sign",
        run=_diff,
        arguments="A [B]",
        key_text="=",
        key_help="in the past: what differs from this moment to the newest",
        about="what differs: seqs, times, databases, archives; B is the moment shown",
    ),
    Action(
        name="live",
        key="L",
        run=lambda screen, line: screen.deck.past.live(),
        key_help="back to live",
        about="back to the newest event",
    ),
)
