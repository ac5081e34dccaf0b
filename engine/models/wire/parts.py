"""What a message holds besides text: the parts of an assistant's turn, and the tools that are offered to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import WrongInput
from engine.models.wire.base import ChatMessage
from engine.models.wire.documents import read_json
from engine.text import Phrase


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of an assistant's answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    """A piece of an assistant's reasoning; with its `signature` it can be sent back to who signed it."""

    text: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by the assistant; `arguments` is the JSON text as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"

    def parsed(self) -> dict[str, Any]:
        """The arguments. Raises `WrongInput` when they are no JSON object, which is for the model to mend."""
        try:
            found = read_json(self.arguments or "{}")
        except ValueError as error:
            raise WrongInput(
                Phrase("the arguments of {name} are not JSON: {error}", name=self.name, error=error),
                repair="call it again",
            ) from None
        if not isinstance(found, dict):
            raise WrongInput(
                Phrase("the arguments of {name} are not a JSON object", name=self.name), repair="call it again"
            )
        return found


@dataclass(frozen=True, slots=True)
class OpaquePart:
    """A part of an answer that is only to be sent back as it is, to a provider of the same `format`."""

    format: str
    data: Mapping[str, Any]


Part = TextPart | ThinkingPart | ToolCall | OpaquePart


def assistant_message(parts: tuple[Part, ...]) -> ChatMessage:
    """An assistant's answer as the message that is sent back in the next request."""
    text = "".join(part.text for part in parts if isinstance(part, TextPart))
    plain = all(isinstance(part, TextPart) for part in parts)
    return ChatMessage("assistant", text, () if plain else parts)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool the model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ForcedTool:
    """The one tool the model must call."""

    name: str
