"""The palette, settings of the user, the terminal's title and bell, and how to quit."""

import json
from collections.abc import Iterator
from pathlib import Path

import anyio.lowlevel
import pytest
from textual.command import CommandPalette
from textual.widgets import Input

import dashboard.app.app
from dashboard.actions import give_keys
from dashboard.deck.terminal import TerminalSignals, window_title
from dashboard.dialogs.swap import SwapDialog
from dashboard.frame.frame import Frame
from dashboard.pages.agent import AgentScreen
from dashboard.user.key_labels import label_of
from dashboard.user.settings import Settings
from dashboard.user.theme import THEMES
from dashboard.widgets.bar import Bar
from dashboard.widgets.pane import Pane
from engine.core.signals import AgentUnusable, AttemptSucceeded
from engine.core.specs.failure_policies import Escalate
from engine.core.specs.model_spec import ModelSpec
from engine.core.specs.options import SupervisorOptions
from engine.core.specs.spec import AgentSpec
from tests.patience import PATIENCE_S
from tests.pilot.engines import until
from tests.pilot.hand import opened
from tests.pilot.scene import NOW_MS
from tests.story import attempt, submitted
from tests.world import agent, team_world

pytestmark = pytest.mark.anyio


@pytest.fixture
def own_keys() -> Iterator[None]:
    yield
    give_keys({})


async def test_the_palette_finds_what_can_be_done_and_who_there_is_by_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.pilot.press("ctrl+p")
        await until(hand.pilot, lambda: isinstance(hand.app.screen, CommandPalette))
        await hand.pilot.press(*"agent planner")
        line = hand.app.screen.query_one(Input)
        await until(hand.pilot, lambda: line.value == "agent planner")
        await hand.press()  # the search is over
        await hand.pilot.press("enter")
        await until(hand.pilot, lambda: isinstance(hand.app.screen, AgentScreen))


@pytest.mark.parametrize(
    ("key", "sign"),
    [
        ("left_square_bracket", "["), ("question_mark,f1", "?"), ("full_stop", "."), ("plus", "+"), ("h", "h"),
        ("space", "space"), ("escape", "escape"), ("tab", "tab"), ("ctrl+d", "ctrl+d"), ("f2", "f2"), ("", ""),
        ("[ ]", "[ ]"), (", .", ", ."), ("↑↓", "↑↓"),
    ],
)  # fmt: skip
async def test_keys_are_written_as_they_are_on_the_keyboard(key: str, sign: str) -> None:
    assert label_of(key) == sign


async def test_an_action_has_the_key_that_the_user_gave_it(tmp_path: Path, own_keys: None) -> None:
    settings = Settings(keys={"swap": "w"})
    async with opened(tmp_path, settings=settings) as hand:
        await hand.press("j", "w")
        assert [type(screen) for screen in hand.app.screen_stack[-1:]] == [SwapDialog]
        await hand.press("escape", "h")
        assert hand.place == "network"
        assert isinstance(hand.app.screen, Frame)
        shown = hand.app.screen.keys()
        assert ("w", "swap") in shown


async def test_an_action_without_a_key_can_be_given_one_and_one_that_lost_its_own_is_shown_by_its_word(
    tmp_path: Path, own_keys: None
) -> None:
    async with opened(tmp_path, settings=Settings(keys={"abort": "A", "swap": "z", "pause or resume": ""})) as hand:
        assert isinstance(hand.app.screen, Frame)
        shown = hand.app.screen.keys()
        assert ("z", "swap") in shown
        assert "pause" not in [does for _, does in shown]
        await hand.press("j", "z")
        assert hand.dialog.title_line().startswith("Swap")
        await hand.press("escape", "A")
        assert hand.dialog.title_line().startswith("Abort")
        await hand.press("escape", "question_mark")
        assert ":pause or resume" in hand.app.screen.query_one(Pane).text


async def test_a_problem_of_the_settings_is_said_when_the_dashboard_opens(tmp_path: Path) -> None:
    async with opened(tmp_path, settings=Settings(theme="light", problem="theme is one of dark, light")) as hand:
        assert hand.said == "theme is one of dark, light"
        assert hand.app.theme == "quarterdeck-light"


