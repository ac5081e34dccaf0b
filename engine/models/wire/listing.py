"""The models a provider lists, whatever it says about them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_CONTEXT: Final = ("context_length", "max_model_len", "context_window", "max_context_length", "max_input_tokens")
_OUTPUT: Final = ("max_completion_tokens", "max_output_tokens", "max_tokens")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model as its provider lists it; sizes in tokens, None where it says none."""

    id: str
    name: str = ""
    context: int | None = None
    max_output: int | None = None


def listed_models(document: Any) -> tuple[ListedModel, ...] | None:
    """The models in an answer to `GET /models`; None where it is no list of models."""
    entries = document.get("data", document.get("models")) if isinstance(document, Mapping) else document
    if not isinstance(entries, list):
        return None
    found: dict[str, ListedModel] = {}
    for entry in entries:
        if not isinstance(entry, Mapping):
            continue
        identity = entry.get("id")
        if not isinstance(identity, str) or not identity:
            continue
        name = entry.get("display_name") or entry.get("name")
        identity = identity.removeprefix("models/")  # Gemini's
        top = entry.get("top_provider")
        places = (entry, top if isinstance(top, Mapping) else {})
        found.setdefault(
            identity,
            ListedModel(
                identity,
                name if isinstance(name, str) else "",
                _size(places, _CONTEXT),
                _size(places, _OUTPUT),
            ),
        )
    return tuple(found.values())


def next_page(document: Any) -> str:
    """The id of the model behind which a list goes on (Anthropic's do); the empty string at its end."""
    if not isinstance(document, Mapping) or document.get("has_more") is not True:
        return ""
    last = document.get("last_id")
    return last if isinstance(last, str) else ""


def owner_of(document: Any) -> str:
    """Who a list of models says owns the first of them; a local server names itself so."""
    entries = document.get("data") if isinstance(document, Mapping) else None
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping) and isinstance(owner := entry.get("owned_by"), str):
            return owner
    return ""


def _size(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> int | None:
    for place in places:
        for name in names:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
