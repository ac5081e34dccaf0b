"""The drawn list: cursor and moves by key, the filter, the mouse, and how little it paints."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from textual import events
from textual.app import ComposeResult
from textual.geometry import Region

from engine.blocks.rows import Row
from tests.tui.widgets.rows import make_row, make_rows
from tui.themes import ThemedApp
from tui.widgets.block_list import BlockList


class Demo(ThemedApp[None]):
    """A list, and the messages it posted."""

    def __init__(self, rows: Sequence[Row]) -> None:
        super().__init__()
        self.posted: list[Any] = []
        self.list = BlockList(rows)

    def compose(self) -> ComposeResult:
        yield self.list

    def on_block_list_highlighted(self, message: BlockList.Highlighted) -> None:
        self.posted.append(("highlighted", message.row.key if message.row else None))

    def on_block_list_selected(self, message: BlockList.Selected) -> None:
        self.posted.append(("selected", message.row.key))

    def on_block_list_move_requested(self, message: BlockList.MoveRequested) -> None:
        self.posted.append(("move", message.key, message.index))

    def on_block_list_toggle_requested(self, message: BlockList.ToggleRequested) -> None:
        self.posted.append(("toggle", message.key))

    def shown(self) -> list[str]:
        """The lines of the list as painted, with single spaces."""
        lines = (self.list.render_line(y).text for y in range(self.list.size.height))
        return [" ".join(line.split()) for line in lines]

    def names(self) -> list[str]:
        """Names of the rows in view, headers in capitals."""
        words = (line.replace("›", "").replace("≡", "").replace("✓", "").split() for line in self.shown())
        return [found[0] for found in words if found]


class Painted:
    """The lines of a list that were asked to be painted."""

    def __init__(self, block_list: BlockList, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lines: set[int] = set()
        self.whole = False
        original = block_list.refresh

        def refresh(*regions: Region, **options: Any) -> BlockList:
            if not regions:
                self.whole = True
            for region in regions:
                self.lines.update(region.line_range)
            return original(*regions, **options)

        monkeypatch.setattr(block_list, "refresh", refresh)


def move(rows: Sequence[Row], key: str, index: int) -> list[Row]:
    """The rows with one moved inside its role, as the document would."""
    row = next(row for row in rows if row.key == key)
    members = [other for other in rows if other.role == row.role and other.key != key]
    members.insert(index, row)
    system = members if row.role == "system" else [other for other in rows if other.role == "system"]
    user = members if row.role == "user" else [other for other in rows if other.role == "user"]
    return [*system, *user]


async def test_sections_and_first_cursor() -> None:
    app = Demo(make_rows(2, 2))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        assert app.names() == ["SYSTEM", "s0", "s1", "USER", "u0", "u1"]
        assert app.list.key == "s0"
        assert app.posted == [("highlighted", "s0")]
        assert app.shown()[0] == "SYSTEM 21"
        assert app.list.row_at(0) is None
        assert app.list.row_at(1) == app.list.current
        assert app.list.row_at(6) is None and app.list.row_at(-1) is None


async def test_keys() -> None:
    app = Demo(make_rows(3, 30))
    async with app.run_test(size=(60, 12)) as pilot:
        app.list.focus()
        await pilot.press("down", "down", "down")
        assert app.list.key == "u0", "the header is skipped"
        await pilot.press("up")
        assert app.list.key == "s2"
        await pilot.press("end")
        assert app.list.key == "u29"
        await pilot.press("down")
        assert app.list.key == "u29"
        await pilot.press("home", "up")
        assert app.list.key == "s0" and app.list.scroll_offset.y == 0
        await pilot.press("pagedown")
        assert app.list.key == "u7"
        await pilot.press("pageup")
        assert app.list.key == "s0"
        await pilot.press("enter")
        assert app.posted[-1] == ("selected", "s0")


async def test_highlighted_follows_the_cursor() -> None:
    app = Demo(make_rows(1, 2))
    async with app.run_test() as pilot:
        app.list.focus()
        await pilot.press("down", "down", "down")
        assert app.posted == [("highlighted", key) for key in ("s0", "u0", "u1")]


@pytest.mark.parametrize("height", [1, 2, 3, 7, 12])
async def test_the_cursor_is_always_in_view(height: int) -> None:
    rng = random.Random(height)
    app = Demo(make_rows(5, 40))
    async with app.run_test(size=(60, height)) as pilot:
        app.list.focus()
        for _ in range(60):
            await pilot.press(rng.choice(["up", "down", "down", "pageup", "pagedown", "end", "home"]))
            in_view = [app.list.row_at(y) for y in range(height)]
            assert app.list.current in in_view


async def test_scrolling_goes_by_half_pages() -> None:
    app = Demo(make_rows(0, 200))
    async with app.run_test(size=(60, 20)) as pilot:
        app.list.focus()
        scrolled = 0
        for key in ["down"] * 100 + ["up"] * 60:
            before = app.list.scroll_offset.y
            await pilot.press(key)
            scrolled += app.list.scroll_offset.y != before
        assert scrolled <= 100 / 10 + 60 / 10


async def test_the_cursor_stays_with_its_block() -> None:
    app = Demo(make_rows(2, 3))
    async with app.run_test() as pilot:
        app.list.key = "u1"
        app.list.set_rows(move(app.list.rows, "u1", 0))
        assert app.list.key == "u1"
        assert app.names() == ["SYSTEM", "s0", "s1", "USER", "u1", "u0", "u2"]
        app.list.set_rows([make_row("new", "system"), *app.list.rows])
        assert app.list.key == "u1"
        await pilot.pause()


@pytest.mark.parametrize(("key", "successor"), [("s0", "s1"), ("s1", "u0"), ("u1", "u2"), ("u2", "u1")])
async def test_the_cursor_after_a_deletion(key: str, successor: str) -> None:
    app = Demo(make_rows(2, 3))
    async with app.run_test() as pilot:
        app.list.key = key
        app.list.set_rows([row for row in app.list.rows if row.key != key])
        await pilot.pause()
        assert app.list.key == successor
        assert app.posted[-1] == ("highlighted", successor)


async def test_an_empty_list() -> None:
    app = Demo([])
    async with app.run_test() as pilot:
        app.list.focus()
        await pilot.press("down", "up", "home", "end", "enter", "pagedown")
        assert app.shown()[0] == "no blocks"
        assert app.list.current is None and app.list.move_target(1) is None
        app.list.set_rows(make_rows(1, 0))
        assert app.list.key == "s0"
        app.list.set_rows([])
        await pilot.pause()
        assert app.list.key is None
        assert app.posted == [("highlighted", "s0"), ("highlighted", None)]


async def test_an_unknown_key_leaves_the_cursor() -> None:
    app = Demo(make_rows(1, 1))
    async with app.run_test():
        app.list.key = "nothing"
        assert app.list.key == "s0"


async def test_move_targets() -> None:
    app = Demo(make_rows(2, 3))
    async with app.run_test():
        app.list.key = "u1"
        assert app.list.move_target(-1) == ("u1", 0)
        assert app.list.move_target(1) == ("u1", 2)
        assert app.list.move_target(99) == ("u1", 2)
        app.list.key = "u0"
        assert app.list.move_target(-1) is None, "a block does not leave its role"
        app.list.carry = "s0"
        assert app.list.move_target(1) == ("s0", 1), "the carried block goes before the cursor's"


async def test_moves_among_filtered_rows_pass_the_hidden_ones() -> None:
    rows = [make_row(key) for key in ("a1", "b1", "b2", "a2", "a3")]
    app = Demo(rows)
    async with app.run_test():
        app.list.filter = "A"
        app.list.key = "a1"
        target = app.list.move_target(1)
        assert target == ("a1", 3)
        app.list.set_rows(move(rows, *target))
        assert [row.key for row in app.list.rows] == ["b1", "b2", "a2", "a1", "a3"]
        assert app.list.key == "a1"


async def test_filter() -> None:
    rows = [
        make_row("alpha", "system"),
        make_row("cb-123", name="Style Guide"),
        make_row("beta", note="only while refining", state="absent", tokens=None),
    ]
    app = Demo(rows)
    async with app.run_test() as pilot:
        app.list.filter = "STYLE"
        assert app.names() == ["SYSTEM", "USER", "Style"], "sections stay"
        assert app.list.key == "cb-123"
        app.list.filter = "cb-"
        assert app.names()[-1] == "Style"
        app.list.filter = "refining"
        assert app.list.key == "beta"
        app.list.filter = "zzz"
        assert app.names()[:2] == ["SYSTEM", "USER"] and "nothing matches “zzz”" in app.shown()
        assert app.list.current is None
        app.list.filter = ""
        await pilot.pause()
        assert len(app.names()) == 5
        assert app.list.current is not None


async def test_carry_is_shown() -> None:
    app = Demo(make_rows(1, 2))
    async with app.run_test():
        app.list.key = app.list.carry = "u0"
        assert app.shown()[3].startswith("≡")
        app.list.carry = None
        assert app.shown()[3].startswith("›")


# --- painting


async def test_a_step_paints_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Demo(make_rows(10, 1000))
    async with app.run_test(size=(80, 30)) as pilot:
        app.list.focus()
        await pilot.pause()
        painted = Painted(app.list, monkeypatch)
        await pilot.press("down")
        assert painted.lines == {1, 2} and not painted.whole


async def test_a_move_paints_the_lines_between(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Demo(make_rows(10, 1000))
    async with app.run_test(size=(80, 30)) as pilot:
        app.list.key = "s3"
        await pilot.pause()
        painted = Painted(app.list, monkeypatch)
        app.list.set_rows(move(app.list.rows, "s3", 5))
        assert painted.lines == {4, 5, 6} and not painted.whole


async def test_one_changed_row_paints_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Demo(make_rows(10, 1000))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        painted = Painted(app.list, monkeypatch)
        app.list.set_rows([replace(row, enabled=row.key != "s4", state="disabled" if row.key == "s4" else row.state)
                           for row in app.list.rows])  # fmt: skip
        assert painted.lines == {5} and not painted.whole
        painted.lines.clear()
        app.list.set_rows([replace(row, default="other", source="other") for row in app.list.rows])
        assert painted.lines == set(), "what is not shown paints nothing"


async def test_the_text_of_a_block_paints_its_line_where_there_is_room_for_its_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for width, lines in ((80, {6}), (48, set())):
        app = Demo(make_rows(10, 10))
        async with app.run_test(size=(width, 30)) as pilot:
            await pilot.pause()
            painted = Painted(app.list, monkeypatch)
            app.list.set_rows([replace(row, content="new" if row.key == "s5" else row.content)
                               for row in app.list.rows])  # fmt: skip
            assert painted.lines == lines and any("new" in line for line in app.shown()) == bool(lines)


async def test_a_change_out_of_view_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Demo(make_rows(10, 1000))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        painted = Painted(app.list, monkeypatch)
        app.list.set_rows(move(app.list.rows, "u900", 950))
        assert painted.lines == set() and not painted.whole


async def test_only_lines_in_view_are_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered = 0
    original = BlockList.render_line

    def counted(self: BlockList, y: int) -> Any:
        nonlocal rendered
        rendered += 1
        return original(self, y)

    monkeypatch.setattr(BlockList, "render_line", counted)
    app = Demo(make_rows(5000, 5000))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        assert rendered <= 4 * 30


async def test_hovering_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Demo(make_rows(3, 20))
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        painted = Painted(app.list, monkeypatch)
        for y in range(10):
            await pilot.hover(BlockList, offset=(20, y))
        assert painted.lines == set() and not painted.whole


async def test_the_theme_changes_the_colours() -> None:
    app = Demo([make_row("s", "system"), make_row("u", type="script", warning=True)])
    async with app.run_test(size=(80, 10)) as pilot:
        seen = set()
        for theme in ("textual-dark", "textual-light", "ansi-dark"):
            app.theme = theme
            await pilot.pause()
            strip = app.list.render_line(3)
            assert strip.cell_length == app.list.size.width
            seen.add(tuple(segment.style for segment in strip))
            assert len({segment.style for segment in strip}) >= 4, "badges have their own colours"
        assert len(seen) == 3


@pytest.mark.parametrize("size", [(1, 1), (2, 5), (20, 3), (40, 10), (200, 60)])
async def test_any_size(size: tuple[int, int]) -> None:
    app = Demo(make_rows(3, 30))
    async with app.run_test(size=(80, 24)) as pilot:
        app.list.focus()
        await pilot.resize_terminal(*size)
        await pilot.press("end", "home", "down")
        width = app.list.size.width
        assert all(app.list.render_line(y).cell_length == width for y in range(app.list.size.height))


# --- mouse


async def drag(app: Demo, pilot: Any, start: int | None, *lines: int, release: bool = True) -> None:
    """Press on line `start` (None: go on with a drag), move over `lines` and let go on the last one."""

    def event(kind: type[events.MouseEvent], y: int) -> events.MouseEvent:
        return kind(None, 20, y, 0, 0, 1, False, False, False, 20, y)

    if start is not None:
        app.post_message(event(events.MouseDown, start))
    for y in lines:
        app.post_message(event(events.MouseMove, y))
        await pilot.pause()
    if release:
        app.post_message(event(events.MouseUp, lines[-1]))
    await pilot.pause()


async def test_click_moves_the_cursor() -> None:
    app = Demo(make_rows(3, 3))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.click(BlockList, offset=(10, 5))
        assert app.list.key == "u0" and app.list.has_focus
        await pilot.click(BlockList, offset=(10, 0))
        await pilot.click(BlockList, offset=(10, 11))
        assert app.list.key == "u0", "headers and the space below are no rows"
        assert not [message for message in app.posted if message[0] != "highlighted"]


async def test_click_on_the_mark_toggles() -> None:
    app = Demo(make_rows(3, 3))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.click(BlockList, offset=(2, 5))
        assert app.posted[-1] == ("toggle", "u0")
        assert app.list.key == "u0"


async def test_double_click_selects() -> None:
    app = Demo(make_rows(3, 3))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.click(BlockList, offset=(10, 5), times=2)
        assert app.posted[-1] == ("selected", "u0")


async def test_dragging_shows_the_new_order_and_asks_for_it() -> None:
    app = Demo(make_rows(3, 4))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(app, pilot, 5, 6, 7, release=False)
        assert app.names() == ["SYSTEM", "s0", "s1", "s2", "USER", "u1", "u2", "u0", "u3"]
        assert app.shown()[7].startswith("≡")
        assert [row.key for row in app.list.rows][3:] == ["u0", "u1", "u2", "u3"], "nothing is changed yet"


async def test_a_drag_ends_where_it_was_let_go() -> None:
    app = Demo(make_rows(3, 4))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(app, pilot, 8, 7, 6, 5)
        assert app.posted[-1] == ("move", "u3", 0)
        assert app.names()[5:] == ["u0", "u1", "u2", "u3"], "the list waits for its owner"
        app.list.set_rows(move(app.list.rows, "u3", 0))
        assert app.names()[5:] == ["u3", "u0", "u1", "u2"] and app.list.key == "u3"


async def test_a_drag_stays_in_its_role() -> None:
    app = Demo(make_rows(3, 4))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(app, pilot, 6, 2, 0)
        assert app.posted[-1] == ("move", "u1", 0)
        await drag(app, pilot, 1, 4, 11)
        assert app.posted[-1] == ("move", "s0", 2)


async def test_a_drag_back_asks_for_nothing() -> None:
    app = Demo(make_rows(3, 4))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(app, pilot, 6, 7, 6)
        assert not [message for message in app.posted if message[0] == "move"]
        assert app.mouse_captured is None


async def test_a_drag_among_filtered_rows() -> None:
    app = Demo([make_row(key) for key in ("a1", "b1", "a2", "b2", "a3")])
    async with app.run_test(size=(60, 12)) as pilot:
        app.list.filter = "a"
        await pilot.pause()
        await drag(app, pilot, 1, 3)
        assert app.posted[-1] == ("move", "a1", 4)


async def test_dragging_to_the_edge_scrolls() -> None:
    app = Demo(make_rows(0, 100))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(app, pilot, 5, 9, 11, release=False)
        for _ in range(60):
            await pilot.pause(0.1)
            if app.list.scroll_offset.y >= 20:
                break
        assert app.list.scroll_offset.y >= 20
        await drag(app, pilot, None, 6)
        key, index = app.posted[-1][1:]
        assert key == "u4" and index > 20


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    app = Demo(make_rows(0, 100))
    async with app.run_test(size=(60, 12)) as pilot:
        app.post_message(events.MouseScrollDown(None, 20, 5, 0, 0, 0, False, False, False, 20, 5))
        await pilot.pause()
        assert app.list.scroll_offset.y > 0 and app.list.key == "u0"


async def test_new_rows_end_a_drag() -> None:
    app = Demo(make_rows(0, 5))
    async with app.run_test(size=(60, 12)) as pilot:
        await drag(app, pilot, 1, 3, release=False)
        app.list.set_rows(app.list.rows[:2])
        await pilot.pause()
        assert app.names() == ["USER", "u0", "u1"] and app.mouse_captured is None