async def test_colours_of_the_settings_are_taken_by_all_that_is_styled(tmp_path: Path) -> None:
    async with opened(tmp_path, settings=Settings(theme="light")) as hand:
        named = {name for name in hand.app.classes if name.endswith("-mode") or "-theme-" in name}
        assert named == {"-light-mode", "-theme-quarterdeck-light"}
        assert hand.app.screen.styles.background.hex.lower() == THEMES["light"].background


async def test_places_do_not_pile_up(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        for keys in (["5"], ["6"], ["enter"], ["5"], ["0", "enter"], ["1"], ["enter"], ["7"]):
            await hand.press(*keys)
        assert [screen.PLACE for screen in hand.app.screen_stack if isinstance(screen, Frame)] == ["network", "runs"]
        await hand.press("1")
        assert [screen.PLACE for screen in hand.app.screen_stack if isinstance(screen, Frame)] == ["network"]


async def test_colours_that_are_chosen_come_with_how_to_keep_them_and_the_help_says_where_settings_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    async with opened(tmp_path) as hand:
        await hand.press("colon", *"theme", "space", *"light", "enter")
        assert hand.said == 'light · to keep it: theme = "light" in ~/.config/quarterdeck/settings.toml'
        await hand.press("question_mark")
        assert "in ~/.config/quarterdeck/settings.toml" in hand.app.screen.query_one(Pane).text
        await hand.press("escape")

        hand.app.access.in_browser = True
        await hand.press("colon", *"theme", "space", *"dark", "enter")
        assert hand.said == "dark"
        await hand.press("question_mark")
        assert "settings.toml" not in hand.app.screen.query_one(Pane).text


@pytest.mark.parametrize("theme", ["dark", "light", "contrast", "colorblind"])
async def test_buttons_and_fields_of_a_dialog_stand_out_in_every_set_of_colours(tmp_path: Path, theme: str) -> None:
    async with opened(tmp_path, settings=Settings(theme=theme)) as hand:
        await hand.press("n")
        ground = hand.dialog.query_one("#dialog").styles.background
        button, field = hand.dialog.query_one("#confirm"), hand.dialog.query_one(Input)
        assert len({ground, button.styles.background}) == 2
        assert len({ground, field.styles.background}) == 2
        button.focus()
        await hand.press()
        assert button.styles.background.hex == hand.app.theme_variables["accent"].upper()


async def test_colours_that_there_are_not_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        await hand.press("colon", *"theme", "space", *"drak", "enter")
        assert hand.said == "there is no theme 'drak'; there are dark, light, contrast, colorblind"
        assert hand.app.theme == "quarterdeck"


async def test_where_little_may_move_all_of_it_does_so_with_the_second_and_nothing_is_bold(tmp_path: Path) -> None:
    async with opened(tmp_path, settings=Settings(motion="reduced")) as hand:
        assert hand.app.animation_level == "none"
        hand.app.flush()  # on a fast machine nothing may have been drawn yet
        looked = hand.app.view
        bright = hand.table.tone("fresh").color

        def done() -> None:
            task_id, attempt = next(iter(hand.work.started))
            hand.work.say(AttemptSucceeded(task_id=task_id, attempt=attempt, output="x", duration_ms=10))

        done()
        hand.clock[0] += 100
        hand.app.flush()
        assert hand.app.view is looked
        hand.clock[0] += 1_000
        hand.app.flush()
        assert hand.app.view is not looked
        styles = [segment.style for y in range(hand.table.size.height) for segment in hand.table.render_line(y)]
        assert all(style is None or style.color != bright for style in styles)


async def test_where_little_may_move_no_cursor_blinks(tmp_path: Path) -> None:
    async with opened(tmp_path, settings=Settings(motion="reduced")) as hand:
        await hand.press("colon")
        line = hand.app.focused

        assert isinstance(line, Input)
        assert not line.cursor_blink


@pytest.mark.parametrize(("motion", "times"), [("full", 1), ("reduced", 0)])
async def test_where_little_may_move_the_time_bar_does_so_with_the_second_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, motion: str, times: int
) -> None:
    async with opened(tmp_path, settings=Settings(motion=motion)) as hand:
        app, drawn = hand.app, list[int]()
        await until(hand.pilot, lambda: bool(app.history.spans))
        app.animation_level = "none" if motion == "reduced" else "full"
        before = app.history.spans
        monkeypatch.setattr(app.history, "_redraw", lambda: drawn.append(1))
        app.feed.file_seq += 1  # something is new
        hand.clock[0] += 10_000
        app.flush()
        await until(hand.pilot, lambda: app.history.spans is not before)

        assert len(drawn) == times


