"""The frame of every screen: header, tabs, body, time bar, keys, always in the same place.

A screen shows a `ViewState` when `update_view` is called; it decides nothing about the team.
"""

from collections.abc import Iterable
from functools import partial
from typing import ClassVar, TypeAlias

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from dashboard import dialogs
from dashboard.actions import BY_KEY, BY_NAME, bindings, key_of
from dashboard.actions.action import CommandLine
from dashboard.actions.command_line import InvalidCommandLine, completions, hint, parse_line
from dashboard.actions.help import help_lines
from dashboard.deck.live_screen import LiveScreen, is_on_top, replay_keys, set_breakpoints
from dashboard.deck.places import tabs
from dashboard.frame.finding import RowFilter, WordSearch
from dashboard.frame.sizing import SIZE_KEYS, Grip, PaneSizes
from dashboard.frame.surroundings import Header, HealthStrip, Keys, Tabs, TipLine, TourCard
from dashboard.user.key_labels import key_at, label_of
from dashboard.user.settings import settings_path_text
from dashboard.views.changes.outcomes import UNDO_HINTS
from dashboard.views.changes.targets import Target, target_of
from dashboard.views.drawing.raw import object_of
from dashboard.views.drawing.rows import AnyColumn, Cell
from dashboard.views.past import play_keys
from dashboard.views.view_state import ViewState
from dashboard.views.words.absent import untouchable
from dashboard.views.words.amounts import pluralize
from dashboard.views.words.keyed import fill_keys
from dashboard.widgets.bar import Bar
from dashboard.widgets.lines import Lines
from dashboard.widgets.pane import Pane
from dashboard.widgets.panel import Panel
from dashboard.widgets.picks import Picks
from dashboard.widgets.prompt import Prompt, Purpose
from dashboard.widgets.scrubber import Scrubber
from dashboard.widgets.spots import Spot, spots_of
from dashboard.widgets.table import Table
from engine.core.state import State

TIME_KEYS = "<mark before:[> <next mark:]>"
ANSWER = "answer"
"""The word in `KEYS` for a key that changes the team without being that of an action; hidden from viewers."""
TALL_HEADER_MIN_HEIGHT = 30
"""Screen height from which the header has a second line."""
OwnKey: TypeAlias = str | tuple[str, str] | tuple[str, str, str]
"""The name of an action; or such a name or another key, with the word for what it does on this screen, and a sentence
for the help where `SHARED_KEYS` of `views/words/help.py` has none for the word.
"""


class Surroundings:
    """Header, health strip, tabs, tip, card of the tour, time bar and keys around the body of a screen."""

    def __init__(self, frame: "Frame") -> None:
        self._frame = frame

    def update(self, view: ViewState) -> None:
        """Redraw all of it."""
        frame = self._frame
        health = frame.query_one(HealthStrip)
        health.update_view(view)
        titles = [page.path_title(view) for page in _pages_to(frame)]
        frame.query_one(Header).update_view(view, titles, brief=health.display)
        self.show_tabs()
        frame.set_class(view.past is not None, "-past")
        tour = frame.deck.tour.current
        frame.query_one(TourCard).show_tour(tour)
        self.update_time_bar(view)
        frame.query_one(TipLine).show_tip(frame.deck.tip if tour is None else None)
        in_past = [] if view.past is None else play_keys(view.past.speed)
        keys = in_past or [*frame.keys(), (fill_keys(TIME_KEYS), "time")]
        frame.query_one(Keys).show(_key_cells(keys), _key_cells([(":", "command"), ("?", "keys")]))

    def update_now(self) -> None:
        """Redraw all of it from the current view, if the screen is there."""
        if self._frame.is_there:
            self.update(self._frame.deck.view)

    def update_time_bar(self, view: ViewState) -> None:
        """Redraw the time bar, if the screen is there."""
        frame = self._frame
        if frame.is_there:
            frame.query_one("#time", Scrubber).show_time(view, frame.deck.history.spans, self._message(view))

    def _message(self, view: ViewState) -> Cell | None:
        """Return what is said in place of the time bar's text: advice on the line that is typed, else the message."""
        frame = self._frame
        prompt = frame.query_one(Prompt)
        if prompt.is_open and prompt.purpose == "command" and prompt.text:
            return Cell(_command_advice(prompt.text, frame.state), "muted")
        if prompt.is_open and prompt.purpose == "filter" and (cell := frame.finding.advise(prompt.text)).text:
            return cell
        return frame.deck.messages.current or view.banner or frame.deck.tour.offer

    def show_tabs(self) -> None:
        """Redraw the tabs, with facts about the rows of the screen."""
        frame = self._frame
        needle, label = frame.finding.needle, frame.finding.LABEL
        facts = [Cell(f"/ {needle}", "accent"), *frame.facts()] if needle else [*frame.facts(), label]
        frame.query_one(Tabs).show_place(_place_of(frame), facts, len(frame.deck.view.counts.needs_person))


