"""How the demo keeps to three to five minutes: leads that have so much time, and files in an order that is a sample."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dashboard.cli.demo import WITHIN_S, crew_file, crew_text
from dashboard.demo.leads import MAX_ITEMS, Survey, in_sample_order
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

    limits = {name: int(str(spec.options["within_s"])) for name, spec in timed.items() if "within_s" in spec.options}
    assert {name.replace("-", "_") for name in limits} == {*WITHIN_S, "indexer"}
    assert 180 <= limits["mapper"] + limits["metrician"] <= 240
    assert limits["metrician"] == limits["indexer"] == limits["doc-checker"]
    assert [name for name, spec in whole.items() if "within_s" in spec.options] == ["indexer"], "else a search is long"


class Answering:
    """The `ctx` of a lead whose workers take five seconds for each wave of files; each one answered is recorded."""

    cancelled = False

    def __init__(self, recorded: dict[str, str], now_s: float) -> None:
        self.recorded, self.now_s = recorded, now_s

    async def map(self, _: str, items: list[dict[str, Any]], **__: bool) -> list[dict[str, Any]]:
        if items[0]["title"] not in self.recorded:
            self.now_s += 5
        read_at = datetime.fromtimestamp(self.now_s, UTC).isoformat()
        return [
            {
                "entries": [{"file": item["title"]}],
                "failures": [],
                "read": {"at": self.recorded.setdefault(item["title"], read_at)},
            }
            for item in items
        ]

    def progress(self, done: int, total: int) -> None:
        assert done <= total


async def gathered(tmp_path: Path, context: Answering, *, files: int = 300, **options: bool) -> Survey:
    (tmp_path / "a.py").write_text("")
    task = SimpleNamespace(folder=tmp_path, request="audit", options=options or {"within_s": 60})
    lead = Survey(task, context)  # type: ignore[arg-type]
    await lead.gather("parse", [f"{number}.py" for number in range(files)])
    return lead


@pytest.mark.anyio
@pytest.mark.parametrize(("files", "items"), [(MAX_ITEMS, MAX_ITEMS), (MAX_ITEMS + 1, MAX_ITEMS // 2 + 1)])
async def test_a_lead_without_a_time_limit_delegates_so_many_items_at_most(
    tmp_path: Path, files: int, items: int
) -> None:
    lead = await gathered(tmp_path, Answering({}, 1_000.0), files=files, asks=True)

    assert not lead.cut_short
    assert len(lead.entries) == items


@pytest.mark.anyio
async def test_a_lead_hands_out_nothing_more_when_its_time_is_over(tmp_path: Path) -> None:
    lead = await gathered(tmp_path, Answering({}, 1_000.0))

    assert lead.cut_short
    assert 30 <= len(lead.entries) <= 50


@pytest.mark.anyio
async def test_a_lead_that_goes_on_later_has_the_time_that_was_left(tmp_path: Path) -> None:
    whole = await gathered(tmp_path, Answering({}, 1_000.0))
    recorded: dict[str, str] = {}
    await gathered(tmp_path, Answering(recorded, 1_000.0))
    half = dict(list(recorded.items())[: len(recorded) // 2])

    later = await gathered(tmp_path, Answering(half, 11_000.0))  # as long until the fork is resumed

    assert later.cut_short
    assert abs(len(later.entries) - len(whole.entries)) <= 6, "a pause counts as 10 s at most"


@pytest.mark.parametrize("watched", [True, False])
def test_a_person_is_asked_only_where_one_watches(watched: bool) -> None:
    specs = crew(watched=watched)

    assert bool(specs["metrician"].options.get("asks")) == watched
    assert any(isinstance(one, Escalate) for one in specs["parser-fast"].on_failure or ()) == watched
