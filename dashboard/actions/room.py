"""Actions about the dashboard itself: screens, open questions, the engine, archives, help."""

from functools import partial

from dashboard import dialogs
from dashboard.actions.action import Acting, Action, Spoken, one_of
from dashboard.deck.places import keys, places
from dashboard.user.theme import NAMES
from dashboard.user.typed_paths import path_typed
from dashboard.views.header import program_line, shell
from dashboard.views.inbox import place_of
from dashboard.views.measures.digest import needs_person
from dashboard.views.past import REFUSED
from dashboard.views.words.keyed import keyed

_NOT_LOOKED = "the engine is still being looked for; press the key again in a moment"


def _next_in_need(at: Acting, _said: Spoken) -> None:
    """Go to the next thing that waits for a person: questions first, in the inbox."""
    waiting = needs_person(at.state)
    if not waiting:
        at.deck.say("nothing waits for you", "done")
        return
    here = at.selected_key()
    place = waiting.index(here) + 1 if here in waiting else 0
    wanted = waiting[place % len(waiting)]
    at.deck.action_go(place_of(at.state, wanted), selected=wanted)


def _engine(at: Acting, _said: Spoken) -> None:
    situation = at.deck.view.situation
    info = situation.engine
    if at.deck.in_past:
        at.warn(keyed(REFUSED))
    elif situation.trouble is not None:
        at.deck.say(situation.trouble, "error")
    elif not situation.looked:
        at.warn(_NOT_LOOKED)
    elif info is not None and info.alive and not info.hung:
        at.ask(dialogs.engine.LeadingDialog())
    elif (line := program_line(at.state)) is not None:
        at.warn(line)
    elif at.deck.may() and at.deck.at_hand(f"an engine is started in a shell: {shell(situation)}"):
        at.app.push_screen(dialogs.engine.EngineDialog())


def _hand_over(at: Acting, said: Spoken) -> None:
    situation = at.deck.view.situation
    info = situation.engine
    if not situation.looked:
        at.warn(_NOT_LOOKED)
    elif info is None or not info.alive or info.hung:
        at.warn(keyed("no engine answers that could hand over; <engine:E> starts one"))
    else:
        at.ask(dialogs.engine.LeadingDialog(said.option("grace"), hands_over=True))


def _export(at: Acting, said: Spoken) -> None:
    path = said.word()
    if at.deck.in_past:
        told = "an export holds the newest state: <live:L> goes back to live; <fork:F> makes a file of this moment"
        at.warn(keyed(told))
    elif path is None:
        at.app.push_screen(dialogs.files.ExportDialog(at.deck.path))
    elif at.deck.at_hand("a path; <export:x> sends the archive to the browser"):
        at.deck.export(path_typed(path))


def _import(at: Acting, said: Spoken) -> None:
    if said.word() is None or at.deck.at_hand("a path; <import:i> asks for a file of the browser"):
        at.ask(dialogs.files.ImportDialog(at.deck.path, said.word() or ""))


def _go(place: str, at: Acting, _said: Spoken) -> None:
    at.deck.action_go(place)


ROOM = (
    Action(
        name="engine",
        key="E",
        does=_engine,
        told="who leads and who stands by; start an engine where none is at work; hand over",
        says="who leads; start one where none is at work, or in place of one that hangs",
    ),
    Action(
        name="hand-over",
        does=_hand_over,
        writes=True,
        options=("grace",),
        arguments="[--grace TIME]",
        says="hand over to a standby engine",
    ),
    Action(
        name="export",
        key="x",
        does=_export,
        arguments="[FILE]",
        shown="x  i",
        told="export to an archive, import one",
        says="write the whole state to an archive",
    ),
    Action(
        name="import",
        key="i",
        does=_import,
        writes=True,
        arguments="[FILE]",
        says="import an archive; shows first what it would do",
    ),
    *(
        Action(name=place, key=keys().get(place, ""), does=partial(_go, place), says=f"go to {place.capitalize()}")
        for place in places()
    ),
    Action(name="who needs me", key="exclamation_mark", does=_next_in_need),
    Action(
        name="theme",
        does=lambda at, said: at.deck.paint(said.word()),
        of=one_of(*NAMES),
        arguments=f"[{'|'.join(NAMES)}]",
        says="change the colours",
    ),
    Action(
        name="help",
        key="question_mark,f1",
        label="keys",
        does=lambda at, said: at.explain(),
        says="the keys of this screen",
    ),
    Action(
        name="jump",
        key="J",
        does=lambda at, said: at.jump(),
        told="jump: a letter on each row, pane and tab; it goes there",
        says="go to a row, a pane or a tab by a letter",
    ),
    Action(name="panes", does=lambda at, said: at.own_sizes(), says="let the panes here have their own sizes again"),
    Action(
        name="tour",
        key="f2",
        does=lambda at, said: at.deck.begin_tour(),
        told="a tour of the dashboard in a minute",
        says="show the dashboard step by step, in a minute",
    ),
    Action(
        name="quit",
        key="q",
        does=lambda at, said: at.deck.action_leave(),
        told="quit; the team keeps running",
        says="close the dashboard; the team keeps running",
    ),
)