class Frame(LiveScreen, Screen[None]):
    """Header, tabs, a body of the subclass, time bar and keys."""

    PLACE: ClassVar[str] = ""
    """Name of its tab; empty for pages, which open above a tab."""
    KEYS: ClassVar[tuple[OwnKey, ...]] = ()
    """Keys that the last line names, the most useful first."""
    FINDS: ClassVar[bool] = False
    """Whether `/` finds words in the panes, in place of filtering rows."""
    HEADINGS: ClassVar[tuple[AnyColumn, ...]] = ()
    """Headings of figures outside of tables, for the help to explain."""
    GRIPS: ClassVar[tuple[Grip, ...]] = ()
    """Hairlines that can be moved."""
    BINDINGS = [
        *SIZE_KEYS,
        *bindings(),
        Binding("colon", "prompt('command')", "command", show=False),
        Binding("slash", "prompt('filter')", "filter", show=False),
        Binding("escape", "back", "back", show=False),
    ]

    def __init__(self, subject_id: str = "") -> None:
        super().__init__()
        self.subject_id = subject_id
        """The object of a page; empty for a place."""
        self.has_begun, self.typed_ahead = False, []
        self.finding = WordSearch(self, self.show_filtered) if self.FINDS else RowFilter(self, self.show_filtered)
        self.sizes = PaneSizes(self, self.GRIPS, self.update_now)
        self.surroundings = Surroundings(self)
        self._laid_out_for: Size | None = None

    def compose(self) -> ComposeResult:
        set_breakpoints(self)
        yield Header()
        yield HealthStrip()
        yield Tabs(id="tabs", gap=0)
        yield from self.body()
        yield TipLine(id="tip")
        yield TourCard(id="tour")
        yield Scrubber(id="time")
        yield Keys(id="keys")
        yield Prompt(partial(_complete, self), partial(_apply_typed, self))

    def on_lines_dragged(self, event: Lines.Dragged) -> None:
        self.sizes.drag(event)

    def action_size(self, edge: str, by: int) -> None:
        self.sizes.step(edge, by)

    def action_reset_sizes(self) -> None:
        self.sizes.reset()

    def update_now(self) -> None:
        """Redraw the screen from the current view."""
        self.update_view(self.deck.view)

    def target(self) -> Target | None:
        """Return the object under the cursor, or of the page."""
        return target_of(self.state, self.subject_id) if self.subject_id else None

    def selected_key(self) -> str:
        """Return the key of the row under the cursor."""
        target = self.target()
        return target.id if target is not None else ""

    def marked_keys(self) -> list[str]:
        """Return the keys of the marked rows that still exist, in the order of marking."""
        return []

    def unmark(self) -> None:
        """Clear all marks."""

    def explain_no_target(self) -> str:
        """Return why the object under the cursor cannot be changed, or a hint to choose one."""
        return untouchable(self.state, self.id_at_cursor(whole=True)) or "choose a row first"

    def body(self) -> Iterable[Widget]:
        """The widgets between tabs and time bar."""
        raise NotImplementedError

    def show(self, view: ViewState) -> None:
        """Redraw the body."""
        raise NotImplementedError

    @property
    def is_there(self) -> bool:
        """Whether its widgets exist: data may arrive before they are mounted, or while they are removed."""
        return self.is_attached and self.is_mounted and self.display and bool(self.children)

    def update_view(self, view: ViewState) -> None:
        if not self.is_there:
            return
        self.update_body(view)  # first: the frame shows how many rows it has
        if self.finding.is_typing:
            self.surroundings.show_tabs()
            self.key_frames.call_after(self.surroundings.update_now)
        else:
            self.surroundings.update(view)

    def update_body(self, view: ViewState) -> None:
        """Redraw the body, and whatever the screen derives for it."""
        self.finding.highlight()
        self.show(view)

    def show_body(self) -> None:
        """Redraw the body from the current view, if it is there."""
        if self.is_there:
            self.show(self.deck.view)

    def on_resize(self, event: events.Resize) -> None:
        """Show the health strip only if there is room for it."""
        if not self.display or event.size == self._laid_out_for:  # Textual sends a new screen its size three times
            return
        self._laid_out_for = event.size
        self.query_one(HealthStrip).display = event.size.height >= TALL_HEADER_MIN_HEIGHT
        self.sizes.apply()
        self.call_after_refresh(_begin_painting, self)

    def keys(self) -> list[tuple[str, str]]:
        """The keys that the last line names."""
        return [(key, does) for key, does, _ in _own_keys(self) if key]

    def id_at_cursor(self, *, whole: bool = False) -> str:
        """Return the id, or the seq, of the object under the cursor; of the page itself if `whole`."""
        if self.subject_id:
            chosen = self.focused.selected if isinstance(self.focused, Panel) and not whole else ""
            return chosen if chosen.isdigit() or object_of(self.state, chosen) is not None else self.subject_id
        if isinstance(self.focused, Picks) and self.focused.chosen:
            return self.focused.chosen.removeprefix("event:")
        table = next(iter(self.query(Table)), None)
        return (table.selected or "") if table is not None else self.selected_key()

    def copyable_text(self) -> tuple[str, str]:
        """Return a description of the text that can be copied here, and the text."""
        table = next(iter(self.query(Table)), None)
        if table is None:
            return "this page", "\n".join(pane.text for pane in self.query(Pane) if pane.display)
        rows = [index for key in table.marked if (index := table.rows.index(key)) is not None]
        rows = rows or ([table.line] if len(table.rows.keys) else [])
        text = "\n".join("\t".join(cell.text.strip() for cell in table.rows.cells(index)) for index in rows)
        return pluralize(len(rows), "row"), text

    def action_help(self) -> None:
        self.app.push_screen(
            dialogs.dialog.HelpScreen(
                self.PLACE.capitalize() or "this page",
                help_lines(
                    [(label_of(key), does, says) for key, does, says in _own_keys(self)],
                    [*(column for table in self.query(Table) for column in table.rows.columns), *self.HEADINGS],
                    overridden_keys=overridden_keys(type(self)),
                    writes=not self.deck.access.readonly,
                    settings="" if self.deck.access.in_browser else settings_path_text(),
                ),
            )
        )

    def facts(self) -> list[Cell]:
        """Return facts about the rows of the screen, such as their number."""
        return []

    def path_title(self, view: ViewState) -> str:
        """Return what it is called in the path to the pages above it."""
        if self.PLACE:
            return self.PLACE
        subject_id = self.subject_id
        if subject_id.isdigit():
            return f"event {subject_id}"
        name = view.names.of(subject_id)
        is_member = subject_id in view.state.agents or subject_id in view.state.supervisors
        return name if is_member or name == subject_id else f"{subject_id} {name}"

    def on_mount(self) -> None:
        self.sizes.apply()
        self.has_begun = True
        self.update_view(self.deck.view)
        replay_keys(self)

    def on_screen_resume(self) -> None:
        self.sizes.apply()
        self.update_view(self.deck.view)

    def on_table_resized(self) -> None:
        """Redraw: the rows may have been made for the previous width of their table."""
        self.update_now()

    def on_bar_clicked(self, event: Bar.Clicked) -> None:
        """Act on a click; a click on a key presses it, because its effect may depend on the screen."""
        cell = event.cell
        if event.bar.id == "tabs" and event.index is not None:
            self.deck.action_go(tuple(tabs())[event.index])
        elif isinstance(event.bar, Header) and event.index is not None and not self.PLACE and is_on_top(self):
            for _ in range(event.bar.pages_above(event.index, len(_pages_to(self)))):
                self.app.pop_screen()
        elif event.bar.id == "keys":
            # Through the app: a key that a screen posts does not bubble beyond that screen.
            self.app.call_later(self.app.simulate_key, key_at(cell.lead.strip(), event.x))
        elif cell == self.finding.LABEL:
            self.action_prompt("filter")
        elif cell.tone == "badge":
            BY_NAME["who needs me"].call(self, CommandLine())

    def on_scrubber_sought(self, event: Scrubber.Sought) -> None:
        self.deck.past.goto_seq(event.seq)

    def on_scrubber_message_clicked(self) -> None:
        """Undo if the message offers only that."""
        message = self.deck.messages.current
        if message is not None and message.text.endswith(tuple(map(fill_keys, UNDO_HINTS))):
            self.action_act("undo")

    def action_act(self, name: str) -> None:
        BY_NAME[name].call(self, CommandLine())

    def action_prompt(self, purpose: Purpose) -> None:
        self.query_one(Prompt).open(purpose, "" if purpose == "command" else self.finding.initial_text())

    def action_back(self) -> None:
        """Clear the marks, else the filter, else close the page."""
        if self.marked_keys():
            self.unmark()
        elif self.finding.needle:
            self.finding.seek("")
        elif not self.PLACE and is_on_top(self):
            self.app.pop_screen()

    def show_filtered(self, is_new: bool) -> None:
        """Redraw after the filter was applied."""
        self.update_view(self.deck.view)

    def on_prompt_given(self, event: Prompt.Given) -> None:
        _close_prompt(self)
        if event.purpose == "filter":
            self.finding.confirm(event.text)
        elif event.text.strip():
            perform(self, event.text)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        prompt = self.query_one(Prompt)
        if prompt.is_open and prompt.purpose == "filter":
            self.finding.seek("")
        _close_prompt(self)

    def action_jump(self) -> None:
        """Start jump mode: label every target with a letter, and go to that of the next key."""

        def go_to_spot(spot: Spot | None) -> None:
            if spot is not None:
                spot.go()

        self.app.push_screen(dialogs.jump.JumpScreen(spots_of(self.query("*"))), go_to_spot)

    def focus_body(self) -> None:
        self.query_one("#body").focus()


