"""A block's text in the user's own editor: exact both ways, and nothing is painted over it meanwhile."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.e2e.place import Place, ctrl, go_to, until

EDITOR = """
import json, pathlib, sys
path = pathlib.Path(sys.argv[-1])
data = path.read_bytes()
pathlib.Path(__file__).with_name("seen").write_bytes(data)
print("IN THE EDITOR", flush=True)
input()
path.write_bytes(data + b"\\r\\n\\xe6\\xbc\\xa2\\xe5\\xad\\x97\\tend\\n")
"""


def test_there_and_back(place: Place, tmp_path: Path) -> None:
    editor = tmp_path / "fake editor.py"
    editor.write_text(EDITOR)
    before = place.custom("House style")
    with place.open(env={"EDITOR": f"'{sys.executable}' '{editor}'", "VISUAL": ""}) as app:
        go_to(app, "House style")
        start = len(app.output)
        app.write(ctrl("e"))
        until(lambda: b"IN THE EDITOR" in app.read(0.1) or b"IN THE EDITOR" in app.output[start:], "the editor")
        app.drain(0.3)
        assert b"\x1b[<u" in app.output[start:] and b"\x1b[?1049l" in app.output[start:]
        mark = len(app.output)
        # The program goes on behind it: it sees that the story has changed, and must not show it now.
        (fragment,) = place.content.glob("fragments/gl-dasito.json")
        document = json.loads(fragment.read_bytes())
        fragment.write_text(json.dumps({**document, "content": "A far longer guideline. " * 40}), "utf-8")
        app.drain(1.5, first=1.5)
        assert bytes(app.output[mark:]) == b""
        app.write(b"\n")
        app.wait_for("House style ")
        app.wait_for("J/K move")
        until(lambda: app.read(0.05) is not None and place.custom("House style") != before, "the text is in the file")
        app.write(b"q")
        assert app.wait() == 0
    assert (tmp_path / "seen").read_text("utf-8") == before
    assert place.custom("House style") == before + "\r\n漢字\tend"
