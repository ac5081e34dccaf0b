"""The terminal's own cursor, invisible, stands where text is typed: an input method opens its window there."""

from __future__ import annotations

from textual.app import App, ReturnType
from textual.geometry import Offset


class CaretApp(App[ReturnType]):
    """An app that asks the focused widget where its cursor is at every paint. Put it before `App` in the bases.

    Textual keeps what a widget told it last, which is wrong once a text is scrolled, wrapped anew or moved on the
    screen, or selected in while the focus is elsewhere.
    """

    _caret = Offset(0, 0)

    @property
    def cursor_position(self) -> Offset:
        """Where the terminal's cursor belongs."""
        focused = self.focused if self._screen_stack else None
        caret = getattr(focused, "cursor_screen_offset", None)
        if isinstance(caret, Offset):
            self._caret = caret
        return self._caret

    @cursor_position.setter
    def cursor_position(self, position: Offset) -> None:
        self._caret = position
