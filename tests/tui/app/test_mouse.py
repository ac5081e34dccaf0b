"""Everything the mouse can do has a key, everything a key can do the mouse can, and they do the same."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from textual.command import CommandPalette
from textual.events import MouseScrollDown
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen

from tests.engine.runs.test_history import write_log
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.actions import ACTIONS, PALETTE, Place, actions_in, bar_keys
from tui.screens.branch_name import BranchNameDialog
from tui.screens.conversations import ConversationsDialog, TitleDialog
from tui.screens.pin import PinDialog
from tui.screens.runs import RunsScreen
from tui.screens.target import TargetDialog
from tui.widgets.agent_list import AgentList
from tui.widgets.bars import KeyBar


def line_of(ed: Editor, key: str) -> int:
    """The line of the list's content on which a block is drawn."""
    return next(y for y in range(ed.blocks.size.height) if (row := ed.blocks.row_at(y)) and row.key == key)


def place(ed: Editor, key: str, x: int = 8) -> Offset:
    """Where a block is on the screen: `x` cells into its line."""
    region = ed.blocks.content_region
    return Offset(region.x + x, region.y + line_of(ed, key))


async def click(ed: Editor, at: Offset, times: int = 1) -> None:
    await ed.pilot.click(offset=(at.x, at.y), times=times)


async def test_a_click_selects_and_a_double_click_edits(editor: Open) -> None:
    async with editor() as ed:
        await click(ed, place(ed, "cb-stylea"))
        assert ed.blocks.key == "cb-stylea" and ed.focus == "blocks"
        await ed.until(lambda: ed.inspector.row and ed.inspector.row.key == "cb-stylea")
        await click(ed, place(ed, "cb-stylea"), times=2)
        await ed.until(lambda: ed.inspector.typing)


async def test_a_click_on_the_mark_switches(editor: Open) -> None:
    async with editor() as ed:
        await click(ed, place(ed, "story-info", 2))
        await ed.until(lambda: "✗ story-info" in ed.line_of("story-info"))
        assert ed.blocks.key == "story-info"
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["overrides"]["story-info"] == {"enabled": False}


