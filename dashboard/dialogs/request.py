"""Dialog for a new request: its text, supervisor, priority, deadline and strategy."""

from collections.abc import Iterable

from textual import on
from textual.widget import Widget
from textual.widgets import Input

from dashboard.dialogs.dialog import Dialog, DialogText
from dashboard.views.changes import members
from dashboard.views.changes.outcomes import rehearse
from dashboard.views.drawing.rows import Cell
from dashboard.views.view_state import ViewState
from dashboard.views.words.parsers import Mistyped, parse_deadline_s, parse_labels, parse_limits, split_words
from dashboard.views.words.shell_line import shell_line_to_send
from dashboard.widgets.fields import Field, Picker
from dashboard.widgets.typing import LineInput
from engine.core.commands import Submit, SwitchStrategy
from engine.core.queries.targets import id_target, shortest_target
from engine.core.specs.options import DEFAULT_PRIORITY
from engine.supervisor.client import CommandReply

_UNWRITTEN = "…"
"""Placeholder for an empty request, so that the other fields can be checked."""


class RequestDialog(Dialog):
    """Ask for a request; enter sends it."""

    BUTTON_LABEL = "Send"

    def __init__(self, supervisor_id: str | None) -> None:
        super().__init__()
        self._supervisor_id = supervisor_id
        self._mode = ""
        """The strategy for this run alone, once it was sent; empty for that of its supervisor."""

    def title_line(self) -> str:
        supervisor = self.state.supervisors.get(self._supervisor_id or "")
        return f"A request for {supervisor.name}" if supervisor is not None else "A request for the team"

    @property
    def draft_key(self) -> str:
        return "request"

    @property
    def draft_text(self) -> str:
        return self._text("request")

    def compose_body(self) -> Iterable[Widget]:
        draft, asks = self.deck.drafts.get(self.draft_key, ""), "what should be done?  enter sends it as it is"
        yield LineInput(draft, placeholder=asks, id="request", select_on_focus=False)
        yield Picker("to", id="to")
        yield Picker("priority", id="priority")
        yield Picker("category", id="category")
        yield Picker("strategy", id="mode")
        yield Field("deadline", id="deadline", placeholder="none; 90s, 5m, 2h from now on, or 14:30")
        yield Field("conversation", id="conversation")
        yield Field("limits", id="limits", placeholder="none; tokens=20000 cost_usd=0.5 time_s=60 attempts=9 then=ask")
        yield Field("after", id="after", placeholder="at once; or the runs that must be done before: r3 r4")
        yield Field("labels", id="labels", placeholder="none; texts by key, for filters and metrics: team=web env=prod")
        yield DialogText(id="details")
        yield DialogText(id="would")

    def begin(self) -> None:
        state = self.state
        choices = members.receivers(state)
        self._picker("to").offer(choices, self._supervisor_id)
        self._picker("to").display = len(choices) > 1
        self._picker("to" if len(choices) > 1 else "priority").add_class("-first")
        self._picker("priority").offer(members.priorities(), str(DEFAULT_PRIORITY))
        self.query_one("#after-field").display = bool(state.runs)
        self.query_one("#request", Input).focus()
        self.update_view(self.deck.view)

    def _picker(self, name: str) -> Picker:
        return self.query_one(f"#{name}", Picker)

    def _text(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    @on(Input.Changed)
    def _clear_problem(self) -> None:
        self.show_problem("")

    def update_view(self, view: ViewState) -> None:
        self._fit(view)
        self._title = [Cell(self.title_line(), "strong")]
        self.update_engine(view)
        mode = self._picker("mode").chosen or ""
        category, request = self._picker("category").chosen, self._text("request")
        cells = members.describe_coordination(view.state, self._supervisor_id, category, mode, request=request)
        self.text_of("details").show([*cells, Cell("its output appears under Runs when it has ended", "muted")])
        try:
            command = self._command(request or _UNWRITTEN)
        except Mistyped as error:
            self.text_of("would").show_any([])
            self.show_problem(str(error))
            return
        if refusal := self._refusal_of_mode(mode):
            self.text_of("would").show_any([])
            self.show_problem(refusal)
            return
        rehearsal = self.rehearse(command, "" if command.request == _UNWRITTEN else self._shell(command, mode))
        if command.request == _UNWRITTEN:
            self.text_of("would").show_any([])
            if _UNWRITTEN in rehearsal.refusal:  # of the text alone, such as that no agent matches it
                self.show_problem("")

    def _shell(self, command: Submit, mode: str) -> str:
        """Return the equivalent command lines, empty if there are none; another strategy needs a second line."""
        line = shell_line_to_send(self.state, command)
        word = shortest_target(self.state, self._supervisor_id) if self._supervisor_id is not None else ""
        return f"{line} --detach, then: quarterdeck strategy {word} {mode} --run RUN" if mode and line else line

    def _fit(self, view: ViewState) -> None:
        """Offer the options of the chosen supervisor."""
        state = view.state
        self._supervisor_id = self._picker("to").chosen or self._supervisor_id
        choices = members.categories(state, self._supervisor_id)
        self._picker("category").offer(choices)
        self._picker("category").display = len(choices) > 1
        self._picker("mode").offer(members.modes(state, self._supervisor_id))
        field = self.query_one("#conversation-field")
        field.display = members.has_conversations(state, self._supervisor_id)
        conversations = ", ".join(members.conversations(state, self._supervisor_id)[:4])
        self.query_one("#conversation", Input).placeholder = (
            f"none; {conversations} continues, another name starts one" if conversations else "none; a name starts one"
        )

    def _refusal_of_mode(self, mode: str) -> str:
        """Return why the supervisor cannot coordinate this run with a strategy; empty if it can."""
        if not mode or self._supervisor_id is None:
            return ""
        view = self.deck.view
        command = SwitchStrategy(supervisor=id_target(self._supervisor_id), mode=mode, scope="new")
        refusal = rehearse(view.state, command, view.now_ms).refusal
        return f"strategy {mode}: {refusal}" if refusal else ""

    def build_command(self) -> Submit:
        request, self._mode = self._text("request"), self._picker("mode").chosen or ""
        if not request:
            self.query_one("#request", Input).focus()
            raise Mistyped("write what should be done")
        if refusal := self._refusal_of_mode(self._mode):
            raise Mistyped(refusal)
        return self._command(request)

    def _command(self, request: str) -> Submit:
        """Return the command for a request, with the other fields.

        Raises:
            Mistyped: If part of the input is invalid.
        """
        priority = int(self._picker("priority").chosen or DEFAULT_PRIORITY)
        deadline, conversation = self._text("deadline"), self.query_one("#conversation-field")
        return Submit(
            request=request,
            supervisor=id_target(self._supervisor_id) if self._supervisor_id is not None else None,
            priority=priority if priority != DEFAULT_PRIORITY else None,
            deadline_s=parse_deadline_s(deadline, self.deck.view.now_ms) if deadline else None,
            limits=parse_limits(self._text("limits")),
            category=self._picker("category").chosen or None,
            after=self._text("after").replace(",", " ").split(),
            conversation=(self._text("conversation") or None) if conversation.display else None,
            labels=parse_labels(split_words(self._text("labels"))),
        )

    def handle_outcome(self, outcome: CommandReply) -> None:
        """Switch a new run to the chosen strategy, because a request has no strategy."""
        super().handle_outcome(outcome)
        run_id = outcome.result.get("run_id")
        if not self._mode or self._supervisor_id is None or outcome.status == "refused":
            return
        if isinstance(run_id, str):
            supervisor = id_target(self._supervisor_id)
            self.deck.commands.send(SwitchStrategy(supervisor=supervisor, mode=self._mode, scope="run", run=run_id))
        else:
            self.deck.messages.say(
                f"queued, without {self._mode}: once an engine has taken it, S on the run sets that", "draining"
            )
