"""Server-sent events taken from a stream of bytes (spec provider-wire, C1).

Not the decoder of httpx-sse: that one decodes by the response's charset instead of UTF-8, drops an event that is not
followed by a blank line at the end of the stream, holds a line that ends in CR back until more arrives, and passes over
lines that are no fields, which is how some servers tell of an error.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.models.wire.documents import read_json

STRAY = "stray"
"""The name of an event made of lines that are no fields: JSON or HTML where an event was expected."""

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name, empty where none was given, and its data."""

    name: str
    data: str


class SseDecoder:
    """Bytes in, as they arrive; events out. Lines end at LF, CRLF or CR and nowhere else, and are UTF-8 each."""

    def __init__(self) -> None:
        self._pending: list[bytes] = []
        self._after_cr = False
        self._first = True
        self._name = ""
        self._data: list[str] = []
        self._stray: list[str] = []

    def feed(self, chunk: bytes) -> list[ServerEvent]:
        """The events that `chunk` completes; it may begin and end anywhere."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        events: list[ServerEvent] = []
        for line in chunk.splitlines(keepends=True):
            self._pending.append(line)
            if line.endswith((b"\n", b"\r")):
                whole = b"".join(self._pending).rstrip(b"\r\n")
                self._pending.clear()
                events += self._line(whole)
        return events

    def end(self) -> list[ServerEvent]:
        """The stream is over: what was still pending."""
        events = self._line(b"".join(self._pending)) if self._pending else []
        self._pending.clear()
        events += self._dispatch()
        if self._stray:
            events.append(ServerEvent(STRAY, "\n".join(self._stray)))
            self._stray.clear()
        return events

    def _line(self, line: bytes) -> list[ServerEvent]:
        text = line.decode("utf-8", "replace")
        if self._first:
            self._first = False
            text = text.removeprefix(_BOM)
        if not text:
            return self._dispatch()
        if text.startswith(":"):
            return []
        if self._stray or text.lstrip()[:1] in ("{", "<"):
            return self._stray_line(text)
        field, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        elif field == "error":  # llama.cpp of old
            return [*self._dispatch(), ServerEvent("error", value)]
        return []

    def _stray_line(self, text: str) -> list[ServerEvent]:
        """Collected until they are a whole JSON document, or to the end."""
        self._stray.append(text)
        if text.rstrip().endswith("}"):
            whole = "\n".join(self._stray)
            try:
                read_json(whole)
            except ValueError:
                return []
            self._stray.clear()
            return [*self._dispatch(), ServerEvent(STRAY, whole)]
        return []

    def _dispatch(self) -> list[ServerEvent]:
        name, data = self._name, self._data
        self._name, self._data = "", []
        return [ServerEvent(name, "\n".join(data))] if data else []
