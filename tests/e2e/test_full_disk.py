"""No room left on the disk, as the whole program meets it: told, the edit kept, and saved once there is room."""

from __future__ import annotations

import sys

import pytest

from tests.e2e.place import Place, ctrl, edit_block, escape, until

if not sys.platform.startswith("linux"):
    pytest.skip("the limits of a running process are changed as on Linux", allow_module_level=True)

import resource


def test_no_room_for_a_while(place: Place) -> None:
    before, config = place.custom("House style"), place.config_file.read_bytes()
    assert len(config) > 1024, "it must not fit"
    # Two blocks of 512 bytes for any file.
    with place.open(prefix=["sh", "-c", 'ulimit -S -f 2 && exec "$@"', "sh"]) as app:
        edit_block(app, "House style")
        app.write(b" quoin")
        app.wait_for("quoin")
        app.write(ctrl("s"))
        app.wait_for("can't be journalled: File too large")
        app.write(b" forme")
        app.wait_for("forme")
        assert place.config_file.read_bytes() == config
        assert not [file for file in place.config_file.parent.iterdir() if ".tmp-" in file.name], "nothing half is left"
        app.write(ctrl("q"))
        app.wait_for("leave and lose the edits")
        escape(app)
        app.wait_for(lambda screen: "leave and lose" not in screen)
        unlimited = resource.RLIM_INFINITY
        resource.prlimit(app.pid, resource.RLIMIT_FSIZE, (unlimited, unlimited))
        until(lambda: place.custom("House style") == before + " quoin forme", "the edit is saved by itself")
        app.wait_for(lambda screen: "can't be journalled" not in screen)
        app.write(ctrl("q"))
        assert app.wait() == 0
        assert b"Traceback" not in app.output
