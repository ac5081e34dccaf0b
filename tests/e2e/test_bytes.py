"""What the editor sends for each thing a person does, at 120 by 40 in 24-bit colour: hard limits, bytes are exact."""

from __future__ import annotations

import json
import re
import sys
import time
from itertools import pairwise

import pytest

from tests.e2e.place import (
    CTRL_HOME,
    DOWN,
    ESCAPE,
    UP,
    Place,
    ctrl,
    edit_block,
    escape,
    go_to,
    under_cursor,
    until,
)
from tests.tui.pty.harness import PtyApp

PAGE_DOWN = b"\x1b[6~"
DIALOG, SCREEN = 5_000, 17_000
SCREENS = {
    "add": (b"a", "Add a block", DIALOG),
    "reset": (b"R", "Reset to default", DIALOG),
    "story": (b"s", "Story and branch", DIALOG),
    "palette": (ctrl("p"), "Add a block behind", SCREEN),
    "help": (b"?", "escape closes", SCREEN),
    "prompt": (b"p", "[@block=", SCREEN),
    "generate": (b"g", "direction: what", SCREEN),
}
"""What opens a screen, what it shows, and how much it may send."""


FAST = """
import engine.workspace.wires
engine.workspace.wires.WORDS_PER_SECOND = 150.0
from tui.launch import main
main()
"""
"""The program, its rehearsal as quick as a quick model."""


def at_rest(place: Place, diff: bool = True, **terminal: bool) -> PtyApp:
    app = place.open(env={"STONEHAND_DIFF": "1" if diff else "0"}, **terminal)
    app.drain(1.0)
    return app


