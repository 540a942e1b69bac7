"""One after the other, and a validator at the end, who can send work back with reasons.

    request ─▶ a ─▶ b ─▶ validator ─▶ approved? ─▶ what b made is the output
                    ▲                    │
                    └── reasons ─────────┘ no

The validator is the last member where nobody says. It sends back with an object that has `approved: false`, or a text
that begins with one of the words of `rejects`; `returns` times at most. Work that is not approved then fails the run,
or is taken all the same with `otherwise: accept`.
"""

from collections.abc import Sequence

from engine.core.records.records import JsonValue
from engine.core.specs.check import Check
from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import check_schema, member, one_of, whole_number, words
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring

MAX_RETURNS = 10
REJECTS = ["rejected", "not approved", "revise", "send back"]
"""Default beginnings of a text that sends work back."""


class SequentialWithValidation:
    """Chain the members, and let the last look at the work of the one before it."""

    name = "sequential_with_validation"
    about = "one by one; the last approves or returns"
    is_sparse = False

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`validator`, `returns` (0 to 10), `rejects` (words), `otherwise` (`fail` or `accept`)."""
        schema = {
            "validator": member,
            "returns": whole_number(0, MAX_RETURNS),
            "rejects": words,
            "otherwise": one_of("fail", "accept"),
        }
        check_schema(self.name, settings, schema, members)

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the chain; a single member works without a validator."""
        validator = str(nodes.settings.get("validator") or next(iter(nodes.cast[-1:]), ""))
        workers = [name for name in nodes.cast if name != validator]
        settings: dict[str, JsonValue] = {"returns": 2, "rejects": [*REJECTS], "otherwise": "fail", **nodes.settings}
        settings |= {"validator": validator, "worker": next(iter(workers[-1:]), "")}
        layout = Layout(nodes, settings)
        if not workers:
            return layout.finished(layout.work(validator) if validator else None)
        chain = layout.chain(workers)
        if not chain:  # all have ended, and one that is not among them came after them
            return layout.finished(None)
        layout.wiring.roles[chain[-1]] = "work:0"
        _add_validation(layout, chain, chain[-1], 0)
        return layout.finished(chain[-1])

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Send the work back with reasons, or accept it."""
        settings, details = nodes.settings, verdict.said
        number = int(verdict.role.partition(":")[2])
        validator, worker = str(settings["validator"]), str(settings["worker"])
        if details.get("approved"):
            return Growth(why=f"approved by {validator}")
        reasons = f": {details['reasons']}" if details.get("reasons") else ""
        returns = settings["returns"]
        missing = nodes.gone([worker, validator])
        if missing or not isinstance(returns, int) or number >= min(returns, MAX_RETURNS):
            reason = f"not approved by {validator} after {number} returns{reasons}"
            reason = f"{self.name} cannot send it back, because {missing} ({reason})" if missing else reason
            return Growth(why=reason, failed=None if settings["otherwise"] == "accept" else reason)
        by_role = {role: node for node, role in nodes.roles.items()}
        sees = [by_role[role] for role in (f"work:{number}", f"validator:{number}") if role in by_role]
        layout = Layout(nodes, settings, anew=True)
        repeated = layout.work(worker, [verdict.node], takes="context", sees=sees, role=f"work:{number + 1}")
        _add_validation(layout, [repeated], repeated, number + 1)
        return Growth(wiring=layout.finished(repeated), why=f"{validator} sent it back to {worker}{reasons}")


def _add_validation(layout: Layout, after: list[str], work: str, number: int) -> None:
    """Place the validator and the check of its verdict."""
    settings = layout.wiring.settings
    validation = layout.work(
        str(settings["validator"]), after, takes="context", sees=[work], role=f"validator:{number}"
    )
    check = Check(what="approved", args={"rejects": settings["rejects"]})
    layout.check(check, [validation], sees=[validation], title="approved?", role=f"check:{number}")
