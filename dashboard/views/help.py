"""What `?` says besides the actions: keys to move with, glyphs, and what the columns mean."""

MOVES = (
    ("1 – 9, 0", "go to a screen"),
    ("space", "mark rows; z, ctrl+d, r, in the inbox enter, and h for agents, are for all that are marked"),
    ("↑ ↓  j k", "move; g and G go to the first and the last, pgup and pgdn by pages"),
    ("enter", "open what is under the cursor"),
    ("<  >", "sort a table the way before, the next way; so does a click on a heading, a second one turns it round"),
    ("ctrl+←→↑↓", "move the line between two panes; the mouse drags it, a double click or :panes puts it back"),
    ("esc", "clear the filter, or go back"),
    ("/", 'filter: words, "two words", agent:a status:b, >5s, /regex/, -not this; tab completes'),
    (":", "command line; tab completes, ↑ recalls"),
    ("!", "go to the next thing that needs a person, questions first"),
)
STATES = (
    "agents   ● busy   ○ idle   ◐ draining   ‖ paused   ✕ error   ■ stopped",
    "tasks    ◌ waiting   ● running   ◔ delegated   ↻ retrying   ▽ preempted",
    "         ? in doubt   ✓ done   ✕ failed   ■ cancelled   – skipped",
)
COLUMNS = {
    "DONE": "of an agent or a team: attempts that ended well",
    "ERR": "attempts that failed; a task that was retried twice counts twice",
    "FAIL": "tasks that failed for good, after every retry",
    "OK": "share of the attempts that ended well",
    "P50": "median time of an agent's last attempts: half took longer",
    "P95": "of a window: 95 of 100 tasks took less",
    "SHARE": "its part of the time at work of all agents in the window",
    "GEN": "generation of an agent: each swap adds one",
    "QUEUE": "tasks that could begin and wait for this agent",
    "CAN": "its specialties: what work asks for",
    "PRI": "priority, 0 the most urgent to 9",
    "DUE": "time left until the deadline",
    "LEFT": "how long a run may still take, from how many of its tasks ended in its time",
    "TRY": "attempts so far, where there were several",
    "DEFAULT": "what happens when nobody answers in time",
}
"""What a column means, by its heading."""
NEEDS_YOU = (
    "⚑ 2 need you in the header counts the rows of the Inbox: questions, agents and teams in error, tasks that failed "
    "or are in doubt."
)
