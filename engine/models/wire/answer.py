"""`Answer`: the events of one call put together, as a tool loop and a log want them."""

from __future__ import annotations

from engine.models.wire.base import ChatMessage, Failure, Start, Stop, Text, Thinking, Usage, Warned
from engine.models.wire.events import Event, Opaque, Signature, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.parts import Part, TextPart, ThinkingPart, ToolCall, assistant_message


class Answer:
    """What has arrived of an answer: `add` each event of a stream, look at any time.

    `stop` or `failure` is set at the end. What arrived before a failure stays.
    """

    def __init__(self) -> None:
        self.start: Start | None = None
        self.usage: Usage | None = None
        self.stop: Stop | None = None
        self.failure: Failure | None = None
        self.warnings: list[Warned] = []
        self._parts: list[_Growing | _Call | Part] = []
        self._calls: dict[int, _Call] = {}

    def add(self, event: Event) -> None:
        """Take in the next event."""
        if isinstance(event, Text | Thinking):
            kind: type[TextPart] | type[ThinkingPart] = TextPart if isinstance(event, Text) else ThinkingPart
            last = self._parts[-1] if self._parts else None
            if not (isinstance(last, _Growing) and last.kind is kind):
                last = _Growing(kind)
                self._parts.append(last)
            last.pieces.append(event.text)
        elif isinstance(event, Signature):
            last = self._parts[-1] if self._parts else None
            text = ""
            if isinstance(last, _Growing) and last.kind is ThinkingPart:
                text = "".join(last.pieces)
                self._parts.pop()
            self._parts.append(ThinkingPart(text, event.signature))
        elif isinstance(event, ToolStart):
            call = self._calls[event.index] = _Call(event.id, event.name)
            self._parts.append(call)
        elif isinstance(event, ToolArgs):
            self._calls[event.index].pieces.append(event.fragment)
        elif isinstance(event, ToolEnd):
            self._calls[event.index].complete = True
        elif isinstance(event, Opaque):
            self._parts.append(event.part)
        elif isinstance(event, Start):
            self.start = event
        elif isinstance(event, Usage):
            self.usage = event
        elif isinstance(event, Warned):
            self.warnings.append(event)
        elif isinstance(event, Stop):
            self.stop = event
        elif isinstance(event, Failure):
            self.failure = event

    @property
    def text(self) -> str:
        """The answer's text so far."""
        return "".join(part.text for part in self.parts if isinstance(part, TextPart))

    @property
    def thoughts(self) -> str:
        """The reasoning so far."""
        return "".join(part.text for part in self.parts if isinstance(part, ThinkingPart))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The complete calls, in their order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def broken_calls(self) -> tuple[str, ...]:
        """The names of the tools whose calls broke off."""
        return tuple(part.name for part in self._parts if isinstance(part, _Call) and not part.complete)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Everything so far in its order; calls that broke off are left out, as nothing can be answered to them."""
        found: list[Part] = []
        for part in self._parts:
            if isinstance(part, _Growing):
                found.append(part.kind("".join(part.pieces)))
            elif not isinstance(part, _Call):
                found.append(part)
            elif part.complete:
                found.append(ToolCall(part.id, part.name, "".join(part.pieces) or "{}"))
        return tuple(found)

    def message(self) -> ChatMessage:
        """The answer as the message that is sent back in the next request."""
        return assistant_message(self.parts)


class _Growing:
    """A text that grows, of parts of one kind."""

    def __init__(self, kind: type[TextPart] | type[ThinkingPart]) -> None:
        self.kind = kind
        self.pieces: list[str] = []


class _Call:
    def __init__(self, identity: str, name: str) -> None:
        self.id, self.name = identity, name
        self.pieces: list[str] = []
        self.complete = False
