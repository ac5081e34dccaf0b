"""The first start, and folders that can't be written."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from engine.library import sample_library
from tests.e2e.place import Place, edit_block, escape

SETPRIV = shutil.which("setpriv")
# Root may write everywhere unless it gives that right up.
UNPRIVILEGED = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
needs_rights_to_lose = pytest.mark.skipif(bool(UNPRIVILEGED) and SETPRIV is None, reason="root, without setpriv")


def test_the_sample_is_put_into_the_users_folder_once(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with place.open(data=False, cwd=place.home) as app:
        app.write(b" ")
        app.wait_for("✗ instructions")
        app.write(b"q")
        assert app.wait() == 0
    place.data = place.home / "share" / "stonehand"
    packaged = sample_library()
    original = {str(file.relative_to(packaged)) for file in packaged.rglob("*") if file.is_file()}
    assert {name.removeprefix("stories/") for name in place.files()} == original
    assert place.config["overrides"]["instructions"]["enabled"] is False
    with place.open(data=False, cwd=place.home) as app:
        assert "✗ instructions" in app.screen()


def test_a_state_folder_that_cannot_be_written(place: Place) -> None:
    (place.home / "file").write_text("")
    before = place.custom("House style")
    with place.open(env={"STONEHAND_STATE": str(place.home / "file" / "state")}) as app:
        edit_block(app, "House style")
        app.write(b" quoin")
        app.wait_for("quoin")
        app.wait_for("unsaved edits can't be journalled")
        app.write(b"\x11")
        assert app.wait() == 0
    assert place.custom("House style") == before + " quoin"


@needs_rights_to_lose
def test_a_data_folder_that_cannot_be_written(place: Place) -> None:
    before = place.config
    folder = place.config_file.parent
    folder.chmod(0o555)
    try:
        with place.open(prefix=UNPRIVILEGED) as app:
            app.write(b" ")
            app.wait_for("✗ instructions")
            app.wait_for("denied")
            assert "unsaved" in app.screen()
            app.write(b"q")
            app.wait_for("your edits come back next time")
            app.write(b"l")
            assert app.wait() == 0
            assert b"Traceback" not in app.output
    finally:
        folder.chmod(0o755)
    assert place.config == before
    with place.open() as app:
        app.wait_for("✗ instructions")
        app.write(b"q")
        assert app.wait() == 0
    assert place.config["overrides"]["instructions"]["enabled"] is False


@needs_rights_to_lose
def test_nothing_can_be_written(place: Place) -> None:
    (place.home / "file").write_text("")
    folder = place.config_file.parent
    folder.chmod(0o555)
    try:
        with place.open(prefix=UNPRIVILEGED, env={"STONEHAND_STATE": str(place.home / "file" / "state")}) as app:
            app.write(b" ")
            app.wait_for("denied")
            app.write(b"q")
            app.wait_for("leave and lose the edits")
            escape(app)
            app.wait_for(lambda screen: "leave and lose the edits" not in screen)
            folder.chmod(0o755)
            app.write(b"q")
            assert app.wait() == 0
    finally:
        folder.chmod(0o755)
    assert place.config["overrides"]["instructions"]["enabled"] is False
