"""When a person is asked before a tool is called: `never`, `always`, or a guard over the arguments of the call."""

import re
from collections.abc import Collection, Iterable

from engine.core.errors import Refused
from engine.core.records.records import JsonValue
from engine.core.specs.guard import check_guard
from engine.core.specs.management import AgentManagementTools

PLAIN = ("never", "always")
_JSON_PUNCTUATION = re.compile(r"""["'](?:\s|\\s)?[*+?]?\\?[:,\]}]|\\?[:,\[{](?:\s|\\s)?[*+?]?["']""")
"""A quote next to punctuation of JSON, also with whitespace between them, as a pattern writes it."""


def check_approval(where: str, rule: JsonValue) -> None:
    """Refuse an invalid approval rule; the message says what a rule looks like."""
    if rule in PLAIN:
        return
    if not isinstance(rule, dict) or "status" in rule:
        raise Refused(
            f"{where}: says when a person is asked: never, always, or a guard over the arguments, such as"
            f" {{json: account, equals: main}} or {{matches: '/etc/'}}, not {rule!r:.60}"
        )
    check_guard(where, rule)


def check_ruled_tools(
    approve: Iterable[str], tools: Collection[str], mcp: Iterable[str], may: Iterable[str] = ()
) -> None:
    """Check that every rule is for a tool of the agent: a rule under another name would let every call through.

    Args:
        approve: The names that have a rule.
        tools: Names of its functions.
        mcp: Its servers and tools of servers; which tools a server has is known once it runs.
        may: What its model may do besides.

    Raises:
        Refused: If one does not; the message names it and what there is.
    """
    tools = [*tools, *(tool for tool in AgentManagementTools if tool in may)]
    servers = {name.partition("/")[0] for name in mcp}
    for name in approve:
        server, slash, _ = name.partition("/")
        if name not in tools and not (slash and server in servers):
            tool_names = ", ".join([*tools, *(f"{server}/…" for server in sorted(servers))]) or "none"
            raise Refused(f"approve: no tool {name!r}; it has {tool_names}")


def punctuation_warning(rule: JsonValue) -> str | None:
    """Return a warning about a guard that looks for the punctuation of JSON; None for any other rule."""
    for kind in ("matches", "contains", "names"):
        text = rule.get(kind) if isinstance(rule, dict) else None
        if isinstance(text, str) and _JSON_PUNCTUATION.search(text):
            return (
                f"{kind} {text!r:.60} looks for the punctuation of JSON, which no argument by itself has; a value at a"
                " path is compared by {json: path, equals: value}"
            )
    return None
