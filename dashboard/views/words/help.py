"""The parts of the help that do not come from actions: navigation keys, glyphs. `help_lines` puts all together."""

MOVES = (
    ("1 – 9, 0", "go to a screen"),
    ("space", "mark rows; z, ctrl+d, r, P, D, s, h of agents and enter in the inbox are for all marked"),
    ("*", "mark all rows that the filter leaves, or none"),
    ("↑ ↓  j k", "move; g and G go to the first and the last, pgup and pgdn by pages"),
    ("enter", "open what is under the cursor"),
    ("<  >", "sort a table the way before, the next way; so does a click on a heading, a second one turns it round"),
    ("ctrl+←→↑↓", "move the line between two panes; the mouse drags it, a double click or :panes puts it back"),
    ("esc", "clear the filter, or go back"),
    ("/", 'filter: words, "two words", agent:a status:b, >5s, /regex/, -not this; tab completes'),
    ("/", "on a page: find words; / and enter again: the next place"),
    (":", "command line; tab completes, ↑ recalls"),
    ("!", "go to the next thing that needs a person, questions first"),
)
SHARED_KEYS = {
    "back here": "go back to the moment of what is under the cursor",
    "hold": "hold what is being written where it is, or follow its end again",
    "newest": "go to the newest and stay there",
    "pane": "go to the next pane of this screen",
    "prompt": "unfold what was sent to the agent: its prompt, or the input of its task",
    "scroll": "go up and down by lines; pgup and pgdn by pages",
}
"""Sentences for key labels that several screens share; other keys are explained by their screen."""
STATES = (
    "for you  ⚑ asks a person   ? in doubt   $ budget spent   ✕ error   ! stuck   ⋯ silent",
    "at work  ● working   ◐ draining, pausing   ◔ delegated",
    "waits    ◌ queued, slot   ↻ backoff   ◷ limited   ⊘ circuit   ‖ paused, away, suspended",
    "rests    ○ idle   ■ stopped, cancelled   ✓ done   ✕ failed   – skipped",
)
STATE_MEANING = "glyph and word; below they are explained"
AT_MEANING = "when it happened, by the clock of the engine"
SEQ_MEANING = "number of an event in the journal; :at SEQ goes there"
TOKENS_MEANING = "what models read and wrote"
COST_MEANING = "what models took, in US dollars; – where no price is known"
P50_MEANING = "median time that an agent itself worked on a task, without what it waited for others or a person"
"""Meanings of columns that several lists have."""
SETTINGS = "keys of your own, colours, motion, and how you are called: in"
NEEDS_YOU = (
    "⚑ 2 need you in the header counts the rows of the Inbox: questions, agents and teams in error, tasks that failed "
    "or are in doubt."
)
