"""What a run is made with: as its agent is set, or another provider and model, for once or until the program ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.workspace import REHEARSAL
from tui.language import of_engine, t
from tui.screens.name import NameDialog
from tui.screens.pick import PickDialog

if TYPE_CHECKING:
    from engine.models.providers import Provider, Providers
    from engine.models.resolution import Resolution
    from tui.screens.base import WorkingScreen

_AS_SET = ""
"""What the list gives back for what is set; no provider has this id."""
FAULTS_SHOWN = 3
"""Faults of the files of providers above the choice of one: the help lists all of them."""


@dataclass(frozen=True, slots=True)
class RunWith:
    """A provider by its id, and a model of it; the rehearsal has none. `as_set`: what the agent is set to."""

    provider: str
    model: str = ""
    as_set: bool = False

    @property
    def asked(self) -> tuple[str | None, str | None]:
        """The provider and the model that a run is to be made with; None for what the agent resolves to then."""
        return (None, None) if self.as_set else (self.provider, self.model or None)

    def label(self) -> str:
        """What is shown of it."""
        if self.provider == REHEARSAL:
            return t("passage.rehearsal")
        return " · ".join(filter(None, (self.provider, self.model)))


async def run_with(screen: WorkingScreen[None], story: str, agent: str) -> RunWith:
    """What an agent is run with: what was chosen since the program began, else what it is set to. Raises
    `StonehandError`.
    """
    chosen = screen.stonehand.run_with.get((story, agent))
    if chosen is not None:
        return chosen
    return _as_set(await screen.wait(lambda: screen.workspace.models.resolve(story, agent)))


async def choose_run_with(screen: WorkingScreen[None], story: str, agent: str) -> RunWith | None:
    """Ask what an agent is run with until the program ends. None when that is left. Raises `StonehandError`."""
    chosen = await ask_run_with(screen, story, agent)
    kept = screen.stonehand.run_with
    if chosen is not None and chosen.as_set:
        kept.pop((story, agent), None)
    elif chosen is not None:
        kept[story, agent] = chosen
    return chosen


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
    dialog = PickDialog(t("runs.again-title"), names, labels, notes=faults_told(providers))
    chosen = await screen.app.push_screen_wait(dialog)
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


def faults_told(providers: Providers) -> list[str]:
    """What is wrong with the files that define providers, the first faults of them, to stand above a choice of one."""
    return [f"! {of_engine(problem.told())}" for problem in providers.problems[:FAULTS_SHOWN]]


def _as_set(resolution: Resolution) -> RunWith:
    if not resolution.configured:
        return RunWith(REHEARSAL, as_set=True)
    return RunWith(resolution.provider.id, resolution.model or resolution.provider.default_model, as_set=True)


def _label(what: RunWith) -> str:
    return f"{what.provider} · {what.model}"
