"""How the demo keeps to three to five minutes: leads that have so much time, and files in an order that is a sample."""

from types import SimpleNamespace
from typing import Any

import pytest

from dashboard.cli.demo import WITHIN_S, crew_file, crew_text
from dashboard.demo.gathering import LeadTimeLimit, in_sample_order
from engine.core.specs.spec import AgentSpec, Escalate
from engine.teamfile import parse_team

NAMES = [*(f"big/{number}.py" for number in range(50)), "small/a.py", "small/b.py", "top.py"]


def crew(**said: bool) -> dict[str, AgentSpec]:
    specs: dict[str, AgentSpec] = {}

    def walk(team: Any) -> None:
        for member in team.members:
            if isinstance(member, AgentSpec):
                specs[member.name] = member
            else:
                walk(member)

    walk(parse_team(crew_text(None, **said), crew_file()).load_command().team)
    return specs


def test_where_there_is_not_time_for_all_files_each_folder_has_its_turn() -> None:
    sample = in_sample_order(NAMES)

    assert sorted(sample) == sorted(NAMES)
    assert {name.rpartition("/")[0] for name in sample[:3]} == {"", "big", "small"}
    assert {"small/a.py", "small/b.py", "top.py"} <= set(sample[:5])


def test_leads_have_three_to_five_minutes_only_where_somebody_watches_the_library() -> None:
    timed, whole = crew(watched=True, timed=True), crew()

    found = {name: int(str(spec.options["within_s"])) for name, spec in timed.items() if "within_s" in spec.options}
    assert {name.replace("-", "_") for name in found} == set(WITHIN_S)
    assert 180 <= max(found["mapper"], found["librarian"]) + found["metrician"] <= 240
    assert not any("within_s" in spec.options for spec in whole.values())


class Recorded:
    """The steps of a lead, recorded as an engine does: an attempt after a restart or in a fork gets their outputs."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        self.task = SimpleNamespace(options={"within_s": 60})
        self._outputs = outputs

    async def step(self, name: str, do: Any, *args: str) -> Any:
        key = " ".join([name, *args])
        if key not in self._outputs:
            self._outputs[key] = do(*args)
        return self._outputs[key]


@pytest.mark.anyio
async def test_a_lead_that_goes_on_later_has_the_time_that_was_left_and_decides_the_same() -> None:
    outputs: dict[str, Any] = {}
    now = [1_000.0]
    context: Any = Recorded(outputs)
    before = LeadTimeLimit(context, lambda: now[0])
    now[0] += 40
    assert not await before.check("parse 0")

    now[0] += 10_000  # as long until the fork is resumed
    again = LeadTimeLimit(context, lambda: now[0])

    assert not await again.check("parse 0")
    now[0] += 15
    assert not await again.check("parse 1")
    now[0] += 5
    assert await again.check("parse 2")


@pytest.mark.parametrize("watched", [True, False])
def test_a_person_is_asked_only_where_one_watches(watched: bool) -> None:
    specs = crew(watched=watched)

    assert bool(specs["metrician"].options.get("asks")) == watched
    assert any(isinstance(one, Escalate) for one in specs["parser-fast"].on_failure or ()) == watched
