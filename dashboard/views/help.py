"""What `?` shows: the keys of a screen, those of every screen, and the words of the `:` line."""

from collections.abc import Sequence

from dashboard.views.rows import Cell
from dashboard.views.verbs import VERBS

EVERYWHERE = (
    ("1 – 5, 8", "go to a screen"),
    ("space", "mark an agent; h then swaps all that are marked as one change"),
    ("↑ ↓  j k", "move; g and G go to the first and the last, pgup and pgdn by pages"),
    ("enter", "open what is under the cursor"),
    ("esc", "take the filter off, or go back"),
    ("/", "filter what is shown"),
    (":", "command line; tab completes, ↑ recalls"),
    ("!", "go to the next thing that needs a person, questions first"),
    ("h", "swap an agent: another spec, while it works"),
    ("B", "roll an agent back to the spec of the generation before"),
    ("u", "undo the last swap"),
    ("S", "change the strategy of a supervisor, or of the run under the cursor"),
    ("z", "pause or resume an agent, a supervisor, a run"),
    ("r", "try a failed task again; submit a finished run again"),
    ("p  d", "priority, deadline of a task or a run"),
    ("a", "give a task to another agent"),
    ("m", "move an agent, or a supervisor with all under it, under another supervisor"),
    ("c", "change what an agent is able to do"),
    ("o", "change the settings of a supervisor"),
    ("ctrl+d", "cancel a task or a run; remove an agent; asks first"),
    ("R", "remove an agent"),
    ("n", "give the team, or the supervisor under the cursor, a request"),
    ("E", "who leads and who stands by; start an engine where none is at work; hand over"),
    ("x  i", "export to an archive, import one"),
    ("q", "quit; the team goes on"),
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
    "GEN": "generation of an agent: each swap adds one",
    "QUEUE": "tasks that could begin and wait for this agent",
    "CAN": "its specialties: what work asks for",
    "PRI": "priority, 0 the most urgent to 9",
    "DUE": "time left until the deadline",
    "TRY": "attempts so far, where there were several",
    "ELSE": "what happens when nobody answers",
}
"""What a column means, by its heading."""
NEEDS_YOU = (
    "⚑ 2 need you in the header counts the rows of the Inbox: questions, agents and teams in error, tasks that failed "
    "or are in doubt."
)
_KEY, _VERB = 14, 40


def column_lines(headings: Sequence[str]) -> list[Cell]:
    """Return what the columns of a screen mean, and the count in the header."""
    told = [Cell(COLUMNS[name], "", f"{name:<{_KEY}}") for name in headings if name in COLUMNS]
    return [Cell("COLUMNS", "muted"), *told, Cell(""), Cell(NEEDS_YOU), Cell("")]


def key_lines(own: Sequence[tuple[str, str]]) -> list[Cell]:
    """Return the keys, those of the screen first."""
    known = {key for key, _ in EVERYWHERE}
    here = [Cell(does, "", f"{key:<{_KEY}}") for key, does in own if key not in known and key not in (":", "?")]
    everywhere = [Cell(does, "", f"{key:<{_KEY}}") for key, does in EVERYWHERE]
    states = [Cell(line, "muted") for line in STATES]
    return [*here, Cell("") if here else Cell("EVERYWHERE", "muted"), *everywhere, Cell(""), *states]


def verb_lines() -> list[Cell]:
    """Return the words of the command line."""
    lines = [Cell(verb.does, "", f"{f': {verb.name} {verb.arguments}':<{_VERB}}") for verb in VERBS]
    return [Cell("COMMAND LINE", "muted"), *lines]
