"""Stories, scripts and models can't act on the terminal, whatever text they hold."""

from __future__ import annotations

import json

from tests.e2e.place import DOWN, UP, Place, ctrl, escape
from tests.stories import custom_block, fragment, make_story

EVIL = (
    "\x1b]52;c;RVZJTA==\x07",
    "\x1b]0;EVILTITLE\x07",
    "\x1b[2JEVIL",
    "\x9b2JEVIL",
    "\x9d0;EVILTITLE\x9c",
    "\x0eEVIL\x0f",
    "\x1bcEVIL\x08\x7f",
)
BAD = "".join(EVIL)
FORBIDDEN = (b"\x1b]52;", b"\x1b]0;", b"\x1b[2J", b"\x1bc", b"\xc2\x9b", b"\xc2\x9d", b"\xc2\x9c", b"\x0e", b"\x0f")


def test_no_control_character_reaches_the_terminal(place: Place) -> None:
    prose = [" ".join(f"{word}{evil}" for word in ("The", "lamp", "burned", "on")) for evil in EVIL]
    blocks = [
        custom_block("cb-evil01", f"{BAD} text", name=f"Bad{BAD}"),
        custom_block("cb-evil02", f"console.log({json.dumps(BAD)}); return {json.dumps(BAD)}", type="script"),
        custom_block("cb-evil03", f"throw new Error({json.dumps(BAD)})", type="script", name=f"Err{BAD}"),
    ]
    names = [f"{block['name']}" for block in blocks]
    make_story(
        place.data,
        "evil",
        name=f"Evil{BAD}",
        prose=prose,
        fragments=[
            fragment("ch-evilaa", "character", BAD, name=f"Who{BAD}", description=BAD, sticky=True),
            fragment("kn-evilaa", "knowledge", BAD, name=BAD, tags=[BAD]),
        ],
        configs={"generation.writer": {"customBlocks": blocks}},
    )
    assert any("\x1b" in name for name in names)
    with place.start() as app:
        app.wait_for("Bad")
        app.wait_for("Err")
        for _ in range(18):
            app.press(DOWN, quiet=0.03, first=0.1)
        app.write(UP + b"e")
        app.write(b"\x1bOR")  # f3: the fragments
        app.wait_for("kn-evilaa")
        escape(app)
        app.wait_for("J/K move")
        app.write(b"X")  # tells the name of what was deleted
        app.wait_for("deleted")
        app.write(b"u")
        app.wait_for("Err")
        app.write(b"p")
        app.wait_for(" go ")
        app.write(b"b")
        app.wait_for("Jump to")
        escape(app)
        app.wait_for(lambda screen: "Jump to" not in screen)
        escape(app)
        app.wait_for("J/K move")
        app.write(b"s")
        app.wait_for("Story and branch")
        escape(app)
        app.wait_for(lambda screen: "Story and branch" not in screen)
        app.write(b"g")
        app.wait_for("what should happen next")
        app.write(ctrl("g"))
        app.wait_for("writing")
        app.wait_for(lambda screen: "lamp" in screen)
        app.write(ctrl("x"))
        app.wait_for("keep it, discard it")
        app.write(ctrl("s"))
        app.wait_for("kept")
        escape(app)
        app.wait_for("J/K move")
        app.write(b"q")
        assert app.wait() == 0
        sent = bytes(app.output)
    assert b"EVIL" in sent, "the words are shown"
    assert [sequence for sequence in FORBIDDEN if sequence in sent] == []
    assert "EVIL" not in app.terminal.title
