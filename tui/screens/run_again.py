"""What a past run is made again with: as its agent is set now, or another provider and model, for this once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.workspace import REHEARSAL
from tui.language import t
from tui.screens.name import NameDialog
from tui.screens.pick import PickDialog

if TYPE_CHECKING:
    from engine.models.providers import Provider
    from engine.models.resolution import Resolution
    from tui.screens.base import WorkingScreen

_AS_SET = ""
"""What the list gives back for what is set; no provider has this id."""


@dataclass(frozen=True, slots=True)
class RunWith:
    """A provider by its id, and a model of it; the rehearsal has none."""

    provider: str
    model: str = ""


async def ask_run_with(screen: WorkingScreen[None], story: str, agent: str) -> RunWith | None:
    """Ask for a provider, then for a model of it. None when that is left. Raises `StonehandError`."""
    workspace = screen.workspace
    resolution = await screen.wait(lambda: workspace.models.resolve(story, agent))
    providers = await screen.wait(workspace.models.providers)
    usable = {provider.id: provider for provider in providers.all if provider.enabled and provider.id != REHEARSAL}
    now = _as_set(resolution)
    names = [_AS_SET, *usable, *([] if now.provider == REHEARSAL else [REHEARSAL])]
    labels = [
        t("runs.again-now", what=t("runs.again-rehearsal") if now.provider == REHEARSAL else _label(now)),
        *(_label(RunWith(provider.id, provider.default_model)) for provider in usable.values()),
        *([] if now.provider == REHEARSAL else [t("runs.again-rehearsal")]),
    ]
    chosen = await screen.app.push_screen_wait(PickDialog(t("runs.again-title"), names, labels))
    if chosen is None or chosen == _AS_SET:
        return None if chosen is None else now
    return RunWith(REHEARSAL) if chosen == REHEARSAL else await _ask_model(screen, usable[chosen])


async def _ask_model(screen: WorkingScreen[None], provider: Provider) -> RunWith | None:
    default = provider.default_model
    names = dict.fromkeys(filter(None, (default, *(declared.id for declared in provider.models))))
    first = (default, t("runs.again-default", model=default))
    dialog = NameDialog(t("runs.again-model", provider=provider.id), [*names], first)
    model = await screen.app.push_screen_wait(dialog)
    return None if model is None else RunWith(provider.id, model)


def _as_set(resolution: Resolution) -> RunWith:
    if not resolution.configured:
        return RunWith(REHEARSAL)
    return RunWith(resolution.provider.id, resolution.model or resolution.provider.default_model)


def _label(what: RunWith) -> str:
    return f"{what.provider} · {what.model}"