def perform(frame: Frame, line: str) -> None:
    """Run a `:` line; an error is shown as one line."""
    try:
        action, command_line = parse_line(line)
    except InvalidCommandLine as error:
        frame.deck.messages.warn(str(error))
    else:
        action.call(frame, command_line)


def _begin_painting(frame: Frame) -> None:
    """Let the app paint, now that the frame has its size."""
    view = frame.deck.view
    frame.deck.begin()
    if frame.deck.view is view:  # else this has just been looked at
        frame.update_view(view)


def _apply_typed(frame: Frame, purpose: Purpose, text: str) -> None:
    """Apply an unfinished line."""
    if purpose == "filter":
        frame.finding.seek_typed(text)
    else:
        frame.update_now()
    frame.query_one(Prompt).after_key(frame.key_frames.paint)


def _close_prompt(frame: Frame) -> None:
    frame.query_one(Prompt).close()
    frame.focus_body()
    frame.update_now()


def _complete(frame: Frame, purpose: Purpose, line: str) -> list[str]:
    """Return complete lines that begin with `line`."""
    return completions(line, frame.state) if purpose == "command" else frame.finding.suggest(line)


def _pages_to(frame: Frame) -> list[Frame]:
    """Return the pages up to a page, in the order in which they were opened; none for a screen."""
    stack = frame.app.screen_stack
    below = stack[: stack.index(frame) + 1] if frame in stack else [frame]
    return [] if frame.PLACE else [page for page in below if isinstance(page, Frame) and not page.PLACE]


