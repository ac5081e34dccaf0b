"""Profiles, and bytes put through a parser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from engine.models.providers import DeclaredModel, Key, Provider
from engine.models.secret import Secret
from engine.models.wire.answer import Answer
from engine.models.wire.anthropic_messages import MessagesParser
from engine.models.wire.events import Event
from engine.models.wire.openai_chat import ChatParser
from engine.models.wire.parsing import Parser
from engine.models.wire.profiles import Profile, presets, profile_of

KEY = "sk-do-not-show-me-123"


def provider(
    preset: str = "custom",
    base_url: str = "",
    *,
    key: str | None = KEY,
    model: str = "m-1",
    profile: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    models: tuple[DeclaredModel, ...] = (),
) -> Provider:
    return Provider(
        id="mine",
        name="Mine",
        base_url=base_url or presets().get(preset) or "https://models.example.com/v1",
        default_model=model,
        preset=preset,
        key=Key(literal=Secret(key)) if key is not None else Key(),
        headers={name: Key(literal=Secret(value)) for name, value in (headers or {}).items()},
        profile=profile or {},
        models=models,
    )


def profile(preset: str = "custom", model: str = "m-1", **changes: Any) -> Profile:
    return profile_of(provider(preset, profile=changes), model)


def parser(preset: str = "custom", model: str = "m-1") -> Parser:
    """A parser whose made-up ids are call-1, call-2, …"""
    mine = profile(preset, model)
    if mine.wire == "anthropic-messages":
        return MessagesParser(mine)
    numbers = count(1)
    return ChatParser(mine, lambda: f"call-{next(numbers)}")


def parsed(chunks: Iterable[bytes], preset: str = "custom") -> list[Event]:
    """The events of an answer that comes in these chunks."""
    reader = parser(preset)
    events: list[Event] = []
    for chunk in chunks:
        events += reader.feed(chunk)
    return events if reader.done else events + reader.end()


def answer(events: Iterable[Event]) -> Answer:
    found = Answer()
    for event in events:
        found.add(event)
    return found
