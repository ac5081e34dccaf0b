"""Keys that arrive together: each takes effect before the next, and none is lost."""

from __future__ import annotations

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from tui import key_order
from tui.key_order import OrderedKeysApp

BURST = ["a", "b", "c", "backspace", "backspace", "d", "left", "X", "end", "e", "home", "Y"]


class Demo(App[None]):
    BINDINGS = [Binding("f2", "field", priority=True), Binding("e", "edit"), Binding("X", "destroy")]
    destroyed = 0

    def compose(self) -> ComposeResult:
        yield TextArea(id="text")
        yield Input(id="field")
        yield Static("list", id="list")

    def on_mount(self) -> None:
        self.query_one("#list").can_focus = True

    def action_field(self) -> None:
        self.query_one("#field").focus()

    def action_edit(self) -> None:
        self.query_one("#text").focus()

    def on_input_submitted(self) -> None:
        self.query_one("#text").focus()

    def action_destroy(self) -> None:
        self.destroyed += 1


class OrderedDemo(OrderedKeysApp[None], Demo):
    pass


def send(app: App[None], *keys: str) -> None:
    """As the driver does: all at once."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def settled(pilot: Pilot[None]) -> None:
    for _ in range(40):
        await pilot.pause()


async def text_after_burst(app: Demo) -> str:
    async with app.run_test() as pilot:
        app.query_one("#text").focus()
        await pilot.pause()
        send(app, *BURST)
        await settled(pilot)
        return app.query_one(TextArea).text


async def test_editing_keys_among_letters() -> None:
    assert await text_after_burst(OrderedDemo()) == "YaXde"


async def test_what_enter_tells_comes_before_the_next_key() -> None:
    app = OrderedDemo()
    async with app.run_test() as pilot:
        app.query_one("#field").focus()
        await pilot.pause()
        send(app, "a", "enter", "b", "c")
        await settled(pilot)
        assert (app.query_one(Input).value, app.query_one(TextArea).text) == ("a", "bc")


async def test_textual_alone_needs_this() -> None:
    """When this fails, Textual keeps the order itself and `tui.key_order` can go."""
    assert await text_after_burst(Demo()) != "YaXde"


async def test_a_key_that_moves_the_focus_comes_before_the_next() -> None:
    app = OrderedDemo()
    async with app.run_test() as pilot:
        app.query_one("#list").focus()
        await pilot.pause()
        send(app, "e", "X", "y")
        app.post_message(events.Paste("pasted"))
        send(app, "f2", "X", "z")
        await settled(pilot)
        assert app.query_one(TextArea).text == "Xypasted"
        assert app.query_one(Input).value == "Xz"
        assert app.destroyed == 0


async def test_a_widget_that_goes_with_the_key_holds_nothing_up() -> None:
    app = OrderedDemo()
    async with app.run_test() as pilot:
        text = app.query_one(TextArea)
        text.focus()
        await pilot.pause()
        send(app, "a")
        text.remove()
        send(app, *["X"] * 5)
        await pilot.pause(key_order.PATIENCE + 0.3)
        await settled(pilot)
        assert app._under_way is None and not app._waiting
        before = app.destroyed
        send(app, "X")
        await settled(pilot)
        assert app.destroyed == before + 1
