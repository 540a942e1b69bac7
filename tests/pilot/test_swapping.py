"""Swaps and the ways back from them, by keys: what is offered, what is said before, what is sent."""

import json
import subprocess
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from dashboard.app.app import QuarterdeckApp
from dashboard.dialogs.dialog import Choices, Dialog
from dashboard.dialogs.members import RemoveDialog
from dashboard.dialogs.swap import RollbackDialog, SwapDialog
from dashboard.widgets.fields import Radio
from dashboard.widgets.yaml_area import YamlArea
from engine.core.commands import RemoveMember, Rollback, SwapAgent, SwapAgents, Undo
from engine.core.specs.model_spec import ModelSpec, Price
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from engine.supervisor.client import Client
from store import StoreError
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.pilot.hand import opened
from tests.pilot.trouble import trouble
from tests.story import member, refused, submitted
from tests.world import World, agent, team_world

pytestmark = pytest.mark.anyio


async def test_a_swap_says_of_each_mode_what_becomes_of_the_work(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        hand.table.select(next(one.id for one in hand.work.state.agents.values() if one.name == "reader"))
        await hand.press("h")
        said = hand.told("mode")
        assert "(•) drain     5 attempts end on g1; what waits goes to g2" in said
        assert "( ) migrate   5 attempts go on with g2 at their next step; their 5 finished steps are kept" in said
        assert "( ) abort     5 attempts start again on g2; 5 finished steps are thrown away" in said

        await hand.press("tab", "down")
        assert "ledger 0  goes on with the new code after step 3" in hand.told("each")
        assert "--with reader-careful --mode migrate" in hand.told("shell")
        reader = hand.work.state.agents["a4"]
        assert f"of {reader.done + reader.failed} ok" in hand.told("work")  # as is said of each spec that is offered
        await hand.press("enter")
        assert hand.ordered == SwapAgent(agent="@a4", registered="reader-careful", mode="migrate", generation=1)


async def test_what_is_chosen_has_a_sign_beside_its_colour(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.table.select(next(one.id for one in hand.work.state.agents.values() if one.name == "scout-thorough"))
        await hand.press("h", "down")
        choices = hand.app.screen.query_one(Choices)
        shown = [choices.render_line(y).text for y in range(choices.size.height)]

        assert [line[0] for line in shown[:3]] == [" ", "▌", " "]


async def test_those_that_share_no_specialty_are_folded_behind_a_line(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        hand.table.select("a4")
        await hand.press("h")
        choices = hand.dialog.query_one(Choices)
        offered = [str(choices.get_option_at_index(place).id) for place in range(choices.option_count)]
        assert offered == ["reader-careful", "reader-fast", "more:"]

        await hand.press("end", "enter")
        assert isinstance(hand.app.screen, SwapDialog)
        assert choices.option_count > 3
        assert "more:" not in [choices.get_option_at_index(place).id for place in range(choices.option_count)]


NO_TURBOX = "would be refused: no model 'turbox' in the team; known: fast, own, slow; or give provider/name"
FAKE = ModelSpec(replies=[{"text": "so"}])


def crew_of_models() -> World:
    critic = AgentSpec(name="critic", agent_type="ReactAgent", model="fast")
    models = {
        "fast": ModelSpec(model="openai/gpt-4o-mini"),
        "slow": ModelSpec(replies=[{"text": "so"}], price=Price(in_usd="12.5", out_usd=60), context_tokens=200_000),
        "own": ModelSpec(model="openai/x", base_url="http://localhost:1/v1"),
    }
    return team_world(critic, agent("ada"), options=SupervisorOptions(models=models))


async def test_a_model_is_swapped_with_four_keys_from_one_list_with_the_specs(tmp_path: Path) -> None:
    async with opened(tmp_path, work=crew_of_models()) as hand:
        hand.table.select("a1")
        await hand.press("h", "down", "up")
        choices = hand.dialog.query_one(Choices)
        shown = [choices.render_line(y).text.strip() for y in range(choices.size.height)]
        assert shown[0].endswith("slow  in $12.50  out $60.00 /M  p50 –  – ok  200k context")
        assert shown[1] == "own        in –       out – /M  p50 –  – ok     – context"
        assert len(shown) == 3
        assert "- model" in hand.told("changes")
        assert "quarterdeck swap critic --model slow --mode drain" in hand.told("shell")
        await hand.press("enter")
        assert hand.ordered == SwapAgent(agent="@a1", model="slow", generation=1)


async def test_on_a_team_the_agent_that_leads_it_is_swapped(tmp_path: Path) -> None:
    lead = AgentSpec(name="lead", agent_type="ReactAgent", model="fast")
    options = SupervisorOptions(lead="lead", models={"fast": FAKE, "slow": FAKE})
    async with opened(tmp_path, work=team_world(lead, mode="delegate", options=options)) as hand:
        await hand.press("h", "enter")
        assert hand.ordered == SwapAgent(agent="@a1", model="slow", generation=1)


async def test_a_model_that_is_written_into_a_spec_is_looked_up_too(tmp_path: Path) -> None:
    async with opened(tmp_path, work=crew_of_models()) as hand:
        await hand.press("colon", *"edit critic", "enter", "ctrl+end", *"timeout_s: 9")
        area = hand.dialog.query_one(YamlArea)
        text = area.text
        for model, problem, is_unlisted in (
            ("turbox", NO_TURBOX, True),
            ("openai/gpt-foo", "", True),
            ("own", "", False),
        ):
            area.text = text.replace("model: fast", f"model: {model}")
            await hand.press()
            assert hand.problem == problem
            preview = " ".join(hand.told("preview").split())
            assert (f"the model {model} is not known here" in preview) is is_unlisted


@pytest.mark.parametrize(("line", "mode"), [("swap critic", "migrate"), ("swap critic --mode abort", "abort")])
async def test_what_is_stuck_is_taken_from_its_attempt_unless_another_mode_is_typed(
    tmp_path: Path, line: str, mode: str
) -> None:
    work = crew_of_models()
    submitted(work)
    (task_id,) = member(work, "critic").running
    async with opened(tmp_path, work=work) as hand:
        hand.app.feed.live = {f"pulse:{task_id}": json.dumps({"chunk_ms": work.now_ms + 1})}
        hand.clock[0] += 600_000
        await hand.app._tick()
        assert hand.app.view.counts.activities.of_agent(member(work, "critic")).kind == "stuck"
        await hand.press("colon", *line, "enter")
        assert hand.dialog.query_one(Radio).chosen == mode


async def test_a_model_without_a_name_is_said_and_opens_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path, work=crew_of_models()) as hand:
        for name in ("", "x" * 201):
            await hand.press("colon", *f"swap critic model={name}", "enter")
            assert hand.said.startswith("model=NAME takes 1 to 200 characters")
            assert not hand.app.screen.is_modal


@pytest.mark.parametrize(
    ("line", "about", "problem"),
    [
        ("swap critic model=turbox", "not known here", "would be refused: no model 'turbox' in the team; known: fast,"),
        ("swap critic --model openai/gpt-foo --mode migrate", "not known here", ""),
        ("swap critic model=openai/gpt-4o", "/M", ""),
        ("swap critic model=fast", "/M", "would be refused: critic has this model already (g1); nothing to swap"),
        ("swap ada model=fast", "/M", "would be refused: no model plays ada (function); swap it for a spec"),
    ],
)
async def test_a_model_that_is_typed_is_looked_up_before_it_is_sent(
    line: str, about: str, problem: str, tmp_path: Path
) -> None:
    async with opened(tmp_path, work=crew_of_models()) as hand:
        await hand.press("colon", *line, "enter")
        choices = hand.dialog.query_one(Choices)
        assert about in str(choices.get_option_at_index(0).prompt)
        assert hand.problem.startswith(problem) if problem else hand.problem == ""
        await hand.press("enter")
        assert bool(hand.app.orders) is (problem == "")


async def test_marked_agents_are_swapped_as_one_change(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("0")
        hand.table.select("a5")
        await hand.press("space", "space")
        assert hand.said.startswith("2 marked · h swaps them")
        assert hand.line(6).startswith("▪")
        await hand.press("h")
        assert "Swap 2 agents as one change: auditor, writer" in hand.dialog.title_line()
        await hand.press("enter")
        assert hand.app.orders == []  # no spec can do what both do: those that cannot are shown first
        await hand.press("enter")
        assert isinstance(hand.ordered, SwapAgents)
        assert [one.agent for one in hand.ordered.swaps] == ["@a5", "@a6"]
        assert not hand.table.marked


async def test_escape_takes_marks_off(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "space", "escape")
        assert not hand.table.marked


async def test_what_would_be_refused_is_said_before_and_whole(tmp_path: Path) -> None:
    async with opened(tmp_path, size=(80, 24)) as hand:
        await hand.press("j", "j", "j", "j", "h")
        assert hand.problem.startswith("would be refused: scout-thorough is swapping already")
        assert hand.problem.endswith("wait for it, cancel it, roll back, or swap by migrate or abort")


async def test_a_roll_back_shows_what_the_agent_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("j", "B")
        assert hand.said.endswith("nothing to roll back to")
        await hand.press("j", "j", "j", "B")
        assert isinstance(hand.app.screen, RollbackDialog)
        assert "+ run          crew:scout-thorough" in hand.told("changes")
        await hand.press("end", "enter")
        assert hand.ordered == Rollback(agent="@a3", mode="abort", generation=2)


@pytest.mark.parametrize("dialog", [SwapDialog, RollbackDialog])
async def test_an_agent_that_somebody_else_swaps_while_a_dialog_shows_it_is_not_changed_again_unseen(
    tmp_path: Path, dialog: type[SwapDialog | RollbackDialog]
) -> None:
    async with opened(tmp_path) as hand:
        idle = next(one for one in hand.work.state.agents.values() if one.status == "idle")
        await hand.meanwhile(SwapAgent(agent=idle.id, spec=agent(idle.name, timeout_s=9)))
        hand.app.push_screen(dialog(idle.id))
        await hand.press(*["enter"] * (dialog is SwapDialog))  # shows those that share no specialty
        assert hand.problem == ""

        await hand.meanwhile(SwapAgent(agent=idle.id, spec=agent(idle.name, timeout_s=8)))
        said = f"{idle.name} is g3 by now, not g2; look at it first"
        assert hand.problem == f"would be refused: {said}"
        command = hand.dialog.build_command()
        assert isinstance(command, SwapAgent | Rollback)
        assert refused(hand.work, command) == said
        assert hand.dialog.answer() is None


async def test_code_is_not_trusted_for_a_swap_that_would_be_refused(tmp_path: Path) -> None:
    (tmp_path / "crew.py").write_text("def read(task, ctx):\n    return 1\n")
    (file := tmp_path / "new.yaml").write_text("name: reader-new\nrun: crew:read\n")
    async with opened(tmp_path) as hand:
        idle = next(one for one in hand.work.state.agents.values() if one.status == "idle")
        hand.app.push_screen(SwapDialog(idle.id, choice=str(file)))
        await hand.press()
        assert "runs crew:read; swapping trusts it" in hand.told("shell")
        await hand.meanwhile(RemoveMember(target=f"@{idle.id}", mode="drain"))
        await hand.press("enter")
        assert not hand.app.orders
        assert "is being removed" in hand.problem
        assert hand.app.trust.untrusted_references(["crew:read"]) == ["crew:read"]


async def test_a_line_names_agents_spec_and_mode(tmp_path: Path) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        await hand.press("colon", *"swap reader writer --with painter --mode abort", "enter")
        assert hand.dialog.query_one(Radio).chosen == "abort"
        assert hand.dialog.query_one(Choices).chosen == "painter"


def told(app: QuarterdeckApp) -> str:
    return app.messages.current.text if app.messages.current is not None else ""


def generation(app: QuarterdeckApp, name: str) -> int:
    return next((one.generation for one in app.feed.state.agents.values() if one.name == name), 0)


async def test_u_takes_back_a_swap_of_several_as_one_change_and_again_takes_that_back(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    names = ("reader", "counter")

    def are_at(number: int) -> bool:
        return [generation(app, name) for name in names] == [number, number]

    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(app.view.state.agents) == 3)
        await pilot.press("colon", *"swap reader counter --with reader-fast", "enter")
        await until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.has_begun)
        await pilot.press("enter")
        await until(pilot, lambda: told(app).endswith("· u undo"))
        await until(pilot, partial(are_at, 2))

        for number in (3, 4):
            await pilot.press("u", "u")
            await until(pilot, lambda: "rolled back 2 agents" in told(app))
            await until(pilot, partial(are_at, number))


async def test_what_u_undoes_is_kept_where_the_undo_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> NoReturn:
        raise StoreError("disk I/O error")

    async with opened(tmp_path) as hand:
        done = [("c1", "c2"), ("c3",)]
        hand.app.commands.undoable += done
        monkeypatch.setattr(Client, "send_all", failing)
        for left in (done, [("c1", "c2")]):
            hand.app.commands.undoable, hand.app.says = [*left], []
            await hand.press("u", "u")
            assert any(said.startswith("not sent: ") for said in hand.app.says)
            assert hand.app.commands.undoable == left

        hand.app.access.readonly = True
        await hand.press("u")
        assert hand.app.commands.undoable == [("c1", "c2")]


async def test_what_was_done_to_marked_rows_is_undone_together_the_last_first(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        hand.app.commands.undoable += [("c1",), ("c2", "c3")]
        await hand.press("u")
        assert hand.app.orders == []
        await hand.press("u")
        assert hand.app.orders == [Undo(command_id="c3"), Undo(command_id="c2")]
        await hand.press("u", "u")
        assert hand.app.orders[2:] == [Undo(command_id="c1")]


async def test_u_takes_back_the_swap_that_was_told(engine: subprocess.Popen[bytes], tmp_path: Path) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(app.view.state.agents) == 3)
        await pilot.press("u")
        assert told(app).startswith("nothing to undo")
        await pilot.press("j", "h")
        await until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.has_begun)
        await pilot.press("enter")
        await until(pilot, lambda: told(app).endswith("· u undo"))
        await until(pilot, lambda: generation(app, "reader") == 2)

        await pilot.press("u", "u")
        await until(pilot, lambda: "rolled reader back to the spec before, as g3" in told(app))


async def test_u_goes_back_change_by_change_also_once_the_undo_before_was_told(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")

    def paused() -> set[str]:
        return {one.name for one in app.feed.state.agents.values() if one.paused}

    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(app.view.state.agents) == 3)
        for name, now in (("reader", {"reader"}), ("counter", {"reader", "counter"})):
            await pilot.press("colon", *f"pause {name}", "enter")
            await until(pilot, lambda now=now: paused() == now)  # type: ignore[misc]
            await until(pilot, lambda: told(app).endswith("· u undo"))

        await pilot.press("u", "u")
        await until(pilot, lambda: told(app).endswith("· u undoes the one before"))
        await until(pilot, lambda: paused() == {"reader"})
        await pilot.press("u", "u")
        await until(pilot, lambda: told(app).endswith("· u takes that back"))
        await until(pilot, lambda: not paused())
        await pilot.press("u", "u")
        await until(pilot, lambda: paused() == {"reader"})


async def test_a_new_change_drops_what_u_could_have_repeated(
    engine: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "dashboard.deck.messages.UNDISTURBED_MS", round(PATIENCE_S * 1000)
    )  # no end of the run takes a message away
    app = QuarterdeckApp(tmp_path / "team.db")

    async with app.run_test(size=(120, 36)) as pilot:

        async def write(line: str) -> None:
            app.messages.current = None  # what was said last may be said of this, too
            await pilot.press("colon", *line, "enter")

        async def comes_to(said: str, *names: str) -> None:
            await until(pilot, lambda: said in told(app))
            await until(pilot, lambda: {one.name for one in app.feed.state.agents.values() if one.paused} == {*names})

        async def u(said: str, *names: str) -> None:
            app.messages.current = None
            await pilot.press("u", "u")
            await comes_to(said, *names)

        await until(pilot, lambda: len(app.view.state.agents) == 3)
        await write("pause reader")
        await comes_to("· u undo", "reader")
        await u("· u takes that back")
        await write("pause counter")
        await comes_to("paused counter", "counter")
        await u("· u takes that back")
        await u("· u takes that back", "counter")  # never reader: that was before the pause of counter

        await write("pause spare")
        await comes_to("paused spare", "counter", "spare")
        await u("· u undoes the one before", "counter")
        await u("· u takes that back")  # what was repeated is a change, and is undone as any other
        await write("run read this")
        await comes_to("submitted")
        await u("nothing to undo")


@pytest.mark.parametrize("ticks", [True, False], ids=["at a tick", "when something was read"])
async def test_a_dialog_opens_on_the_team_as_it_was_at_its_key_although_its_agent_goes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ticks: bool
) -> None:
    async with opened(tmp_path, work=trouble()) as hand:
        idle = next(one for one in hand.work.state.agents.values() if one.status == "idle")

        def goes(budget_s: float = 0.0) -> bool:
            if idle.id in hand.work.state.agents:
                hand.work.order(RemoveMember(target=f"@{idle.id}", mode="abort"))
                return True
            return False

        monkeypatch.setattr(hand.app.feed, "advance", goes)
        hand.app.push_screen(RemoveDialog(idle.id))
        if ticks:
            await hand.app._tick()
        else:
            hand.app.flush()
        await until(hand.pilot, lambda: isinstance(hand.app.screen, RemoveDialog) and hand.app.screen.has_begun)
        await until(hand.pilot, lambda: idle.id not in hand.work.state.agents)
        await until(hand.pilot, lambda: "nothing under way" in hand.told("details"))


