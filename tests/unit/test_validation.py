"""One validation: a value has the same verdict in Python, in a command and in a team file, and one line says why."""

import json
import math
import types
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from engine.core.commands import COMMANDS, AddAgent, AddSupervisor, ChangeSupervisor, Command, Submit, SupervisorSpec
from engine.core.encoding.codec import (
    decode_command,
    decode_events,
    encode_command,
    encode_event,
    encode_state,
)
from engine.core.errors import BadValue
from engine.core.events import CommandApplied, CommandRefused
from engine.core.fold import fold
from engine.core.records.records import copy_with, field_names
from engine.core.signals import EngineBegan
from engine.core.specs.discovery import DiscoveryConfig
from engine.core.specs.limits import Limits
from engine.core.specs.options import Optimize, Preempt, SupervisorOptions
from engine.core.specs.spec import (
    AgentSpec,
    Circuit,
    Escalate,
    Fail,
    Failover,
    Pool,
    Restart,
    Retry,
    Skip,
)
from engine.core.state import State
from engine.core.validation.records import check_arguments, rebuild_checked
from engine.runtimes.functions.kinds import FUNCTION
from engine.simulation.drawing import draw_valid_record
from engine.supervisor.dynamic import DynamicSupervisor
from engine.teamfile import TeamFileError, parse_team
from tests.depth import examples
from tests.legal import assert_legal
from tests.story import applied
from tests.world import World, load, team_world


class Odd:
    """Says nothing of itself."""

    def __repr__(self) -> str:
        raise LookupError("gone")


@dataclass
class Case:
    """A record, how it comes in a command, and where it stands in a team file."""

    base: dict[str, Any]
    command: Callable[[Any], Command]
    inside: tuple[str | int, ...]
    """The way to it in the JSON of that command."""
    block: tuple[str | int, ...] = ()
    keys: dict[str, str] | None = None
    """From its fields to keys of the team file that mean the same whatever else is there."""


def same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def add(**spec: Any) -> AddAgent:
    return AddAgent(spec=AgentSpec(name="ada", **spec))


def change(**options: Any) -> ChangeSupervisor:
    return ChangeSupervisor(supervisor="chief", options=SupervisorOptions(**options))


AGENT = same("name", "description", "specialties", "model", "instructions", "category", "weight")
AGENT |= same("max_concurrency", "timeout_s", "step_timeout_s", "run_in")
LIMITS = same("attempts", "time_s", "tokens", "cost_usd", "run_s", "depth", "warn_at", "then")

CASES: dict[type, Case] = {
    AgentSpec: Case({"name": "ada"}, lambda one: AddAgent(spec=one), ("spec",), ("agents", 0), AGENT),
    Pool: Case(
        {"min": 1, "max": 10_000}, lambda one: add(pool=one), ("spec", "pool"), ("agents", 0, "pool"),
        same("min", "max", "grow_at", "idle_s"),
    ),
    Limits: Case({}, lambda one: add(limits=one), ("spec", "limits"), ("limits",), LIMITS),
    Circuit: Case(
        {}, lambda one: add(circuit=one), ("spec", "circuit"), ("supervisor", "circuit"), same("failures", "cool_s")
    ),
    Retry: Case(
        {"base_s": 0.001, "cap_s": 1}, lambda one: add(on_failure=[one]), ("spec", "on_failure", 0),
        ("supervisor", "on_failure", 0, "retry"), same("retries", "base_s", "cap_s", "on", "never_on"),
    ),
    Failover: Case(
        {}, lambda one: add(on_failure=[one]), ("spec", "on_failure", 0), ("supervisor", "on_failure", 0, "failover"),
        same("agents"),
    ),
    Escalate: Case(
        {}, lambda one: add(on_failure=[one]), ("spec", "on_failure", 0), ("supervisor", "on_failure", 0, "escalate"),
        same("after_s", "default"),
    ),
    Restart: Case(
        {}, lambda one: change(restart=one), ("options", "restart"), ("supervisor", "restart"),
        same("strategy", "intensity", "period_s"),
    ),
    Preempt: Case(
        {}, lambda one: change(preempt=one), ("options", "preempt"), ("supervisor", "preempt"),
        same("at", "urgent", "limit"),
    ),
    Optimize: Case({}, lambda one: change(optimize=one), ("options", "optimize")),
    SupervisorOptions: Case(
        {}, lambda one: ChangeSupervisor(supervisor="chief", options=one), ("options",), ("supervisor",),
        same("max_total", "processes", "balance", "ageing_s", "grace_s"),
    ),
    SupervisorSpec: Case(
        {"name": "chief"}, lambda one: AddSupervisor(parent=None, team=one), ("team",), ("supervisor",),
        same("name", "auto_discover", "max_matches", "max_parallel", "max_agents"),
    ),
}  # fmt: skip

