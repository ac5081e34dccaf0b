"""The keyboard protocol that reports every key is asked for only where it may be."""

from __future__ import annotations

import pytest

from tests.e2e.place import Place


@pytest.mark.parametrize(
    ("env", "asked"), [({}, True), ({"STONEHAND_KITTY_KEYS": "0"}, False), ({"LC_TERMINAL": "iTerm2"}, False)]
)
def test_it_is_asked_for(place: Place, env: dict[str, str], asked: bool) -> None:
    with place.open(env=env) as app:
        assert (b"\x1b[>25u" in app.output) is asked
        app.write(b"q")
        assert app.wait() == 0
