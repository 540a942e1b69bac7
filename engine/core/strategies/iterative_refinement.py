"""An author and its critics, again and again, until it is good enough.

    request ─▶ author ─┬▶ critic ─┐
                 ▲     └▶ critic ─┴▶ score ≥ 0.9? ─▶ the draft is the output
                 └─────────────────── no: again, with what the critics say

`author` and `critics` are the first member and the others where nobody says; `until` is the score that every critic
has to give, under `score` of an object or after the word in a text; after `rounds` rounds the draft with the best
score is taken.
"""

from collections.abc import Sequence

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.check import Check, Takes
from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import check_schema, member, members_of, number, strings, whole_number
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring

MAX_ROUNDS = 20


class IterativeRefinement:
    """Let critics look at what an author makes, until they are content."""

    name = "iterative_refinement"
    about = "drafted and scored until it is good enough"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`author`, `critics`, `until` (a score), `rounds` (1 to 20)."""
        schema = {"author": member, "critics": members_of, "until": number, "rounds": whole_number(1, MAX_ROUNDS)}
        check_schema(self.name, settings, schema, members)
        if settings.get("author") in strings(settings.get("critics", [])):
            raise Refused(f"setting critics of {self.name}: {settings['author']!r} is the author; name others")

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the first round; who is alone drafts once."""
        named = nodes.settings
        critics = strings(named.get("critics", []))
        author = str(named.get("author") or next((name for name in nodes.cast if name not in critics), ""))
        critics = critics or [name for name in nodes.cast if name != author]
        settings: dict[str, JsonValue] = {"until": 0.9, "rounds": 3, **named, "author": author, "critics": [*critics]}
        layout = Layout(nodes, settings)
        if not author:
            return layout.finished(None)
        return layout.finished(_round(layout, 1, [], []))

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Return another round, or the draft that is taken."""
        number = int(verdict.role.partition(":")[2])
        score = verdict.said.get("score")
        drafts = {role: node for node, role in nodes.roles.items() if role.startswith("author:")}
        draft = next(node for role, node in drafts.items() if role.split(":")[1] == str(number))
        score_text = f"{score:g}" if isinstance(score, int | float) else "no score"
        if verdict.said.get("enough"):
            return Growth(wiring=Wiring(outcome=draft), why=f"{score_text} in round {number} is enough")
        scored = f"author:{number}:{score}"
        author, critics = str(nodes.settings["author"]), strings(nodes.settings["critics"])
        remaining, missing = nodes.left(critics), nodes.gone([author, *critics])
        if number >= _rounds(nodes.settings) or not remaining or author not in nodes.cast:
            best = max(drafts.items(), key=lambda pair: _score(scored if pair[1] == draft else pair[0]))[1]
            last = f"the last of {self.name}, because {missing}" if number < _rounds(nodes.settings) else "the last"
            reason = f"{score_text} in round {number}, {last}: the best draft is taken"
            return Growth(wiring=Wiring(roles={draft: scored}, outcome=best), why=reason)
        layout = Layout(nodes, {**nodes.settings, "critics": [*remaining]}, anew=True)
        layout.wiring.roles[draft] = scored
        reviews = [node for node, role in nodes.roles.items() if role.startswith(f"critic:{number}:")]
        next_draft = _round(layout, number + 1, [verdict.node], [draft, *reviews])
        without = f", although {missing}" if missing else ""
        return Growth(wiring=layout.finished(next_draft), why=f"{score_text} in round {number}: once more{without}")


def _round(layout: Layout, number: int, after: list[str], sees: list[str]) -> str:
    """Place one round, and return the node of its draft."""
    settings = layout.wiring.settings
    takes: Takes = "context" if sees else "request"
    draft = layout.work(str(settings["author"]), after, takes=takes, sees=sees or None, role=f"author:{number}")
    reviews = [
        layout.work(critic, [draft], takes="context", sees=[draft], role=f"critic:{number}:{index}")
        for index, critic in enumerate(strings(settings["critics"]))
    ]
    if reviews:
        until = settings["until"]
        check = Check(what="score", args={"until": until})
        layout.check(check, reviews, sees=reviews, title=f"score ≥ {until}?", role=f"check:{number}")
    return draft


def _rounds(settings: Settings) -> int:
    rounds = settings.get("rounds")
    return min(rounds, MAX_ROUNDS) if isinstance(rounds, int) else 3


def _score(role: str) -> tuple[float, int]:
    """Return the score and the round of a draft: of equal scores the later draft wins."""
    _, number, *score = role.split(":")
    try:
        return float(score[0]), int(number)
    except (IndexError, ValueError):
        return float("-inf"), int(number)