ORDINARY = [None, True, False, 0, 1, -1, 2, 9, 10, 64, 65, 100, 101, 1.5, 2.0, 0.5, 0.0, -0.0, "", "x", "5", "0", "ada"]
HOSTILE = [
    math.inf, -math.inf, math.nan, 1e-320, 1e300, 86_400, 86_401.0, 315_360_000, 315_360_001, 10**12, 10**13, 10**400,
    "two words", "a" * 64, "a" * 65, "a" * 201, "process", "drain", "stop", "abort", "weight", "one_for_all", "reject",
    [], ["x"], ["x", "y"], [1], [None], [[]], ["x"] * 101, {}, {"x": 1}, {"tokens": 5}, {"x": None}, "café",
]  # fmt: skip
values = st.one_of(
    st.sampled_from(ORDINARY),
    st.sampled_from(HOSTILE),
    st.integers(-(10**12), 10**12),
    st.floats(),
    st.text(st.characters(codec="ascii", categories=["L", "N"]), max_size=3),
    st.lists(st.one_of(st.integers(), st.text(st.characters(codec="ascii", categories=["L"]))), max_size=3),
)
FIELDS = [(cls, name) for cls in CASES for name in field_names(cls)]
"""Every field of everything that a person writes."""
HOLDS_RECORDS = {"on_failure", "limits", "run_limits", "task_limits", "agent_limits", "pool", "circuit", "restart"}
HOLDS_RECORDS |= {"preempt", "optimize", "options", "members"}


def in_python(cls: Any, name: str, value: Any) -> str:
    """Return what Python says of a value; empty where it takes it."""
    try:
        cls(**(CASES[cls].base | {name: value}))
    except BadValue as bad:
        where, said = bad.path[0], bad.reason
    else:
        return ""
    assert where == name or {name, where} in ({"min", "max"}, {"base_s", "cap_s"})
    return said


def in_a_command(cls: Any, name: str, value: Any) -> str:
    case = CASES[cls]
    command = case.command(cls(**case.base))
    body = json.loads(encode_command(command))
    found = body
    for step in case.inside:
        found = found[step]
    found[name] = value
    try:
        decode_command(str(command.type), json.dumps(body).encode())
    except ValueError as error:
        return str(error)
    return ""


def in_a_file(cls: Any, key: str, value: Any) -> str:
    case = CASES[cls]
    code = {"model": "openai/gpt-4o"} if cls is AgentSpec and key in FUNCTION.unused else {"run": "crew:ada"}
    document: dict[str, Any] = {
        "version": 1,
        "supervisor": {"name": "chief", "on_failure": [{case.block[-1]: {}}] if "on_failure" in case.block else []},
        "agents": [{"name": "ada", **code}],
    }
    found: Any = document
    for step in case.block:
        found = found.setdefault(step, {}) if isinstance(found, dict) else found[step]
    found |= {name: each for name, each in case.base.items() if (case.keys or {}).get(name) == name}
    found[key] = value
    try:
        parse_team(yaml.dump(document, Dumper=Quoting, allow_unicode=True, sort_keys=False), Path("team.yaml"))
    except TeamFileError as error:
        return str(error)
    return ""


