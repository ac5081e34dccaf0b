from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tui.widgets.stream_view import StreamView
from tui.widgets.text_view import draw_row


class StreamApp(App[None]):
    def __init__(self, follow: bool = True) -> None:
        super().__init__()
        self.view = StreamView(follow=follow)

    def compose(self) -> ComposeResult:
        yield self.view


@asynccontextmanager
async def streaming(width: int = 40, height: int = 12) -> AsyncIterator[tuple[StreamView, StreamApp, Pilot[None]]]:
    app = StreamApp()
    async with app.run_test(size=(width, height)) as pilot:
        app.view.focus()
        await pilot.pause()
        yield app.view, app, pilot


def screen_rows(app: App[None]) -> list[str]:
    return [strip.text.rstrip(" ▁▂▃▄▅▆▇█") for strip in app.screen._compositor.render_strips()]


def drawn(view: StreamView) -> list[str]:
    ends = [*view._starts[1:], len(view.text)]
    return [draw_row(view.text[a:b]) for a, b in zip(view._starts, ends, strict=True)]


STORY = "Once upon a time there was a 猫 that wrote, word by word, a story.\n\n" * 12


async def test_pieces_wrap_as_the_whole() -> None:
    async with streaming() as (view, app, pilot):
        for start in range(0, len(STORY), 7):
            view.append(STORY[start : start + 7])
        assert view.text == STORY
        whole = StreamView(STORY)
        await app.mount(whole)
        whole._width = view._width
        whole._wrap_from(0)
        assert whole._starts == view._starts
        assert "".join(drawn(view)).replace(" ", "") == STORY.replace("\n", "").replace(" ", "")
        await pilot.pause()


async def test_only_the_end_is_repainted() -> None:
    async with streaming() as (view, _app, pilot):
        view.append("first row\nsecond row\nthird")
        await pilot.pause()
        painted: list[int] = []
        render_line = StreamView.render_line

        def spy(self: StreamView, y: int) -> object:
            painted.append(y)
            return render_line(self, y)

        StreamView.render_line = spy  # type: ignore[method-assign,assignment]
        try:
            view.append(" row")
            await pilot.pause()
            assert painted == [2]
            painted.clear()
            view.append("\nfourth")
            await pilot.pause()
            assert painted == [2, 3]
        finally:
            StreamView.render_line = render_line  # type: ignore[method-assign]


async def test_the_end_stays_in_sight() -> None:
    async with streaming() as (view, app, pilot):
        scrolls = set()
        for number in range(60):
            view.append(f"line {number}\n")
            await pilot.pause()
            assert f"line {number}" in screen_rows(app)
            scrolls.add(view.scroll_offset.y)
        # By half pages, not by rows.
        assert len(scrolls) <= 1 + 60 // (view.size.height // 2 - 1)


async def test_following_stops_when_the_user_scrolls_and_starts_again_at_the_end() -> None:
    async with streaming() as (view, app, pilot):
        view.append("".join(f"line {number}\n" for number in range(40)))
        await pilot.pause()
        await pilot.press("pageup", "pageup")
        await pilot.pause()
        states = [view.following]
        before = screen_rows(app)
        view.append("more\n" * 30)
        await pilot.pause()
        assert screen_rows(app) == before
        await pilot.press("end")
        await pilot.pause()
        states.append(view.following)
        view.append("the end")
        await pilot.pause()
        assert "the end" in screen_rows(app)
        await pilot.press("home")
        await pilot.pause()
        assert screen_rows(app)[0] == "line 0"
        states.append(view.following)
        for _ in range(20):
            await pilot.press("pagedown")
        await pilot.pause()
        states.append(view.following)
        assert states == [False, True, False, True]


async def test_a_new_width_keeps_the_text() -> None:
    async with streaming(60) as (view, app, pilot):
        view.append(STORY)
        await pilot.pause()
        await pilot.resize_terminal(25, 12)
        await pilot.pause()
        assert max(map(len, screen_rows(app))) <= 25
        assert view.following
        assert any(row.strip() for row in screen_rows(app))
        await pilot.press("home")
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert screen_rows(app)[0].startswith("Once upon a time")
        assert view.text == STORY


async def test_clear_starts_anew() -> None:
    async with streaming() as (view, app, pilot):
        view.append(STORY)
        await pilot.press("home")
        view.clear()
        await pilot.pause()
        assert view.text == ""
        assert view.following
        assert not any(screen_rows(app))
        view.append("again")
        await pilot.pause()
        assert screen_rows(app)[0] == "again"


async def test_a_view_that_does_not_follow_stays_at_the_top() -> None:
    app = StreamApp(follow=False)
    async with app.run_test(size=(40, 12)) as pilot:
        app.view.focus()
        app.view.append("".join(f"line {number}\n" for number in range(11)))
        await pilot.pause()
        assert app.view.max_scroll_y == 0
        app.view.append("".join(f"more {number}\n" for number in range(20)))
        await pilot.pause()
        assert screen_rows(app)[0] == "line 0"
        await pilot.press("end")
        app.view.append("the end")
        await pilot.pause()
        assert "more 19" in screen_rows(app)
        assert not app.view.following
        app.view.show(STORY)
        await pilot.pause()
        assert screen_rows(app)[0].startswith("Once upon")
        await pilot.press("down", "down")
        app.view.show(STORY)
        await pilot.pause()
        assert app.view.scroll_offset.y == 2


async def test_foreign_text_is_inert() -> None:
    async with streaming() as (view, app, pilot):
        view.append("[/] [$1] \x1b]52;c;\x07 \x9b31m")
        await pilot.pause()
        assert screen_rows(app)[0] == "[/] [$1] ␛]52;c;␇ �31m"


async def test_text_that_came_before_the_widget_was_shown() -> None:
    app = StreamApp()
    app.view.append(STORY)
    app.view.append("tail")
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert "tail" in screen_rows(app)


async def test_any_size() -> None:
    async with streaming() as (view, _app, pilot):
        for size in [(200, 60), (20, 5), (1, 1), (2, 3), (80, 24)]:
            await pilot.resize_terminal(*size)
            view.append(STORY[:90])
            await pilot.pause()
            for y in range(view.size.height):
                assert view.render_line(y).cell_length == view.size.width
