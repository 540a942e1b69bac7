"""The action about insights: forget them, after a confirmation."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from dashboard import dialogs
from dashboard.actions.action import Action, ActionScreen, CommandLine, show_dialog
from dashboard.views.knowledge.memory import forget_lines
from dashboard.views.words.amounts import pluralize
from engine.core.commands import Forget
from engine.core.queries.targets import id_in
from engine.core.state import State


@runtime_checkable
class InsightScreen(ActionScreen, Protocol):
    """A screen with insights."""

    def chosen_insights(self) -> Mapping[str, str]:
        """Return the marked insights, or the one under the cursor: their texts by their ids."""
        raise NotImplementedError


def _forget(screen: ActionScreen, line: CommandLine) -> None:
    texts = screen.chosen_insights() if isinstance(screen, InsightScreen) else {}
    ids = [id_in(word) for word in line.words] or [*texts]
    unknown = next((each for each in ids if each not in screen.state.insights), None)
    if unknown is not None:
        screen.deck.messages.warn(f"there is no insight {unknown[:40]!r}; choose one on the screen  :memory")
    elif not ids:
        screen.deck.messages.warn("which insight? choose it on the screen  :memory")
    else:
        question = f"Forget {ids[0] if len(ids) == 1 else pluralize(len(ids), 'insight')}"

        def consequences(state: State) -> Sequence[str]:
            return forget_lines(state, ids, texts)

        show_dialog(screen, dialogs.dialog.Confirm(question, consequences, "Forget", Forget(insights=ids)))
        screen.unmark()


def _insights(state: State, _before: str = "") -> list[str]:
    return [*state.insights]


MEMORY_ACTIONS = (
    Action(
        name="forget",
        run=_forget,
        arguments="INSIGHT…",
        writes=True,
        for_marked=True,
        targets=_insights,
        about="forget insights, by default those of :memory that are chosen there",
    ),
)