class Quoting(yaml.SafeDumper):
    """Writes every text in quotes: PyYAML takes `1e+100` for a text, we take it for a number."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


def is_a_number_there(value: Any) -> bool:
    """Return whether the reader of team files does not take a value for a text."""
    return not isinstance(value, int | float) or (math.isfinite(value) if isinstance(value, float) else value < 10**100)


@settings(max_examples=examples(50))
@given(st.sampled_from(FIELDS), values)
@example((AgentSpec, "timeout_s"), math.inf)
@example((SupervisorOptions, "ageing_s"), math.inf)
@example((AgentSpec, "weight"), 1e-320)
@example((AgentSpec, "model"), "x")
@example((Limits, "cost_usd"), math.nan)
def test_the_same_value_has_the_same_verdict_wherever_it_comes_in(field: tuple[type, str], value: Any) -> None:
    cls, name = field
    python = in_python(cls, name, value)

    assert "\n" not in python
    if not (name in HOLDS_RECORDS and isinstance(value, dict)):  # a program gives a record where JSON has an object
        assert bool(in_a_command(cls, name, value)) == bool(python), python
    key = (CASES[cls].keys or {}).get(name)
    if (cls, name, value) == (AgentSpec, "model", None):
        return  # a file without a model names no agent's work
    if key is not None and name not in HOLDS_RECORDS and is_a_number_there(value):
        told = in_a_file(cls, key, value)
        assert bool(told) == bool(python), (python, told)


@pytest.mark.parametrize("value", [Odd(), {1, 2}, b"bytes", 3 + 1j, Decimal("NaN"), "half \ud83d", {1: 2}])
def test_what_no_json_can_hold_is_refused_in_one_line(value: Any) -> None:
    for cls, name in FIELDS:
        said = in_python(cls, name, value)

        assert said, (cls, name)
        assert "\n" not in said


@pytest.mark.parametrize(
    ("cls", "values", "says"),
    [
        (
            AgentSpec,
            {"timeout_s": math.inf},
            "timeout_s must be a number of seconds above 0 and at most 315,360,000, or",
        ),
        (AgentSpec, {"specialties": [1]}, "agent 'a': specialties[0] must be a text of 1 to 200 characters, not 1"),
        (AgentSpec, {"circuit": 5}, "agent 'a': circuit must be Circuit(…), or None, not 5"),
        (AgentSpec, {"limits": {"tokens": 5}}, "agent 'a': limits must be Limits(…), or None, not {'tokens': 5}"),
        (AgentSpec, {"options": {"b": [math.nan]}}, "agent 'a': options.b[0] must be a JSON value, not nan"),
        (AgentSpec, {"on_failure": [Fail(), Retry(1)]}, "on_failure[1] comes after fail, which is always the last"),
        (AgentSpec, {"on_failure": [Retry(1), Skip(), Fail()]}, "on_failure[2] comes after skip"),
        (AgentSpec, {"name": "two words"}, "agent 'two words': name must be an ASCII letter, then up to 63 of these"),
        (DiscoveryConfig, {"max_matches": 0}, "discovery: max_matches must be a whole number, 1 to 100, not 0"),
        (Limits, {"cost_usd": "much"}, "limits: cost_usd must be an amount, 0.000001 to 1,000,000,000, or None, not"),
        (Pool, {"min": 3, "max": 2}, "pool: max must be at least min, 3, not 2"),
        (SupervisorSpec, {"max_parallel": 1.5}, "supervisor 'a': max_parallel must be a whole number, 1 to"),
    ],
)
def test_a_fault_names_the_option_the_value_and_what_is_wanted(cls: Any, values: dict[str, Any], says: str) -> None:
    with pytest.raises(BadValue) as bad:
        cls(**({"name": "a"} if cls in (AgentSpec, SupervisorSpec) else {}) | values)

    assert says in bad.value.reason


def test_what_was_changed_after_it_was_built_is_checked_when_it_is_given() -> None:
    spec = AgentSpec(name="ada", limits=Limits(tokens=5))
    spec.limits.tokens = -1  # type: ignore[union-attr]

    with pytest.raises(BadValue, match="limits: tokens must be"):
        rebuild_checked(AddAgent(spec=spec), "add_agent")


def test_what_is_given_shares_nothing_with_what_the_engine_keeps() -> None:
    spec = AgentSpec(name="ada", options={"deep": [1]}, limits=Limits(tokens=5))
    kept = rebuild_checked(AddAgent(spec=spec), "add_agent").spec
    assert kept is not None

    spec.options["deep"].append(2)  # type: ignore[union-attr]
    spec.limits.tokens = 6  # type: ignore[union-attr]

    assert kept.options == {"deep": [1]}
    assert kept.limits == Limits(tokens=5)


def test_numbers_come_back_in_the_one_shape_that_they_have_in_records() -> None:
    spec = AgentSpec(name="ada", timeout_s=3, weight=2, limits=Limits(cost_usd=0.5))

    assert (type(spec.timeout_s), type(spec.weight)) == (float, float)
    assert spec.limits is not None
    assert spec.limits.cost_usd == Decimal("0.5")


def test_arguments_of_a_call_are_checked_by_its_annotations() -> None:
    def call(limits: Limits | None = None, *, names: list[str]) -> None: ...

    check_arguments("call", call, {"limits": None, "names": ("a",)})
    with pytest.raises(BadValue, match=r"call: limits must be Limits\(…\), or None, not 5"):
        check_arguments("call", call, {"limits": 5, "names": []})
    with pytest.raises(BadValue, match=r"call: names must be a list, not 'a'"):
        check_arguments("call", call, {"names": "a"})


def test_the_arguments_of_a_supervisor_have_the_defaults_of_its_record() -> None:
    arguments = DynamicSupervisor.__init__.__kwdefaults__ or {}
    records = (SupervisorOptions(), SupervisorSpec(name="chief"))
    defaults = {name: getattr(record, name) for record in records for name in field_names(record) if name in arguments}
    del defaults["options"]

    assert {"max_agents", "max_parallel", "auto_discover", "on_failure", "models"} <= defaults.keys()
    assert {name: arguments[name] or None for name in defaults} == {name: defaults[name] or None for name in defaults}


def test_a_command_says_the_value_that_is_wrong() -> None:
    with pytest.raises(ValueError, match=r"submit: priority: .* not '0'"):
        decode_command("submit", b'{"request": "x", "priority": "0"}')
    with pytest.raises(ValueError, match=r"submit: body: it is not JSON .* column 32"):
        decode_command("submit", b'{"request": "x", "deadline_s": Infinity}')
    assert decode_command("submit", b'{"request": "x", "deadline_s": 5}') == Submit(request="x", deadline_s=5.0)


EXTREMES: dict[str, list[Any]] = {
    "timeout_s": [5e-324, 315_360_000],
    "step_timeout_s": [5e-324, 315_360_000],
    "weight": [0.001, 1_000_000],
    "max_concurrency": [1, 10_000],
    "ageing_s": [0, 5e-324, 86_400],
    "grace_s": [0, 5e-324, 86_400],
    "max_total": [1, 100_000],
    "processes": [1, 10_000],
    "max_parallel": [1, 10_000],
    "deadline_s": [5e-324, 315_360_000],
    "priority": [0, 9],
    "time_s": [5e-324, 315_360_000],
    "run_s": [5e-324, 315_360_000],
    "tokens": [1, 10**12],
    "attempts": [1, 10**9],
    "cost_usd": [Decimal("0.000001"), 10**9],
    "warn_at": [5e-324, 1],
    "idle_s": [5e-324, 86_400],
    "grow_at": [1, 10**9],
    "cool_s": [5e-324, 86_400],
    "period_s": [5e-324, 86_400],
    "base_s": [5e-324, 3_600],
    "after_s": [5e-324, 315_360_000],
}
"""The least and the most of what may be said."""


def extreme(draw: st.DrawFn, cls: Any, *names: str, **fixed: Any) -> Any:
    """Return a record whose fields are left out, or are the least or the most that they may be."""
    said = {name: draw(st.sampled_from([None, *EXTREMES[name]])) for name in names}
    return cls(**{name: value for name, value in said.items() if value is not None}, **fixed)


@st.composite
def teams(draw: st.DrawFn) -> SupervisorSpec:
    amounts = ("time_s", "tokens", "attempts", "cost_usd", "warn_at")
    chain = [
        extreme(draw, Retry, "base_s", retries=draw(st.integers(0, 2)), cap_s=86_400),
        extreme(draw, Escalate, "after_s"),
    ]
    spec = extreme(
        draw, AgentSpec, "timeout_s", "step_timeout_s", "weight", "max_concurrency", name="ada", run="crew:ada",
        on_failure=chain, circuit=extreme(draw, Circuit, "cool_s", failures=1),
        pool=extreme(draw, Pool, "idle_s", "grow_at", max=draw(st.sampled_from([1, 10_000]))),
        limits=extreme(draw, Limits, *amounts), task_limits=extreme(draw, Limits, *amounts),
    )  # fmt: skip
    options = extreme(
        draw, SupervisorOptions, "ageing_s", "grace_s", "max_total", "processes",
        limits=extreme(draw, Limits, "run_s", *amounts), run_limits=extreme(draw, Limits, *amounts),
        restart=extreme(draw, Restart, "period_s"), balance=draw(st.sampled_from(["weight", "performance"])),
    )  # fmt: skip
    members = [spec, AgentSpec(name="bob", run="crew:bob", weight=draw(st.sampled_from(EXTREMES["weight"])))]
    team: SupervisorSpec = extreme(
        draw, SupervisorSpec, "max_parallel", name="chief", mode="map", options=options, members=members
    )
    return team


@settings(max_examples=examples(20))
@given(teams(), st.data())
def test_an_engine_works_on_and_starts_again_on_whatever_was_accepted(
    team: SupervisorSpec, data: st.DataObject
) -> None:
    world = World()
    world.say(EngineBegan(pid=1, token=1, version="test"))
    applied(world, load(team))
    submit = {name: data.draw(st.sampled_from([None, *EXTREMES[name]])) for name in ("deadline_s", "priority")}
    world.order(
        Submit(request=["a", "b"], limits=Limits(run_s=data.draw(st.sampled_from(EXTREMES["run_s"]))), **submit)
    )
    for key in list(world.started)[:1]:
        world.fail(key, crashed=True)

    world.crash()
    read = decode_events([(seq, one.type, encode_event(one)) for seq, one in enumerate(world.journal, 1)])
    again = State()
    fold(again, read)

    assert encode_state(again) == encode_state(world.state)
    world.settle()
    assert not world.state.runs
    assert_legal(world.state)


OF_COMMANDS = [(cls, name) for cls in COMMANDS for name in field_names(cls)]


@settings(max_examples=examples(50))
@given(st.sampled_from(OF_COMMANDS), values, st.integers(0, 10**6))
def test_a_command_with_any_value_in_it_is_carried_out_or_refused_in_one_line(
    field: tuple[type, str], value: Any, seed: int
) -> None:
    cls, name = field
    world = team_world(AgentSpec(name="ada", run="crew:ada"), AgentSpec(name="bob", run="crew:bob"))
    world.order(Submit(request="go"))
    base = draw_valid_record(cls, Random(seed), world.state)
    assume(base is not None)
    command = copy_with(base, **{name: value})

    events = world.order(command)

    said = next(one for one in events if isinstance(one, CommandApplied | CommandRefused))
    refused = isinstance(said, CommandRefused) and said.code == "bad_value"
    assert not isinstance(said, CommandRefused) or "\n" not in said.reason
    decode_events([(seq, one.type, encode_event(one)) for seq, one in enumerate(events, 1)])
    if "spec" not in name and name not in HOLDS_RECORDS | {"team", "swaps", "registry"}:
        body = json.loads(encode_command(base)) | {name: value}
        assert is_refused(str(command.type), body) == refused, said


def is_refused(kind: str, body: dict[str, Any]) -> bool:
    try:
        decode_command(kind, json.dumps(body).encode())
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("cls", CASES)
def test_a_subclass_of_a_record_is_refused_because_no_journal_could_bring_it_back(cls: type) -> None:
    case = CASES[cls]
    subclass = types.new_class(f"My{cls.__name__}", (cls,))

    with pytest.raises(BadValue, match=rf"must be .*{cls.__name__}\(…\).*, not My{cls.__name__}"):
        rebuild_checked(case.command(subclass(**case.base)), "a command")


def test_a_failure_policy_of_ones_own_class_is_refused() -> None:
    class Never(Retry):
        pass

    with pytest.raises(BadValue, match=r"on_failure\[0\] must be Retry\(…\)"):
        AgentSpec(name="ada", on_failure=[Never(1)])


def test_a_field_that_a_record_does_not_have_is_answered_with_the_nearest_one() -> None:
    spelled: dict[str, Any] = {"specialities": ["x"]}

    with pytest.raises(TypeError, match="no option 'specialities'; did you mean specialties"):
        AgentSpec(name="ada", **spelled)


def test_a_value_without_the_name_of_its_field_is_answered_with_the_names() -> None:
    unnamed: Any = Pool

    with pytest.raises(TypeError, match="Pool takes its values by name: min, max, grow_at, idle_s"):
        unnamed(1, 2)
    with pytest.raises(TypeError, match="Pool: Missing required argument 'max'"):
        unnamed()