def median(app: PtyApp, *keys: bytes) -> int:
    """What half of the keys send at most, before what follows a moment later (on a slow machine, in between)."""
    return sorted(app.press(key, quiet=0.1).size for key in keys)[len(keys) // 2]


def most(app: PtyApp, *keys: bytes) -> int:
    """What a key sends at most, the first one too, which also shows that there is something to save."""
    return max(app.press(key, quiet=0.1).size for key in keys)


@pytest.mark.parametrize("sync", [True, False], ids=["synchronized", "not synchronized"])
def test_the_cursor_and_a_block_that_moves(place: Place, sync: bool) -> None:
    with at_rest(place, sync=sync) as app:
        assert 0 < median(app, DOWN, DOWN, UP, DOWN, DOWN) <= 1_000
        go_to(app, "House style")
        app.drain(1.0)
        assert 0 < most(app, b"J", b"K", b"J", b"K", b"J") <= 1_000
        assert 0 < median(app, b" ", b" ", b" ") <= 1_000


def test_a_block_that_moves_among_a_thousand(place: Place) -> None:
    config = place.config
    config["customBlocks"] += [
        {"id": f"cb-n{n:04}", "name": f"Note {n}", "role": "user", "type": "simple", "content": f"The tide, {n}."}
        for n in range(1_000)
    ]
    place.config_file.write_text(json.dumps(config), "utf-8")
    with at_rest(place) as app:
        go_to(app, "House style")
        app.drain(1.0)
        assert 0 < most(app, b"J", b"K", b"J") <= 1_000


def test_the_cursor_with_a_rest_after_each_key(place: Place) -> None:
    """As somebody reads the list: the inspector follows to each block, and nobody stays there."""
    with at_rest(place) as app:
        sizes, shown = [], 0
        for key in [DOWN] * 10 + [UP] * 10:
            before = len(app.output)
            app.write(key)
            end = time.monotonic() + 0.4
            while time.monotonic() < end:
                app.read(0.02)
            sizes.append(len(app.output) - before)
            name = re.split(r"\s{2,}", under_cursor(app.screen()))[1][2:].strip()
            shown += f"─ {name[:20]}" in app.screen()
        assert sum(sizes) / len(sizes) <= 850
        # What a script gives may come when the next key has been pressed: two steps are two steps' worth at most.
        assert max(map(sum, pairwise(sizes))) <= 2_000
        assert shown > 13, "the inspector has followed"
        assert app.drain(0.5, first=3).size <= 2_500, "the rest of the text, once somebody stays"
        app.wait_for("leave it out.")


@pytest.mark.parametrize(
    ("block", "diff", "limit", "after"),
    [
        ("House style", True, 600, 1_000),
        ("Pacing", True, 600, 10_000),
        ("House style", False, 2_500, 40_000),
        ("Pacing", False, 2_500, 40_000),
    ],
)
def test_typing(place: Place, block: str, diff: bool, limit: int, after: int) -> None:
    with at_rest(place, diff) as app:
        edit_block(app, block)
        app.drain(1.0)
        assert 0 < median(app, b"a", b"b", b"c", b" ", b"d") <= limit
        assert app.drain(1.0, first=1).size <= after, "what follows once somebody stops: the list, what a script gives"


def test_typing_in_a_text_near_the_limit(place: Place) -> None:
    config = place.config
    (block,) = (block for block in config["customBlocks"] if block["name"] == "House style")
    block["content"] = "\n\n".join(f"{number} The tide came in and went out. " * 20 for number in range(370))
    assert 240_000 < len(block["content"]) < 256 * 1024
    place.config_file.write_text(json.dumps(config), "utf-8")
    with at_rest(place) as app:
        edit_block(app, "House style")
        app.drain(1.0)
        assert 0 < median(app, b"a", b"b", b"c", b" ", b"d") <= 600
        app.write(ctrl("s"))
        until(lambda: place.custom("House style") == block["content"] + "abc d", "it is saved")


@pytest.mark.parametrize("name", SCREENS)
def test_opening_and_leaving(place: Place, name: str) -> None:
    key, text, limit = SCREENS[name]
    with at_rest(place) as app:
        start = len(app.output)
        app.write(key)
        app.wait_for(text)
        app.drain(0.5)
        assert len(app.output) - start <= limit
        assert app.press(ESCAPE, quiet=0.5).size <= limit


def test_paging_in_the_prompt(place: Place) -> None:
    with at_rest(place) as app:
        app.write(b"p")
        app.wait_for("[@block=")
        app.drain(0.5)
        assert 0 < max(app.press(b" ", quiet=0.3).size for _ in range(3)) <= 9_000


def test_rest_and_hovering_are_free(place: Place) -> None:
    with at_rest(place) as app:
        for key, text in ((b"", "instructions"), (b"a", "Add a block"), (b"p", "[@block="), (b"g", "direction: what")):
            app.write(key)
            app.wait_for(text)
            app.drain(0.6)
            assert app.drain(0.8).size == 0, f"idle before {text}"
            for row in range(40):
                app.write(app.mouse(10 + row, row, 35) + app.mouse(110 - row, row, 35))
            assert app.drain(0.5).size == 0, f"hovering over {text}"
            if key:
                escape(app)
                app.wait_for("J/K move")


def test_streaming(place: Place) -> None:
    with place.open(program=[sys.executable, "-c", FAST]) as app:
        app.write(b"g")
        app.wait_for("direction: what")
        app.drain(0.5)
        start = len(app.output)
        app.write(ctrl("g"))
        app.wait_for("keep it, discard it", 60)
        app.drain(0.3)
        app.write(ctrl("s"))
        kept = re.search(r"kept as (pr-\w+)", app.wait_for("kept as pr-"))
    assert kept is not None
    text = json.loads((place.content / "fragments" / f"{kept[1]}.json").read_bytes())["content"]
    assert len(app.output) - start <= 4 * len(text.encode()) + 1_500, "four times the text, and the frame around it"


def test_scrolling_in_a_text(place: Place) -> None:
    """Line by line past the end of the field, and by pages; every line is another one."""
    config = place.config
    (block,) = (block for block in config["customBlocks"] if block["name"] == "House style")
    words = "lamp quay tide berth "
    block["content"] = "\n".join(f"{number * 7919 % 10_007:x} {words[number % 9 :]}" for number in range(90))
    place.config_file.write_text(json.dumps(config), "utf-8")
    with place.open(rows=16) as app:
        edit_block(app, "House style")
        app.write(CTRL_HOME)
        app.drain(0.4)
        sizes = [app.press(DOWN, quiet=0.06).size for _ in range(14)]
        assert min(sizes) > 0 and max(sizes) <= 1_200
        assert sum(size > 250 for size in sizes) > 2, "it has scrolled"
        assert 0 < max(app.press(PAGE_DOWN, quiet=0.1).size for _ in range(2)) <= 1_500


def test_streaming_in_a_conversation(place: Place) -> None:
    with place.open(program=[sys.executable, "-c", FAST]) as app:
        row = next(number for number, line in enumerate(app.screen().split("\n")) if "Librarian Chat" in line)
        app.write(app.mouse(8, row) + app.mouse(8, row, release=True))
        app.wait_for("Librarian Chat ·")
        app.write(b"c")
        app.wait_for("New conversation")
        app.drain(0.4)
        start = len(app.output)
        app.write(b"Who took the book?\r")
        until(lambda: _answers(place), "the answer is kept")
        app.drain(0.4)
        sent = len(app.output) - start
    (answer,) = _answers(place)
    assert len(answer) > 200
    assert sent <= 4 * len(answer.encode()) + 3_000, "four times the text, and what tells of it"


def _answers(place: Place) -> list[str]:
    """What was answered in the conversations that are kept."""
    files = (place.content / "librarian").glob("chat-*.json")
    messages = [message for file in files for message in json.loads(file.read_bytes())["messages"]]
    return [message["content"] for message in messages if message["role"] == "assistant"]