async def test_dragging_moves(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        start, end = place(ed, "story-info"), place(ed, "fragment-catalog")
        await ed.pilot.mouse_down(offset=(start.x, start.y))
        for y in range(start.y, end.y + 1):
            await ed.pilot.hover(offset=(start.x, y))
        assert ed.session.document.undo_label is None, "nothing is edited before the button is let go"
        await ed.pilot.mouse_up(offset=(end.x, end.y))
        await ed.until(lambda: [row.key for row in ed.blocks.rows][7] == "story-info")
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["blockOrder"][7] == "story-info"
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file().read_bytes() == before


async def test_the_wheel_scrolls(editor: Open) -> None:
    async with editor(size=(80, 12)) as ed:
        region = ed.blocks.content_region
        top = ed.blocks.scroll_offset.y
        await ed.pilot._post_mouse_events([MouseScrollDown], offset=(region.x + 5, region.y + 2))
        await ed.until(lambda: ed.blocks.scroll_offset.y > top)
        assert ed.blocks.key == "instructions"


async def test_the_key_bar_can_be_clicked(editor: Open) -> None:
    async with editor() as ed:
        bar = ed.lines()[-1]
        await ed.pilot.click(offset=(bar.index("/ filter") + 3, 39))
        await ed.until(lambda: ed.focus == "filter")
        await ed.press("escape")
        await ed.pilot.click(offset=(bar.index("? help"), 39))
        await ed.until(lambda: ed.shows("Block list") and ed.shows("escape closes"))


async def test_the_key_bar_shows_what_works_where_the_focus_is(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.press("slash")
        await ed.pilot.pause()
        bar = ed.lines()[-1]
        assert "enter keep" in bar and "esc back" in bar and "space on/off" not in bar and "$EDITOR" not in bar
        await ed.type("style")
        await ed.pilot.click(offset=(bar.index("enter keep") + 1, 23))
        assert ed.focus == "blocks" and [row.key for row in ed.blocks.shown] == ["cb-stylea"]
        await ed.press("escape", "1", "j")
        await ed.pilot.pause()
        bar = ed.lines()[-1]
        assert (
            "enter open" in bar and "t tools" in bar and "on/off" not in bar and "mode" not in bar.replace("model", "")
        )
        await ed.pilot.click(offset=(bar.index("enter open") + 1, 23))
        await ed.until(lambda: ed.session.agent == "generation.prewriter")
        await ed.until(lambda: "space on/off" in ed.lines()[-1])


async def test_agents_and_modes_can_be_clicked(editor: Open) -> None:
    async with editor() as ed:
        region = ed.desk.query_one("#agents", AgentList).content_region
        at = next(y for y, line in enumerate(ed.lines()) if "Prewriter" in line)
        await ed.pilot.click(offset=(region.x + 5, at))
        await ed.until(lambda: ed.session.agent == "generation.prewriter" and ed.session.rows)
        at = next(y for y, line in enumerate(ed.lines()) if "Writer" in line)
        await ed.pilot.click(offset=(region.x + 5, at))
        await ed.until(lambda: ed.session.agent == "generation.writer" and ed.shows("[after]"))
        at = next(y for y, line in enumerate(ed.lines()) if "[after]" in line)
        await ed.pilot.click(offset=(ed.lines()[at].index("before"), at))
        await ed.until(lambda: "+pre" in ed.line_of("instructions"))
        await ed.press("ctrl+s")
        await ed.saved()
        assert ed.config()["overrides"]["instructions"]["contentMode"] == "prepend"


# -- every action


PLACES: dict[Place, str] = {
    "list": "", "desk": "", "app": "", "prompt": "p", "passage": "g",
    "compare": "d", "difference": "d", "order": "O", "runs": "L", "chat": "c", "agent-run": "g", "run-diff": "Ld",
    "replay": "Lr",
}  # fmt: skip
"""Where actions can be used, and the keys that go there from the list."""
AGENTS: dict[Place, str] = {"chat": "librarian.chat", "agent-run": "librarian.prose-transform"}
"""The agents whose screens these are."""


async def go(ed: Editor, place: Place) -> Screen[None]:
    if place in AGENTS:
        await ed.desk.open_story("the-quay", None, AGENTS[place])
        await ed.until(lambda: ed.session.agent == AGENTS[place] and ed.session.rows)
    if place in ("run-diff", "replay"):
        write_log(ed.workspace.data / "stories" / "the-quay", "gen-mab1")
    for key in PLACES[place]:
        before = ed.app.screen
        if isinstance(before, RunsScreen):
            await ed.until(lambda before=before: before.run_view.sections, "the run")
        await ed.press(key)
        await ed.until(lambda before=before: ed.app.screen is not before and ed.app.screen.focused)
    if place == "run-diff":
        await ed.until(lambda: ed.app.screen.comparison, "the comparison")
    await ed.pilot.pause()
    screen: Screen[None] = ed.app.screen
    return screen


def record(ed: Editor, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have every action that can be used now do nothing but leave its id."""
    done: list[str] = []
    for action in ACTIONS:
        for owner in (ed.app.screen, ed.app):
            if hasattr(owner, f"action_{action.method}"):
                monkeypatch.setattr(owner, f"action_{action.method}", lambda name=action.id: done.append(name))
                break
    return done


@pytest.mark.parametrize("place", PLACES)
async def test_every_action_by_key_and_by_its_entry_in_the_palette(
    editor: Open, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editor(size=(80, 24)) as ed:
        screen = await go(ed, place)
        if place in ("passage", "chat"):
            await ed.press("tab")  # out of the text, in which some keys edit
        if place == "agent-run":
            await ed.press("f6")  # to the passage, where enter is no answer
        if place not in ("list", "desk", "app", "prompt", "passage"):
            # Whether it can be used now is a claim of the tests of those screens.
            monkeypatch.setattr(screen, "check_action", lambda *_: True)
        done = record(ed, monkeypatch)
        entries = [(entry.title, entry.callback) for entry in ed.app.get_system_commands(screen)]
        for action in actions_in(place):
            if action is PALETTE or not screen.check_action(action.method, ()):
                continue
            for key in action.keys:
                await ed.press(key)
                assert done == [action.id], key
                done.clear()
            for title, callback in entries:
                if title == action.title:
                    await callback()
            assert action.id in done or action.same_as in done
            done.clear()


@pytest.mark.parametrize(
    ("place", "size"),
    [
        *product(("list", "prompt", "passage"), ((40, 12), (80, 24), (200, 60))),
        *product(("compare", "order", "runs", "chat", "agent-run", "run-diff", "replay"), ((80, 24),)),
    ],
)
async def test_what_is_in_the_key_bar_is_done_by_a_click_on_it(
    editor: Open, place: Place, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with editor(size=size) as ed:
        screen = await go(ed, place)
        screen.query_one(KeyBar).say("")
        done = record(ed, monkeypatch)
        both: dict[Place, tuple[Place, ...]] = {
            "compare": ("difference", "compare"),
            "run-diff": ("difference", "run-diff"),
        }
        places = both.get(place, (place,))
        await ed.pilot.pause()
        bar = ed.lines()[-1]
        shown = [action for keys, word, action in bar_keys(ed.app.keys, *places) if f"{keys} {word} " in bar]
        assert shown
        for keys, word, action in bar_keys(ed.app.keys, *places):
            if action in shown and screen.check_action(action.method, ()):
                await ed.pilot.click(offset=(bar.index(f"{keys} {word} ") + 1, size[1] - 1))
                assert done == [action.id]
                done.clear()
        await ed.pilot.click(offset=(size[0] - 2, size[1] - 1))
        assert done == ["command-palette"]


async def test_whatever_else_there_is_can_be_reached_by_clicks(editor: Open) -> None:
    async with editor(size=(40, 12)) as ed:
        await ed.goto("cb-stylea")
        ed.desk.say("a message stands over the keys")
        await ed.pilot.pause()
        await ed.pilot.click(offset=(38, 11))
        await ed.until(lambda: isinstance(ed.app.screen, CommandPalette))
        await ed.type("duplicate")
        await ed.until(lambda: ed.app.screen.query("CommandList.--visible") and ed.shows("Duplicate the block"))
        row = next(y for y, line in enumerate(ed.lines()) if "Duplicate the block" in line)
        await ed.until(lambda: "Duplicate the block" in ed.lines()[row])
        await ed.pilot.click(offset=(6, row))
        await ed.until(lambda: sum(row.name.startswith("House style") for row in ed.blocks.rows) == 2)


async def test_a_click_takes_a_message_away(editor: Open) -> None:
    async with editor() as ed:
        ed.desk.say("a message stands over the keys")
        await ed.pilot.pause()
        await ed.pilot.click(offset=(20, 39))
        await ed.until(lambda: ed.shows("J/K move"))


# -- dialogs


async def opened(ed: Editor, keys: Sequence[str]) -> ModalScreen[object]:
    """The dialog that keys open from the list."""
    for key in keys:
        before = ed.app.screen
        await ed.press(key)
        if len(key) == 1:
            await ed.until(lambda before=before: ed.app.screen is not before)
        await ed.pilot.pause()
    screen = ed.app.screen
    await ed.until(lambda: screen.region.area)
    assert isinstance(screen, ModalScreen)
    return screen


DIALOGS = {
    "add": "a", "properties": "r", "reset": "R", "export": "x", "import": "i", "copy config": "C", "model": "M",
    "tools": "t", "budget": "B", "why": "w", "story": "s", "help": "?", "preview inputs": "pi", "jump": "pb",
}  # fmt: skip


@pytest.mark.parametrize("beside", [True, False])
async def test_every_dialog_is_left_by_a_click_beside_it_or_on_its_frame(editor: Open, beside: bool) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.goto("cb-stylea")
        before = ed.file().read_bytes()
        for name, keys in DIALOGS.items():
            screen = await opened(ed, keys)
            for _ in range(3):  # the first one may only leave the text in it
                region = screen.query_one(".dialog").region
                at = (79, 23) if beside else (region.right - 3, region.bottom - 1)
                await ed.pilot.click(offset=at)
                if ed.app.screen is not screen:
                    break
            assert ed.app.screen is not screen, name
            while ed.app.screen is not ed.desk:
                await ed.press("escape")
                await ed.pilot.pause()
        assert ed.file().read_bytes() == before and ed.session.document.undo_label is None


async def test_an_order_a_branch_and_a_title_are_given_by_clicks(editor: Open) -> None:
    async with editor(size=(80, 24)) as ed:
        await ed.goto("story-info")
        await opened(ed, "r")
        assert isinstance(ed.app.screen, PinDialog)
        await ed.type("405")
        await ed.pilot.click("#done")
        await ed.until(lambda: "#usr" in ed.line_of("story-info"))
        await opened(ed, "sn")
        assert isinstance(ed.app.screen, BranchNameDialog)
        await ed.type("Squall")
        row = next(y for y, line in enumerate(ed.lines()) if "up to a section" in line)
        await ed.pilot.click(offset=(ed.lines()[row].index("up to a section"), row))
        await ed.pilot.click("#done")
        await ed.until(lambda: isinstance(ed.app.screen, TargetDialog), "the last section it keeps")
        while ed.app.screen is not ed.desk:
            await ed.press("escape")
            await ed.pilot.pause()
        await go(ed, "chat")
        await ed.type("Who?")
        await ed.press("enter")
        await ed.until(lambda: ed.app.screen._known is not None and ed.app.screen._turn is None, "the answer")
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog))
        await ed.pilot.pause()
        await ed.pilot.click("#rename")
        await ed.until(lambda: isinstance(ed.app.screen, TitleDialog))
        await ed.pilot.pause()
        await ed.type("!")
        await ed.pilot.click("#done")
        await ed.until(lambda: ed.shows("Who?!"), "its new title")
        chat = ed.app.screen
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog))
        await ed.pilot.pause()
        await ed.pilot.click("#new")
        await ed.until(lambda: ed.app.screen is chat and not ed.shows("Who?!"), "a new conversation")
        assert chat.query_one("#chat").content_region.area and not chat._turn
