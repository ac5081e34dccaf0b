"""The model of an agent: provider, model and temperature, what decided each, and choosing others."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from engine.errors import StonehandError
from tui.actions import Place
from tui.language import of_engine, of_error, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.screens.base import WorkingScreen
from tui.screens.budget import place_of
from tui.screens.name import NameDialog
from tui.screens.pick import PickDialog
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.setting import Setting, Temperature

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.models.choice import ModelChange
    from engine.models.providers import Provider, Providers
    from engine.models.resolution import Decision, Resolution
    from engine.workspace import Workspace

PROBLEMS_SHOWN = 3
_INHERIT = ""
"""What the lists give back for inheriting; no provider or model has this name."""


@dataclass(frozen=True, slots=True)
class ModelState:
    """What an agent or role is run with, and who there is to choose from.

    `lines`: those of the fields that decided provider, model and temperature; `inherited`: what the role above is run
    with, None for the last one.
    """

    resolution: Resolution
    budget: Budget
    providers: Providers
    lines: tuple[int | None, ...]
    inherited: Resolution | None

    @classmethod
    def read(cls, workspace: Workspace, story: str, role: str) -> ModelState:
        """The state as the files have it now. Waits; raises `StonehandError`."""
        resolution = workspace.models.resolve(story, role)
        chain = resolution.chain
        return cls(
            resolution,
            workspace.models.budget(story, role),
            workspace.models.providers(),
            tuple(map(workspace.models.line_of, resolution.explain)),
            workspace.models.resolve(story, chain[1]) if len(chain) > 1 else None,
        )


class ModelDialog(ModalScreen[None], WorkingScreen[None]):
    """Chooses for one agent, or for what it inherits from; every choice is saved at once and can be taken back."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,M", "leave", "Leave", show=False),
        Binding("down,j", "app.focus_next", "Next", show=False),
        Binding("up,k", "app.focus_previous", "Previous", show=False),
        Binding("u,ctrl+z", "undo", "Undo", show=False),
        Binding("ctrl+r,ctrl+y", "redo", "Redo", show=False),
    ]

    def __init__(self, story: str, state: ModelState, done: list[ModelChange], undone: list[ModelChange]) -> None:
        """`done` and `undone`: changes of this story's models, the last one last; the caller keeps them."""
        super().__init__()
        self._story, self._state = story, state
        self._agent = self._role = state.resolution.role
        self._done, self._undone = done, undone
        self._one_at_a_time = asyncio.Lock()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = Content(visible(t("model.title", agent=self._agent)))
            dialog.border_subtitle = t("model.keys")
            yield Static(t("model.for"), classes="label", markup=False)
            yield ChoiceBar([(role, role) for role in self._state.resolution.chain], self._agent, id="role")
            yield Setting(t("model.provider"), id="provider")
            yield Setting(t("model.model"), id="model")
            yield Temperature(t("model.temperature"), id="temperature")
            yield Static("", id="window", markup=False)
            yield Static("", id="problems", markup=False)
            yield Static("", id="said", markup=False)  # docked: seen however little room there is

    def on_mount(self) -> None:
        self._show()
        self.query_one("#provider").focus()

    def say(self, text: str, *, warning: bool = False) -> None:
        """Show a message below the values."""
        said = self.query_one("#said", Static)
        said.update(Content(visible(f"! {text}" if warning else text)))
        said.set_class(warning, "-warning")

    # -- showing

    def _show(self) -> None:
        resolution, budget = self._state.resolution, self._state.budget
        provider = resolution.provider
        values = (
            provider.id if provider.name == provider.id else f"{provider.id} · {provider.name}",
            resolution.model or t("model.no-model"),
            t("model.unset") if resolution.temperature is None else f"{resolution.temperature:g}",
        )
        self.query_one("#temperature", Temperature).set_value(resolution.temperature)
        for decision, value, line in zip(resolution.explain, values, self._state.lines, strict=True):
            self.query_one(f"#{decision.what}", Setting).show(value, *self._source(decision, line))
        window = budget.window
        known = t(f"budget.known-{window.known}", place=place_of(window))
        size = t("model.size-unknown") if window.tokens is None else f"{window.tokens:,}"
        kept = t("budget.reserve", tokens=f"{budget.reserve:,}", why=t(f"budget.reserved-{budget.reserved}"))
        text = t("model.window", size=size, why=known, kept=kept)
        self.query_one("#window", Static).update(Content(visible(text)))
        self._show_problems()

    def _source(self, decision: Decision, line: int | None) -> tuple[str, str]:
        """What decided a value, in words, and the place in its file, empty without one."""
        if decision.role == self._role:
            words = t("model.own")
        elif decision.role:
            words = t("model.inherited", role=decision.role)
        elif decision.what == "temperature" and decision.value is None:
            words = t("model.provider-decides")
        else:
            words = of_engine(decision.reason)
        if decision.file is None:
            return words, ""
        place = f"{decision.file.name} {decision.field.removeprefix('settings.')}"
        return words, place if line is None else t("model.line", place=place, line=line)

    def _show_problems(self) -> None:
        provider = self._state.resolution.provider
        found = [
            f"! {of_engine(problem.told())}"
            for problem in (*self._state.resolution.problems, *self._state.providers.problems)
        ]
        found = [*filter(None, [self._fault(provider)]), *found]
        more = len(found) - PROBLEMS_SHOWN
        lines = found[:PROBLEMS_SHOWN]
        lines += [t("model.more-problems", count=more)] if more > 0 else []
        problems = self.query_one("#problems", Static)
        problems.display = bool(lines)
        problems.update(Content(visible("\n".join(lines))))

    def _fault(self, provider: Provider) -> str:
        """Why a provider can't be used as it is; empty when it can."""
        if not provider.enabled:
            return f"{'' if is_spoken(self) else '✗ '}{t('model.disabled')}"
        if provider.key.variable and provider.key.value() is None:
            return t("model.no-key", variable=provider.key.variable)
        return ""

    async def _refresh(self) -> None:
        role = self._role
        try:
            state = await self.wait(lambda: ModelState.read(self.workspace, self._story, role))
        except StonehandError as error:
            self.say(of_error(error), warning=True)
            return
        if role == self._role:
            self._state = state
            self._show()

    # -- choosing

    @on(ChoiceBar.Chosen, "#role")
    def _role_chosen(self, message: ChoiceBar.Chosen) -> None:
        self._role = message.value
        self.say("")
        self.begin(self._refresh, "refresh", exclusive=True)

    @on(Setting.Change, "#provider")
    def _provider_wanted(self) -> None:
        self.begin(self._pick_provider, "pick", exclusive=True)

    async def _pick_provider(self) -> None:
        providers = self._state.providers
        names = [_INHERIT, *(provider.id for provider in providers.all)]
        inherited = self._state.inherited
        above = inherited.provider.id if inherited is not None else providers.default or t("model.none")
        labels = [t("model.inherit", value=above)]
        for provider in providers.all:
            parts = [provider.id, provider.default_model, t("model.default") * (provider.id == providers.default)]
            labels.append("  ".join(filter(None, [*parts, self._fault(provider)])))
        chosen = await self.app.push_screen_wait(PickDialog(t("model.pick-provider"), names, labels))
        if chosen is not None:
            await self._choose(provider=chosen or None)

    @on(Setting.Change, "#model")
    def _model_wanted(self) -> None:
        if self._state.resolution.configured:
            self.begin(self._pick_model, "pick", exclusive=True)
        else:
            self.say(t("model.no-model-to-choose"), warning=True)

    async def _pick_model(self) -> None:
        resolution, inherited = self._state.resolution, self._state.inherited
        provider = resolution.provider
        names = [provider.default_model, *(declared.id for declared in provider.models), resolution.model or ""]
        same = inherited is not None and inherited.provider.id == provider.id
        above = inherited.model if same and inherited is not None else provider.default_model
        first = (_INHERIT, t("model.inherit", value=above or provider.default_model))
        title = t("model.pick-model", provider=provider.id)
        chosen = await self.app.push_screen_wait(NameDialog(title, [*dict.fromkeys(filter(None, names))], first))
        if chosen is not None:
            await self._choose(model=chosen or None)

    @on(Setting.Inherit)
    def _inherit_wanted(self, message: Setting.Inherit) -> None:
        what = str(message.setting.id)
        self.begin(lambda: self._choose(**{what: None}), "choose")

    @on(Temperature.Chosen)
    def _temperature_chosen(self, message: Temperature.Chosen) -> None:
        self.begin(lambda: self._set_temperature(message.text), "choose")

    async def _set_temperature(self, text: str) -> None:
        try:
            wanted = float(text)
        except ValueError:
            self.say(t("model.no-number", text=text), warning=True)
            return
        await self._choose(temperature=wanted)

    async def _choose(self, **values: Any) -> None:
        """Save a choice of provider, model or temperature, None to inherit, and show what came of it."""
        async with self._one_at_a_time:
            story, role = self._story, self._role
            try:
                change = await self.wait(lambda: self.workspace.models.choose(story, role, **values))
            except StonehandError as error:
                self.say(of_error(error), warning=True)
                return
            if change is not None:
                self._done.append(change)
                self._undone.clear()
            await self._refresh()
            self._tell(values, changed=change is not None)

    def _tell(self, values: dict[str, Any], *, changed: bool) -> None:
        """Say what was done, and whether the value chosen is the one that counts."""
        for decision, line in zip(self._state.resolution.explain, self._state.lines, strict=True):
            wanted = values.get(decision.what)
            if wanted is not None and wanted != decision.value:
                source = " · ".join(filter(None, self._source(decision, line)))
                self.say(
                    t("model.not-counted", what=t(f"model.{decision.what}"), value=wanted, source=source), warning=True
                )
                return
        self.say(t("model.saved", role=self._role) if changed else t("model.unchanged"))

    def action_undo(self) -> None:
        self.begin(lambda: self._take_back(undo=True), "choose")

    def action_redo(self) -> None:
        self.begin(lambda: self._take_back(undo=False), "choose")

    async def _take_back(self, *, undo: bool) -> None:
        """Undo the last change, or do the one again that was undone last."""
        source, target = (self._done, self._undone) if undo else (self._undone, self._done)
        async with self._one_at_a_time:
            if not source:
                self.say(t("model.nothing-to-undo") if undo else t("model.nothing-to-redo"))
                return
            change = source.pop()
            try:
                target.append(await self.wait(lambda: self.workspace.models.undo(change)))
            except StonehandError as error:
                source.clear()  # what came before can't be taken back either
                self.say(of_error(error), warning=True)
                return
            await self._refresh()
            self.say(t("model.undone", role=change.role) if undo else t("model.redone", role=change.role))

    # -- leaving

    def action_leave(self) -> None:
        self.begin(self._leave, "leave", exclusive=True)

    async def _leave(self) -> None:
        text = self.query_one("#temperature", Temperature).take()
        if text:
            await self._set_temperature(text)
        async with self._one_at_a_time:
            self.dismiss(None)
