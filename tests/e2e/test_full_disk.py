"""No room left on the disk, as the whole program meets it: told, nothing lost, and all there once there is room."""

from __future__ import annotations

import sys

import pytest

from tests.e2e.place import Place, ctrl, edit_block, until

if sys.platform == "win32":
    pytest.skip("limits of a process as on Unix", allow_module_level=True)


def test_no_room_for_the_config(place: Place) -> None:
    before, config = place.custom("House style"), place.config_file.read_bytes()
    assert len(config) > 1024, "it must not fit"
    # Two blocks of 512 bytes for any file: the journal of a few words fits, the config does not.
    with place.open(prefix=["sh", "-c", 'ulimit -f 2 && exec "$@"', "sh"]) as app:
        edit_block(app, "House style")
        app.write(b" quoin")
        app.wait_for("quoin")
        app.write(ctrl("s"))
        app.wait_for(lambda screen: "file too large" in screen.replace("\n", " ").lower())
        app.write(b" forme")
        app.wait_for("forme")
        assert place.config_file.read_bytes() == config
        assert not [file for file in place.config_file.parent.iterdir() if ".tmp-" in file.name]
        app.write(ctrl("q"))
        app.wait_for("your edits come back next time")
        app.write(b"l")
        assert app.wait() == 0
        assert b"Traceback" not in app.output
    with place.open() as app:
        until(lambda: place.custom("House style") == before + " quoin forme", "the edit is saved")
        app.write(ctrl("q"))
        assert app.wait() == 0
