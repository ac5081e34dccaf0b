"""A field of one line."""

from __future__ import annotations

import re

from textual import events
from textual.widgets import Input


class LineInput(Input):
    """Textual's `Input`, with a cursor that stands still and a paste of which no line is lost.

    A blinking cursor costs about 600 bytes a second over a slow link (spec terminal, section 2.8), and of several
    pasted lines `Input` takes the first and drops the others without a word (section 5, case 16).
    """

    def on_mount(self) -> None:
        self.cursor_blink = False

    def _on_paste(self, event: events.Paste) -> None:
        text = re.sub(r"\s*[\r\n]\s*", " ", event.text.strip("\r\n"))
        if text:
            self.replace(text, *self.selection)
        event.stop()
        event.prevent_default()
