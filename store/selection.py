"""Which records a reader asks for, as the condition of a statement."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Selection:
    """Conditions that all must hold; None means no condition.

    Only `run_id` has an index. A task belongs to one run, so name its run as well; the other conditions
    walk the journal from where the page begins.
    """

    kinds: Collection[str] | None = None
    run_id: str | None = None
    task_id: str | None = None
    agent_id: str | None = None
    contains: str | None = None
    """Text in the body, in any case of the letters a to z."""

    def condition(self) -> tuple[str, dict[str, Any]]:
        """What to add to a WHERE that has a first term already, and its parameters."""
        terms: list[str] = []
        parameters: dict[str, Any] = {}
        for column, wanted in (("run_id", self.run_id), ("task_id", self.task_id), ("agent_id", self.agent_id)):
            if wanted is not None:
                terms.append(f" AND {column} = :{column}")
                parameters[column] = wanted
        if self.kinds is not None:
            terms.append(" AND kind IN (SELECT value FROM json_each(:kinds))")
            parameters["kinds"] = json.dumps(list(self.kinds))
        if self.contains:
            terms.append(" AND body LIKE :contains ESCAPE '\x1b'")
            parameters["contains"] = _pattern(self.contains)
        return "".join(terms), parameters


def _pattern(text: str) -> str:
    """A LIKE pattern that finds `text` as JSON spells it; its escape character cannot stand in JSON."""
    spelled = json.dumps(text, ensure_ascii=False)[1:-1]
    for wildcard in "%_":
        spelled = spelled.replace(wildcard, "\x1b" + wildcard)
    return f"%{spelled}%"