def _place_of(frame: Frame) -> str:
    """Return the place of a screen; of a page that of the screen from which it was opened."""
    below = (screen.PLACE for screen in reversed(frame.app.screen_stack) if isinstance(screen, Frame) and screen.PLACE)
    return frame.PLACE or next(below, "")


def _own_keys(frame: Frame) -> list[tuple[str, str, str]]:
    """Return the keys of `KEYS` without those that would be refused."""
    own = map(_key_of, frame.KEYS)
    if not frame.deck.access.readonly:
        return [*own]
    refused = {key for key, action in BY_KEY.items() if action.writes} | {ANSWER}
    return [key for key in own if key[0] not in refused and key[1] not in refused]


def overridden_keys(kind: type[Frame]) -> set[str]:
    """Return the keys of actions that do something else on a kind of screen."""
    classes = (base for base in kind.__mro__ if issubclass(base, Frame) and base is not Frame)
    bindings = [key for base in classes for key in base.__dict__.get("BINDINGS", ()) if isinstance(key, Binding)]
    return {key for binding in bindings if not binding.action.startswith("act(") for key in binding.key.split(",")}


def _command_advice(text: str, state: State) -> str:
    """Return completions of an unfinished command."""
    ways = [way.rpartition(" ")[2] for way in completions(text, state)[:12]]
    return "  ".join(ways) if ways and not text.endswith(" ") else hint(text) or "  ".join(ways)


def _key_of(own_key: OwnKey) -> tuple[str, str, str]:
    """Return a key, its label, and the screen's own sentence for the help, if any."""
    name, does, says = (own_key, "", "") if isinstance(own_key, str) else (*own_key, "")[:3]
    action = BY_NAME.get(name)
    return (name, does, says) if action is None else (key_of(action), does or action.label or action.name, says)


def _key_cells(keys: Iterable[tuple[str, str]]) -> list[Cell]:
    return [Cell(does, "muted", f"{label_of(key)} ") for key, does in keys]
