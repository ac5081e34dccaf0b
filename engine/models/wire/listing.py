"""The models a provider lists, whatever it says about them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_CONTEXT: Final = (
    "context_length",
    "max_model_len",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "n_ctx",
)
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
    if isinstance(document, Mapping) and entries is None and document.get("object") == "list":
        return ()  # Ollama's list when it has no model
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
        within = (entry.get("top_provider"), entry.get("meta"))  # OpenRouter's, llama.cpp's
        places = (entry, *(place for place in within if isinstance(place, Mapping)))
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


def owners_of(document: Any) -> tuple[str, ...]:
    """Who a list of models says owns them, in its order; a local server names itself so, at least for some."""
    entries = document.get("data") if isinstance(document, Mapping) else None
    owners = (entry.get("owned_by") for entry in (entries or ()) if isinstance(entry, Mapping))
    return tuple(dict.fromkeys(owner for owner in owners if isinstance(owner, str)))


def _size(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...]) -> int | None:
    for place in places:
        for name in names:
            value = place.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None
