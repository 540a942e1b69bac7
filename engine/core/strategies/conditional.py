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
from engine.core.specs.guard import check_guard, checks_status
from engine.core.strategies.layout import Layout
from engine.core.strategies.settings import as_list, check_schema, check_unique, member, one_of, strings
from engine.core.strategies.wiring import Growth, Nodes, Settings, Verdict, Wiring


class Conditional:
    """Let an output decide which members go on."""

    name = "conditional"
    about = "what the first one says decides who goes on"
    is_sparse = True

    def check(self, settings: Settings, members: Sequence[str]) -> None:
        """`first`, `branches` (each `when` and `to`), `take` (`first` or `all`), `then`."""
        schema = {"first": _first, "branches": _branches, "take": one_of("first", "all"), "then": _members}
        check_schema(self.name, settings, schema, members)
        named = [
            name
            for branch in as_list(settings.get("branches"))
            if isinstance(branch, dict)
            for name in _targets(branch)
        ]
        check_unique(f"settings of {self.name}", [settings.get("first"), *named, *strings(settings.get("then", []))])

    def wire(self, nodes: Nodes) -> Wiring:
        """Return the first member, the check of its output, and every branch."""
        followers = strings(nodes.settings.get("then", []))
        first = _find_first(nodes, followers)
        branches = as_list(nodes.settings.get("branches")) or _branches_by_name(nodes, first, followers)
        layout = Layout(nodes, {"take": "first", **nodes.settings, "branches": branches, "first": first})
        if not first:
            return layout.finished(None)
        inspected = [] if first == "request" else [layout.work(first, role="first")]
        guards = [branch["when"] for branch in branches if isinstance(branch, dict)]
        if any(checks_status(guard) for guard in guards):
            layout.wiring.tolerated.extend(inspected)
        if not branches:
            return layout.finished(inspected[0] if inspected else None)
        check = Check(what="guards", args={"guards": guards, "all": layout.wiring.settings["take"] == "all"})
        check_node = layout.check(check, inspected, sees=inspected, title="which way?", role="which")
        ends: list[str] = []
        for index, branch in enumerate(branches):
            before = [check_node]
            for name in _targets(branch):
                is_first = before == [check_node]
                takes: Takes = "context" if is_first else "previous"
                sees = inspected if is_first else before
                before = [layout.work(name, before, takes=takes, sees=sees, role=f"branch:{index}")]
            ends += [node for node in before if node != check_node]
        layout.wiring.roles.update({node: f"{layout.wiring.roles[node]}:end" for node in ends})
        last = ends
        for name in followers:
            last = [layout.work(name, last, takes="context", sees=last, role="then")]
        if len(last) > 1 and layout.wiring.settings["take"] == "all":
            last = [layout.join("concat", last, sees=last, role="join")]
        return layout.finished(last[0] if len(last) == 1 else inspected[0] if inspected else last[0])

    def grow(self, nodes: Nodes, verdict: Verdict) -> Growth:
        """Skip the branches that are not taken, and set the outcome if only one branch ends."""
        holds = verdict.said.get("holds")
        branch_numbers = set(holds) if isinstance(holds, list) else set()
        ways = {node: role.split(":") for node, role in nodes.roles.items() if role.startswith("branch:")}
        skipped = [node for node in nodes.unstarted if node in ways and int(ways[node][1]) not in branch_numbers]
        outcome = None
        ends = [node for node, way in ways.items() if int(way[1]) in branch_numbers and way[-1] == "end"]
        if len(ends) == 1 and not any(role in ("then", "join") for role in nodes.roles.values()):
            outcome = ends[0]
        first = next((node for node, role in nodes.roles.items() if role == "first"), None)
        if not branch_numbers:
            failed = verdict.said.get("failed")
            reason = "no guard holds" + (f", and {failed}" if failed else "")
            return Growth(skipped=skipped, wiring=Wiring(outcome=first), why=reason, failed=reason if failed else None)
        reason = str(verdict.said.get("said") or "it holds")
        return Growth(skipped=skipped, wiring=Wiring(outcome=outcome), why=reason)


def _find_first(nodes: Nodes, followers: Sequence[str]) -> str:
    """Return the member whose output is checked; in the middle of a run, the member that began last."""
    named = nodes.settings.get("first")
    if named:
        return str(named)
    others = {name for branch in as_list(nodes.settings.get("branches")) for name in _targets(branch)} | set(followers)
    excluded = nodes.stopping | nodes.asked
    begun = [nodes.members[node] for node in (*nodes.running[::-1], *nodes.done[::-1]) if node not in excluded]
    return next((name for name in (*begun, *nodes.cast) if name and name not in others), "")


def _branches_by_name(nodes: Nodes, first: str, followers: Sequence[str]) -> list[JsonValue]:
    begun = {nodes.members.get(node) for node in (*nodes.done, *nodes.running)}
    others = [name for name in nodes.cast if name != first and name not in followers and name not in begun]
    # The longest name first: a name may be part of another, and the first guard that holds is taken.
    return [{"when": {"names": name}, "to": name} for name in sorted(others, key=len, reverse=True)]


def _targets(branch: JsonValue) -> list[str]:
    return strings(branch.get("to", [])) if isinstance(branch, dict) else []


def _first(where: str, value: JsonValue, members: Sequence[str]) -> None:
    if value != "request":
        member(where, value, members)


def _members(where: str, value: JsonValue, members: Sequence[str]) -> None:
    for name in strings(value):
        member(where, name, members)


def _branches(where: str, value: JsonValue, members: Sequence[str]) -> None:
    if not isinstance(value, list) or not value:
        raise Refused(f"{where} is a list of {{when: guard, to: member}}, not {value!r:.60}")
    for number, branch in enumerate(value, 1):
        label = f"{where}, branch {number}"
        if not isinstance(branch, dict) or set(branch) != {"when", "to"}:
            raise Refused(f"{label}: a branch has when and to and nothing else")
        check_guard(label, branch["when"])
        _members(label, branch["to"], members)
        if branch["when"] == "else" and number < len(value):
            raise Refused(f"{label}: what comes after else is never looked at; put it last")
