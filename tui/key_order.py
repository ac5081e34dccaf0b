"""Keys take effect in the order they are pressed, however many arrive at once.

Textual gives a key to the focused widget, which types a letter at once; a key that is bound to an action first climbs
to the app, through one message queue after another. Letters that arrive in one piece with it, as they do behind a slow
link, overtake it: `abc`, backspace, `d` loses the `d`, and letters behind the `e` for "edit" are taken for commands.
`OrderedKeysApp` hands out a key when the one before has had its effect. A marker sent behind the key tells: it climbs
the same way; behind enter twice: what a field tells when enter is pressed in it sets out when the key has arrived.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from textual import events
from textual.app import App, ReturnType
from textual.message import Message
from textual.message_pump import MessagePump

PATIENCE = 0.5
"""Seconds after which the next key is handed out in any case, as when the widget that had the key is gone."""


class OrderedKeysApp(App[ReturnType]):
    """An app that handles one key, or paste, after the other. Put it before `App` in the bases."""

    class KeyDone(Message, bubble=True):
        """Sent behind a key; when it arrives at the app, so has the key, or it was used on the way."""

    _under_way: KeyDone | None = None
    _patience: asyncio.TimerHandle | None = None
    _next_up: events.Event | None = None
    _receiver: MessagePump | None = None
    _second = False

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._waiting: deque[events.Event] = deque()

    async def on_event(self, event: events.Event) -> None:
        """Handle an event; a key waits for its turn."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif event is self._next_up:
            self._next_up = None
            await self._hand_out(event)
        elif self._under_way is not None or self._next_up is not None:
            self._waiting.append(event)
        else:
            await self._hand_out(event)

    async def _hand_out(self, event: events.Event) -> None:
        marker = self._under_way = self.KeyDone()
        self._second = not (isinstance(event, events.Key) and event.key == "enter")
        receiver = (self.focused or self.screen) if self._screen_stack else self
        try:
            await super().on_event(event)
        finally:
            # A key that was not passed on has had its effect; what that has put off comes before the next key too.
            self._follow(marker, receiver if event.is_forwarded else self)

    def _follow(self, marker: KeyDone, receiver: MessagePump) -> None:
        self._receiver = receiver
        if self._patience is not None:
            self._patience.cancel()
        self._patience = asyncio.get_running_loop().call_later(PATIENCE, self._key_done, marker)
        if not receiver.post_message(marker):
            self._key_done(marker)

    def on_ordered_keys_app_key_done(self, message: KeyDone) -> None:
        message.stop()
        receiver, self._receiver = self._receiver, None
        if message is self._under_way and receiver is not None and receiver is not self and not self._second:
            self._second = True
            marker = self._under_way = self.KeyDone()
            self._follow(marker, receiver)
        else:
            self._key_done(message)

    def _key_done(self, marker: KeyDone) -> None:
        if marker is not self._under_way:
            return
        self._under_way = self._receiver = None
        if self._patience is not None:
            self._patience.cancel()
        if self._waiting:
            self._next_up = self._waiting.popleft()
            self.post_message(self._next_up)
