"""A number that pins the order of a built-in block: given, seen, taken away."""

from __future__ import annotations

from tests.tui.app.test_editing import DEFAULT_ORDER, keys_of, save
from tests.tui.conftest import Open
from tui.screens.pin import PinDialog
from tui.why_text import place_reason


async def test_a_number_pins_and_nothing_unpins(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        assert "usr" in ed.line_of("story-info") and "#usr" not in ed.line_of("story-info")
        await ed.press("r")
        assert isinstance(ed.app.screen, PinDialog)
        assert ed.shows("A built-in block of the user message") and ed.shows("in user: its own order 100;")
        await ed.type("up")
        await ed.press("enter")
        assert ed.shows("must be a number")
        await ed.press("backspace", "backspace")
        await ed.type("405")
        await ed.press("enter")
        assert "#usr" in ed.line_of("story-info") and ed.blocks.key == "story-info"
        assert keys_of(ed).index("story-info") == keys_of(ed).index("summary") + 1
        await save(ed)
        assert ed.config()["overrides"]["story-info"] == {"order": 405}
        await ed.press("r")
        assert ed.field("#order") == "405" and ed.shows("order 405")
        await ed.press("backspace", "backspace", "backspace", "enter")
        assert keys_of(ed) == DEFAULT_ORDER and "#usr" not in ed.line_of("story-info")
        await ed.press("u", "u")
        await save(ed)
        assert ed.file().read_bytes() == before


async def test_the_place_is_told_as_everywhere_else(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("K", "J", "r")
        (said,) = place_reason(ed.session.why_block("story-info")).split(";")[:1]
        rows = [row for row in ed.session.rows if row.role == "user"]
        place = [row.key for row in rows].index("story-info") + 1
        assert said.startswith(f"Place {place} of {len(rows)} in user")
        await ed.until(lambda: ed.shows(said.split(" (")[0]), said)


async def test_what_is_absent_is_pinned_before_it_appears(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("new-story")
        await ed.press("r")
        assert ed.shows("It is not there now: only until something is written.")
        await ed.press("escape")
        assert ed.session.document.undo_label is None


async def test_a_move_at_the_edge_says_why_not(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("cb-stylea")
        await ed.press("J")
        assert "r changes the role" in ed.said and keys_of(ed) == DEFAULT_ORDER
        await ed.press("j", "K")
        assert "that of a built-in block is fixed" in ed.said
