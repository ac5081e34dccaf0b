"""What the parsers of both formats share: bytes to events, figures of the usage, texts cut at breakpoints. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.models.wire.base import Failure, Usage
from engine.models.wire.events import Event
from engine.models.wire.sse import ServerEvent, SseDecoder


class Parser:
    """The bytes of one streamed answer to its events.

    `feed` takes the bytes as they come, cut anywhere; `end` what follows from the stream being over. Once `done`, the
    last event was a `Stop` or a `Failure` and nothing more is read.
    """

    def __init__(self) -> None:
        self.done = False
        self.ending = False
        self._decoder = SseDecoder()

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes."""
        return self._read_all(self._decoder.feed(chunk))

    def end(self) -> list[Event]:
        """The stream is over: the events that still follow, the last one a `Stop` or `Failure`."""
        self.ending = True
        events = self._read_all(self._decoder.end())
        return events if self.done else events + self.finish()

    def whole(self, document: Any) -> list[Event]:
        """The events of an answer that came in one piece although a stream was asked for."""
        raise NotImplementedError

    def read(self, event: ServerEvent) -> list[Event]:
        """The events one server-sent event stands for."""
        raise NotImplementedError

    def finish(self) -> list[Event]:
        """The end of a stream that did not say that it is complete."""
        raise NotImplementedError

    def _read_all(self, given: Iterable[ServerEvent]) -> list[Event]:
        events: list[Event] = []
        for event in given:
            if self.done:
                break
            events += self.read(event)
        return events

    def _failed(self, failure: Failure) -> list[Event]:
        self.done = True
        return [failure]


def read_usage(given: Any, places: Mapping[str, tuple[str, ...]]) -> Usage | None:
    """The usage in a document; None where it has no figures. Negative ones and what is no number are passed over; where
    only one of prompt and answer is there, the other is 0 (spec context-blocks, 10.7).
    """
    if not isinstance(given, Mapping):
        return None

    def figure(name: str) -> float | None:
        for place in places[name]:
            value: Any = given
            for key in place.split("."):
                value = value.get(key) if isinstance(value, Mapping) else None
            if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf"):
                return value
        return None

    def count(name: str) -> int | None:
        value = figure(name)
        return None if value is None else int(value)

    sent, received = count("input"), count("output")
    if sent is None and received is None:
        return None
    return Usage(sent or 0, received or 0, count("cached"), count("cache_written"), count("reasoning"), figure("cost"))


def split_at(text: str, breakpoints: Iterable[int]) -> list[tuple[str, bool]]:
    """`text` cut at its breakpoints, each piece with whether one stands at its end; joined they are the text.

    A piece of white space alone is none: APIs refuse it. It goes to the piece before it, or begins the one after.
    """
    points = sorted({point for point in breakpoints if 0 < point <= len(text)})
    pieces: list[tuple[str, bool]] = []
    at = 0
    for point in (*points, len(text)):
        piece, cached = text[at:point], point in points
        if not piece:
            continue
        if not piece.strip():
            if not pieces:
                continue  # the next piece begins with it
            pieces[-1] = (pieces[-1][0] + piece, pieces[-1][1])
        else:
            pieces.append((piece, cached))
        at = point
    return pieces
