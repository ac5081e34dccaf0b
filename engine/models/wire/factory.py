"""From what an agent is run with to the wire that reaches it.

The address is that of the provider in `config.json` or `providers.toml`, found by its id: nothing a story, a preset or
a plugin says can lead a request, and the key with it, anywhere else.
"""

from __future__ import annotations

from engine.errors import WrongInput
from engine.models import REHEARSAL
from engine.models.providers import Provider, Providers
from engine.models.resolution import Resolution
from engine.models.windows import window_of
from engine.models.wire.http_wire import Defaults, HttpWire
from engine.text import Phrase


def wire_for(
    resolution: Resolution, providers: Providers, *, provider: str | None = None, model: str | None = None
) -> HttpWire:
    """The wire of a resolution, or of another `provider` or `model` with the limits of this one.

    Raises `NotFound` for a provider that is not there, `WrongInput` for one that can't be called.
    """
    chosen = usable(providers, provider or resolution.provider.id)
    same = chosen.id == resolution.provider.id
    name = model or (resolution.model if same else None) or chosen.default_model
    # More than a model can give is an error with most; a story's limit is meant for all of them.
    most = window_of(chosen, name).max_output or resolution.max_output_tokens
    defaults = Defaults(
        max_output_tokens=min(resolution.max_output_tokens, most),
        temperature=resolution.temperature if same else chosen.temperature,
        reasoning_off=resolution.disable_thinking,
    )
    return HttpWire(chosen, name, defaults=defaults)


def usable(providers: Providers, provider_id: str) -> Provider:
    """The provider of an id, which can be called. Raises `NotFound` and `WrongInput`."""
    found = providers.find(provider_id)
    if found.id == REHEARSAL:
        raise WrongInput(
            Phrase("{rehearsal} is no model and can't be called", rehearsal=REHEARSAL),
            repair="name a provider, or add one",
        )
    if not found.enabled:
        raise WrongInput(
            Phrase("the provider {provider_id!r} is disabled", provider_id=provider_id),
            file=found.file,
            field=found.field,
        )
    return found