async def test_ctrl_c_says_how_to_quit_and_quits_when_pressed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard.app.app, "INTERRUPT_S", PATIENCE_S)
    async with opened(tmp_path) as hand:
        await hand.press("ctrl+c")
        assert "the team keeps running" in hand.said
        assert hand.app.is_running
        await hand.pilot.press("ctrl+c")
        await until(hand.pilot, lambda: not hand.app.is_running)


async def test_the_title_names_the_team_and_the_bell_rings_when_more_needs_a_person() -> None:
    told: list[str] = []
    terminal = TerminalSignals(told.append, "bell")

    terminal.update("chief", 1)
    assert told == ["\x1b[22;0t\x1b]0;⚑1 chief · quarterdeck\x07"]
    terminal.update("chief", 1)
    assert len(told) == 1
    terminal.update("chief", 2)
    assert told[1:] == ["\x1b]0;⚑2 chief · quarterdeck\x07", "\x07"]
    terminal.update("chief", 0)
    terminal.leave()
    assert told[-2:] == ["\x1b]0;chief · quarterdeck\x07", "\x1b[23;0t"]


async def test_a_team_with_a_hostile_name_puts_nothing_into_the_terminal() -> None:
    told: list[str] = []
    terminal = TerminalSignals(told.append, "desktop")
    terminal.update("a\x07\x1b[2Jb", 0)
    terminal.update("a\x07\x1b[2Jb", 1)

    assert all(text.count("\x07") == 1 for text in told)
    assert not any("\x1b[2J" in text for text in told)


async def test_header_title_notice_tab_and_rows_count_the_same_while_an_agent_falls_silent_and_is_stuck(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    work = team_world(
        AgentSpec(name="critic", agent_type="ReactAgent", model="fast"),
        agent("ada", on_failure=[Escalate()]),
        mode="parallel",
        options=SupervisorOptions(models={"fast": ModelSpec(replies=[{"text": "so"}])}),
    )
    submitted(work)
    work.now_ms = NOW_MS - 1_000
    work.fail(attempt(work, "ada"), "no paper")
    pulse = {f"pulse:{attempt(work, 'critic')[0]}": json.dumps({"chunk_ms": NOW_MS - 1_000})}

    async with opened(tmp_path, work=work) as hand:
        await hand.press("8")
        while hand.app.pace.key_is_first:  # a tick redraws nothing just after a key
            await anyio.lowlevel.checkpoint()
        # Last: a tick of its own would tell the first title before it is looked at.
        hand.app.feed.live = pulse
        hand.app._terminal = TerminalSignals(told.append, "desktop")
        for seconds, needs, silent, cell, notice in (
            (1, 1, 0, "", ""),
            (60, 1, 1, "⋯ 1 silent", "chief: critic: silent 62 s"),
            (600, 2, 0, "! 1 stuck", "chief: 2 need you, critic: silent 11 min"),
        ):
            told.clear()
            hand.clock[0] += seconds * 1_000
            await hand.app._tick()
            title = window_title("chief", needs, silent)
            assert told[0].removeprefix("\x1b[22;0t") == f"\x1b]0;{title} · quarterdeck\x07"
            assert told[1:] == ([f"\x1b]9;{notice}\x07"] if notice else [])
            header = hand.app.screen.query_one("#header", Bar).text
            assert f"⚑ {needs} need" in header
            assert cell in header
            assert f"8 Inbox ⚑{needs}" in hand.app.screen.query_one("#tabs", Bar).text
            assert len(hand.table.rows.keys) == needs


async def test_who_needs_a_person_is_counted_for_the_title(tmp_path: Path) -> None:
    async with opened(tmp_path) as hand:
        needs = len(hand.app.view.counts.needs_person)
        agent = next(one for one in hand.work.state.agents.values() if one.error is None)
        hand.work.say(AgentUnusable(agent_id=agent.id, generation=agent.generation, error="no"))
        hand.clock[0] += 1_000
        hand.app.flush()
        assert len(hand.app.view.counts.needs_person) == needs + 1
