"""The output of the first member decides which members continue.

    request ─▶ first ─▶ which way? ─┬▶ a ─▶ b ─┬▶ then ─▶ output
                                    └╌ c ╌╌╌╌╌╌┘

`branches` are looked at in their order, each `{when: guard, to: members}`; the first whose guard holds is taken, or
all that hold with `take: all`. Without branches the way is the member that the output names, as a whole word; of
several the one with the longest name. `first` is the first member where nobody says, or `request`: then the request
itself is looked at. `then` comes after whatever was taken. Where no guard holds, the output is that of `first`.
"""

from collections.abc import Sequence

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.check import Check, Takes
from engine.core.specs.guard import asks_status, check_guard
from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import checked, member, names_once, one_of, strings
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring


class Conditional:
    """Let an output decide which members go on."""

    name = "conditional"
    about = "what the first one says decides who goes on"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`first`, `branches` (each `when` and `to`), `take` (`first` or `all`), `then`."""
        schema = {"first": _first, "branches": _branches, "take": one_of("first", "all"), "then": _members}
        checked(self.name, settings, schema, members)
        named = [one for branch in _list(settings.get("branches")) if isinstance(branch, dict) for one in _to(branch)]
        names_once(f"settings of {self.name}", [settings.get("first"), *named, *strings(settings.get("then", []))])

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the first member, the check of its output, and every branch."""
        then = strings(nodes.settings.get("then", []))
        first = _who_is_first(nodes, then)
        branches = _list(nodes.settings.get("branches")) or _by_name(nodes, first, then)
        layout = Layout(nodes, {"take": "first", **nodes.settings, "branches": branches, "first": first})
        if not first:
            return layout.finished(None)
        looked_at = [] if first == "request" else [layout.work(first, role="first")]
        guards = [branch["when"] for branch in branches if isinstance(branch, dict)]
        if any(asks_status(guard) for guard in guards):
            layout.wiring.tolerated.extend(looked_at)
        if not branches:
            return layout.finished(looked_at[0] if looked_at else None)
        what = Check(what="guards", args={"guards": guards, "all": layout.wiring.settings["take"] == "all"})
        asked = layout.check(what, looked_at, sees=looked_at, title="which way?", role="which")
        ends: list[str] = []
        for place, branch in enumerate(branches):
            before = [asked]
            for one in _to(branch):
                is_first = before == [asked]
                takes: Takes = "context" if is_first else "previous"
                sees = looked_at if is_first else before
                before = [layout.work(one, before, takes=takes, sees=sees, role=f"branch:{place}")]
            ends += [node for node in before if node != asked]
        layout.wiring.roles.update({node: f"{layout.wiring.roles[node]}:end" for node in ends})
        last = ends
        for one in then:
            last = [layout.work(one, last, takes="context", sees=last, role="then")]
        if len(last) > 1 and layout.wiring.settings["take"] == "all":
            last = [layout.join("concat", last, sees=last, role="join")]
        return layout.finished(last[0] if len(last) == 1 else looked_at[0] if looked_at else last[0])

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Skip the branches that are not taken, and set the outcome if only one branch ends."""
        holds = verdict.said.get("holds")
        taken = set(holds) if isinstance(holds, list) else set()
        ways = {node: role.split(":") for node, role in nodes.roles.items() if role.startswith("branch:")}
        skipped = [node for node in nodes.unstarted if node in ways and int(ways[node][1]) not in taken]
        outcome = None
        ends = [node for node, way in ways.items() if int(way[1]) in taken and way[-1] == "end"]
        if len(ends) == 1 and not any(role in ("then", "join") for role in nodes.roles.values()):
            outcome = ends[0]
        first = next((node for node, role in nodes.roles.items() if role == "first"), None)
        if not taken:
            failed = verdict.said.get("failed")
            why = "no guard holds" + (f", and {failed}" if failed else "")
            return Growth(skipped=skipped, wiring=Wiring(outcome=first), why=why, failed=why if failed else None)
        why = str(verdict.said.get("said") or "it holds")
        return Growth(skipped=skipped, wiring=Wiring(outcome=outcome), why=why)


def _who_is_first(nodes: Nodes, then: Sequence[str]) -> str:
    """Return the member whose output is checked; in the middle of a run, the member that began last."""
    named = nodes.settings.get("first")
    if named:
        return str(named)
    others = {one for branch in _list(nodes.settings.get("branches")) for one in _to(branch)} | set(then)
    aside = nodes.stopping | nodes.asked
    begun = [nodes.members[node] for node in (*nodes.running[::-1], *nodes.done[::-1]) if node not in aside]
    return next((one for one in (*begun, *nodes.cast) if one and one not in others), "")


def _by_name(nodes: Nodes, first: str, then: Sequence[str]) -> list[JsonValue]:
    begun = {nodes.members.get(node) for node in (*nodes.done, *nodes.running)}
    others = [one for one in nodes.cast if one != first and one not in then and one not in begun]
    # The longest name first: a name may be part of another, and the first guard that holds is taken.
    return [{"when": {"names": one}, "to": one} for one in sorted(others, key=len, reverse=True)]


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _to(branch: JsonValue) -> list[str]:
    return strings(branch.get("to", [])) if isinstance(branch, dict) else []


def _first(where: str, value: JsonValue, members: Sequence[str]) -> None:
    if value != "request":
        member(where, value, members)


def _members(where: str, value: JsonValue, members: Sequence[str]) -> None:
    for one in strings(value):
        member(where, one, members)


def _branches(where: str, value: JsonValue, members: Sequence[str]) -> None:
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of {{when: guard, to: member}}, not {value!r:.60}")
    for number, branch in enumerate(value, 1):
        here = f"{where}, branch {number}"
        if not isinstance(branch, dict) or set(branch) != {"when", "to"}:
            raise Refused(f"{here}: a branch has when and to and nothing else")
        check_guard(here, branch["when"])
        _members(here, branch["to"], members)
        if branch["when"] == "else" and number < len(value):
            raise Refused(f"{here}: what comes after else is never looked at; put it last")
