"""Actions about the dashboard itself: screens, open questions, the engine, archives, help."""

from functools import partial

from dashboard import dialogs
from dashboard.actions.action import Action, ActionScreen, CommandLine, one_of, show_dialog
from dashboard.deck.places import HOME, keys, places
from dashboard.user.settings import settings_path_text
from dashboard.user.theme import NAMES, THEMES
from dashboard.user.typed_paths import expand_path
from dashboard.views.header import program_line, shell_command
from dashboard.views.inbox import place_of
from dashboard.views.past import PAST_REFUSAL
from dashboard.views.words.keyed import fill_keys

_NOT_CHECKED = "the engine is still being looked for; press the key again in a moment"


def _go_to_next_need(screen: ActionScreen, _line: CommandLine) -> None:
    """Go to the next object that waits for a person; questions, in the inbox, come first."""
    waiting = screen.deck.view.counts.needs_person
    if not waiting:
        screen.deck.messages.say("nothing waits for you", "done")
        return
    selected_key = screen.selected_key()
    place = waiting.index(selected_key) + 1 if selected_key in waiting else 0
    next_key = waiting[place % len(waiting)]
    screen.deck.action_go(place_of(screen.state, next_key), selected=next_key)


def _engine(screen: ActionScreen, _line: CommandLine) -> None:
    situation = screen.deck.view.situation
    info = situation.engine
    if screen.deck.past.is_shown:
        screen.deck.messages.warn(fill_keys(PAST_REFUSAL))
    elif situation.trouble is not None:
        screen.deck.messages.say(situation.trouble, "error")
    elif not situation.is_loaded:
        screen.deck.messages.warn(_NOT_CHECKED)
    elif info is not None and info.alive and not info.hung:
        show_dialog(screen, dialogs.engine.LeadingDialog())
    elif (line := program_line(screen.state)) is not None:
        screen.deck.messages.warn(line)
    elif screen.deck.access.can_write() and screen.deck.access.has_local_access(
        f"an engine is started in a shell: {shell_command(situation)}"
    ):
        screen.app.push_screen(dialogs.engine.EngineDialog())


def _hand_over(screen: ActionScreen, line: CommandLine) -> None:
    situation = screen.deck.view.situation
    info = situation.engine
    if not situation.is_loaded:
        screen.deck.messages.warn(_NOT_CHECKED)
    elif info is None or not info.alive or info.hung:
        screen.deck.messages.warn(fill_keys("no engine answers that could hand over; <engine:E> starts one"))
    else:
        show_dialog(screen, dialogs.engine.LeadingDialog(line.option("grace"), hands_over=True))


def _export(screen: ActionScreen, line: CommandLine) -> None:
    path = line.word()
    if screen.deck.past.is_shown:
        text = "an export holds the newest state: <live:L> goes back to live; <fork:F> makes a file of this moment"
        screen.deck.messages.warn(fill_keys(text))
    elif path is None:
        screen.app.push_screen(dialogs.files.ExportDialog(screen.deck.path))
    elif screen.deck.access.has_local_access("a path; <export:x> sends the archive to the browser"):
        screen.deck.files.export(expand_path(path))


def _import(screen: ActionScreen, line: CommandLine) -> None:
    if line.word() is None or screen.deck.access.has_local_access("a path; <import:i> asks for a file of the browser"):
        show_dialog(screen, dialogs.files.ImportDialog(screen.deck.path, line.word() or ""))


def _go_to_place(place: str, screen: ActionScreen, _line: CommandLine) -> None:
    screen.deck.action_go(place)


def _set_theme(screen: ActionScreen, line: CommandLine) -> None:
    """Change the theme, to the next one if no name is given."""
    deck, names, name = screen.deck, [*THEMES], line.word()
    if name is not None and name not in THEMES:
        screen.deck.messages.warn(f"there is no theme {name!r}; there are {', '.join(names)}")
        return
    current = next(key for key, theme in THEMES.items() if theme.name == deck.theme)
    chosen = name or names[(names.index(current) + 1) % len(names)]
    deck.theme = THEMES[chosen].name
    if deck.access.in_browser:
        deck.habits.remember_theme(chosen)
    where = "" if deck.access.in_browser else settings_path_text()
    deck.messages.say(f'{chosen} · to keep it: theme = "{chosen}" in {where}' if where else chosen)


def _begin_tour(screen: ActionScreen, _line: CommandLine) -> None:
    deck = screen.deck
    deck.action_go(HOME)
    deck.tour.begin(HOME)
    deck.call_after_refresh(lambda: deck.tour.follow(deck.view, deck.clock()))


APPLICATION_ACTIONS = (
    Action(
        name="engine",
        key="E",
        run=_engine,
        key_help="who leads and who stands by; start an engine where none is at work; hand over",
        about="who leads; start one where none is at work, or in place of one that hangs",
    ),
    Action(
        name="hand-over",
        run=_hand_over,
        writes=True,
        options=("grace",),
        arguments="[--grace TIME]",
        about="hand over to a standby engine",
    ),
    Action(
        name="export",
        key="x",
        run=_export,
        arguments="[FILE]",
        key_text="x  i",
        key_help="export to an archive, import one",
        about="write the whole state to an archive",
    ),
    Action(
        name="import",
        key="i",
        run=_import,
        writes=True,
        arguments="[FILE]",
        about="import an archive; shows first what it would do",
    ),
    *(
        Action(
            name=place, key=keys().get(place, ""), run=partial(_go_to_place, place), about=f"go to {place.capitalize()}"
        )
        for place in places()
    ),
    Action(name="who needs me", key="exclamation_mark", run=_go_to_next_need),
    Action(
        name="theme",
        run=_set_theme,
        targets=one_of(*NAMES),
        arguments=f"[{'|'.join(NAMES)}]",
        about="change the colours",
    ),
    Action(
        name="help",
        key="question_mark,f1",
        label="keys",
        run=lambda screen, line: screen.action_help(),
        about="the keys of this screen",
    ),
    Action(
        name="jump",
        key="J",
        run=lambda screen, line: screen.action_jump(),
        key_help="jump: a letter on each row, pane and tab; it goes there",
        about="go to a row, a pane or a tab by a letter",
    ),
    Action(
        name="panes",
        run=lambda screen, line: screen.action_reset_sizes(),
        about="let the panes here have their own sizes again",
    ),
    Action(
        name="tour",
        key="f2",
        run=_begin_tour,
        key_help="a tour of the dashboard in a minute",
        about="show the dashboard step by step, in a minute",
    ),
    Action(
        name="quit",
        key="q",
        run=lambda screen, line: screen.deck.action_leave(),
        key_help="quit; the team keeps running",
        about="close the dashboard; the team keeps running",
    ),
)
