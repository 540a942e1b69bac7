"""When a person is asked before a tool is called: `never`, `always`, or a guard over the arguments of the call."""

from engine.core.errors import Refused
from engine.core.records import JsonValue
from engine.core.strategies.guard import check_guard

PLAIN = ("never", "always")


def check_approval(where: str, rule: JsonValue) -> None:
    """Return when `rule` is one.

    Raises:
        Refused: If it is not; the message says what one looks like.
    """
    if rule in PLAIN:
        return
    if not isinstance(rule, dict) or "status" in rule:
        raise Refused(
            f"{where}: says when a person is asked: never, always, or a guard over the arguments, such as"
            f" {{json: account, equals: main}} or {{matches: '/etc/'}}, not {rule!r:.60}"
        )
    check_guard(where, rule)
