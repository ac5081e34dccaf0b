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
from engine.models.wire.base import Warned
from engine.models.wire.http_wire import Defaults, HttpWire
from engine.models.wire.parameters import left_out
from engine.text import Phrase


def wire_for(
    resolution: Resolution, providers: Providers, *, provider: str | None = None, model: str | None = None
) -> HttpWire:
    """The wire of a resolution, or of another `provider` or `model` with the limits of this one.

    A temperature that the story sets for one provider is not another's, as choosing another one drops it (spec
    context-blocks, section 12.2); the wire names it. One that it sets without a provider counts with all.

    Raises `NotFound` for a provider that is not there, `WrongInput` for one that can't be called.
    """
    chosen = usable(providers, provider or resolution.provider.id)
    same = chosen.id == resolution.provider.id
    name = model or (resolution.model if same else None) or chosen.default_model
    # More than a model can give is an error with most; a story's limit is meant for all of them.
    most = window_of(chosen, name).max_output or resolution.max_output_tokens
    keeps = same or resolution.temperature_for in (None, chosen.id)
    defaults = Defaults(
        max_output_tokens=min(resolution.max_output_tokens, most),
        temperature=resolution.temperature if keeps else chosen.temperature,
        reasoning_off=resolution.disable_thinking,
        left_out=() if keeps else _left_out(resolution, chosen),
    )
    return HttpWire(chosen, name, defaults=defaults)


def _left_out(resolution: Resolution, called: Provider) -> tuple[Warned, ...]:
    """That the story's temperature is not that of the provider which is called, where it has one."""
    if not resolution.explain[2].role or resolution.temperature == called.temperature:
        return ()
    value, provider = f"{resolution.temperature:g}", resolution.temperature_for
    because = Phrase("the story sets {value} for {provider}", value=value, provider=provider)
    if called.temperature is not None:
        own = "{because}, and {called} has its own, {own}"
        because = Phrase(own, because=because, called=called.id, own=f"{called.temperature:g}")
    return (left_out("temperature", because),)


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