@pytest.mark.parametrize("line", ["swap reader --with critic", "rollback reader"])
async def test_a_mode_that_is_none_is_said_and_not_taken_for_another(line: str, tmp_path: Path) -> None:
    work = trouble()
    work.order(SwapAgent(agent="reader", spec=agent("fast", "read")))
    async with opened(tmp_path, work=work) as hand:
        await hand.press("colon", *f"{line} --mode migrat", "enter")
        assert hand.said == "no mode 'migrat'; there are drain, migrate, abort"
        assert not hand.app.screen.is_modal
        await hand.press("colon", *f"{line} --mode migrate", "enter")
        assert hand.dialog.query_one(Radio).chosen == "migrate"


async def test_u_names_what_it_takes_back_and_stops_at_what_it_cannot(
    engine: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    app = QuarterdeckApp(tmp_path / "team.db")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: len(app.view.state.agents) == 3)
        await pilot.press("colon", *"pause reader", "enter")
        await until(pilot, lambda: told(app).endswith("· u undo"))
        await until(pilot, lambda: bool(app.feed.state.undoable))
        await pilot.press("u")
        assert told(app).startswith("takes back: paused reader, ")
        assert told(app).endswith(" · u again does it")
        assert paused_in(app) == {"reader"}

        await pilot.press("colon", *"remove counter", "enter")
        await until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.has_begun)
        await pilot.press("enter")
        await until(pilot, lambda: told(app).startswith("✓ removing counter"))
        await until(pilot, lambda: app.feed.state.irrevocable is not None)
        await pilot.press("u")
        assert told(app).startswith("removing counter (drain) cannot be taken back; before it: paused reader, ")
        assert paused_in(app) == {"reader"}
        await pilot.press("u")
        await until(pilot, lambda: not paused_in(app))


def paused_in(app: QuarterdeckApp) -> set[str]:
    return {one.name for one in app.feed.state.agents.values() if one.paused}
