"""Work that hundreds of editors in one process need not do again and again: none of it shows.

A headless app writes its frames nowhere. Here each waits until what it is drawn for is done, a key or a click, and is
drawn then, at once for all that changed; a look at the screen draws all of it anyway.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from textual import _wait as waiting
from textual._compositor import Compositor
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot

LULL = 0.015
"""Seconds in which a process that has next to nothing done counts as idle; Textual's own are 0.02."""

_render = Compositor.render_update
_wait = Pilot._wait_for_screen
_parse = Stylesheet._parse_rules


def _later(self: Compositor, full: bool = False, **options: Any) -> Any:
    """A frame that is asked for whole, as for a picture, is drawn; of another, what is to be drawn stays noted."""
    return _render(self, full=full, **options) if full else None


async def _wait_and_draw(self: Pilot[Any], *given: Any, **named: Any) -> bool:
    done = await _wait(self, *given, **named)
    app = self.app
    if app._running and app.screen_stack and app.screen._compositor._dirty_regions:
        _render(app.screen._compositor, screen_stack=app._background_screens)
    return done


@contextmanager
def frames_after_keys() -> Iterator[None]:
    """Draw headless apps once a step of the pilot is done, not at each of their changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", _later)
        patch.setattr(Pilot, "_wait_for_screen", _wait_and_draw)
        yield


@contextmanager
def styles_parsed_once() -> Iterator[None]:
    """Parse a style sheet once for all apps that use it with the same colours; rules are only read once parsed."""
    parsed: dict[Any, list[RuleSet]] = {}

    def parse(self: Stylesheet, css: str, read_from: Any, *given: Any, **named: Any) -> list[RuleSet]:
        key = (css, read_from, given, *sorted(named.items()), *sorted(self._variables.items()))
        if key not in parsed:
            parsed[key] = _parse(self, css, read_from, *given, **named)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse)
        yield


@contextmanager
def short_waits() -> Iterator[None]:
    """Take an app for idle a little earlier: it is twice for each key."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(waiting, "SLEEP_GRANULARITY", LULL)
        patch.setattr(waiting, "SLEEP_IDLE", LULL / 20)
        yield
