"""What the agent that is open is run with: its model, its tools, and what its prompt may cost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from textual import on

from engine.document.state import SaveState
from engine.errors import Problem, StonehandError
from tui.language import of_engine, t
from tui.screens.base import WorkingScreen
from tui.screens.desk_part import DeskPart
from tui.widgets.bars import TopBar
from tui.widgets.budget_words import budget_words, model_name

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.models.choice import ModelChange
    from engine.session import Session


@dataclass(frozen=True, slots=True)
class _Counted:
    """Tokens of what is sent beside the blocks of an agent, with these tools `disabled`."""

    story: str
    agent: str
    disabled: tuple[str, ...]
    tools: int
    opening: int


class AgentActions(DeskPart):
    """The model in force is looked up beside the interface whenever the story, or who there is to answer, changed."""

    _budget: tuple[str, str, Budget] | None = None
    _counted: _Counted | None = None

    @cached_property
    def _model_changes(self) -> dict[str, tuple[list[ModelChange], list[ModelChange]]]:
        """What was changed about each story's models, to be taken back, and what was taken back."""
        return {}

    @property
    def budget(self) -> Budget | None:
        """The budget of the open agent; None before it was looked up."""
        session, known = self.session, self._budget
        if session is None or known is None or known[:2] != (session.story, session.agent):
            return None
        return known[2]

    def look_up_model(self) -> None:
        """Find out what the open agent is run with, and show it; so do the screens in front of this one."""
        self.begin(self._look_up, "model", exclusive=True)
        for screen in self.app.screen_stack:
            if isinstance(screen, WorkingScreen) and screen is not self:
                screen.look_up_model()

    async def _look_up(self) -> None:
        session = self.session
        if session is None:
            return
        story, agent = session.story, session.agent
        self._tell_of_providers((await self.wait(self.workspace.models.providers)).problems)
        with suppress(StonehandError):  # told of where the story is read
            budget = await self.wait(lambda: self.workspace.models.budget(story, agent))
            self._budget = (story, agent, budget)
            await self._count_tools(session)
            self.show_state()

    def _tell_of_providers(self, problems: tuple[Problem, ...]) -> None:
        """Say what of the files of providers is left out, when that is something else than before."""
        if problems != self.stonehand.provider_problems:
            self.stonehand.provider_problems = problems
            self.stonehand.tell_problems(t("settings.providers"), [of_engine(problem.told()) for problem in problems])

    async def _count_tools(self, session: Session) -> None:
        story, agent, disabled = session.story, session.agent, session.document.config.disabled_tools
        generation = self.workspace.generation
        tools, opening = await self.wait(
            lambda: (generation.tool_tokens_of(session), generation.opening_tokens_of(session))
        )
        self._counted = _Counted(story, agent, disabled, tools, opening)

    @property
    def tool_tokens(self) -> int:
        """About how many tokens the open agent's tools are; 0 before they were counted."""
        known = self._counted_here
        return 0 if known is None else known.tools

    @property
    def opening_tokens(self) -> int:
        """About how many tokens the message has that a run of the open agent puts behind its prompt."""
        known = self._counted_here
        return 0 if known is None else known.opening

    @property
    def _counted_here(self) -> _Counted | None:
        session, known = self.session, self._counted
        if session is None or known is None or (known.story, known.agent) != (session.story, session.agent):
            return None
        return known

    def follow_providers(self) -> None:
        """Look the model up again when a file that defines providers changes."""
        self.workspace.watching.listen_to_providers(lambda: self.call_later(self.look_up_model))

    def show_budget(self, story: str, branch: str, agent: str, state: SaveState, used: int) -> None:
        """The top bar: the names of story and branch, the open agent, the state of its file, and about `used` tokens,
        and those of what is sent beside the blocks, in the budget.
        """
        session, budget = self.session, self.budget
        if session is None:
            return
        used += self.tool_tokens + self.opening_tokens
        counted = self._counted_here
        if counted is not None and counted.disabled != session.document.config.disabled_tools:
            self.look_up_model()
        mark = [] if state is SaveState.SAVED else [t(f"budget.state-{state.value}")]
        model = [] if budget is None else [model_name(budget)]
        words = budget_words(used, budget)
        whole, short = " · ".join([agent, *model, *mark]), " · ".join([agent, *mark])
        self.query_one("#top", TopBar).show(
            story,
            branch,
            f"{whole}   {words[0]}",
            f"{whole} {words[-1]}",
            *(f"{short} {word}" for word in words[1:]),
            " ".join([*mark, words[-1]]),
            alert=budget is not None and budget.fit(used) == "no",
        )

    @on(TopBar.Pressed)
    def _state_pressed(self) -> None:
        self.action_budget()

    # -- the actions

    def action_budget(self) -> None:
        self.begin(self._show_budget, "budget", exclusive=True)

    async def _show_budget(self) -> None:
        from tui.screens.budget import BudgetDialog

        session = self.session
        if session is None:
            return
        self.collect()
        budget = self.budget
        if budget is None:
            budget = await self.wait(lambda: self.workspace.models.budget(session.story, session.agent))
        await self._count_tools(session)
        name = of_engine(self.workspace.agent(session.agent).display_name)
        dialog = BudgetDialog(name, session.rows, budget, self.tool_tokens, self.opening_tokens)
        key = await self.app.push_screen_wait(dialog)
        if key == "":
            self.action_tools()
        elif key is not None and session is self.session:
            self.show_key(key)
            self.show_pane("blocks")
            self.blocks.focus()

    def action_tools(self) -> None:
        from tui.screens.tools import ToolsDialog

        session = self.session
        if session is not None:
            self.collect()
            definition = self.workspace.agent(session.agent)
            described = self.workspace.tool_descriptions(definition.tools)
            self.app.push_screen(ToolsDialog(of_engine(definition.display_name), session, described, self))

    def action_model(self) -> None:
        self.begin(self._show_model, "model-dialog", exclusive=True)

    async def _show_model(self) -> None:
        from tui.screens.model import ModelDialog, ModelState

        session = self.session
        if session is None:
            return
        state = await self.wait(lambda: ModelState.read(self.workspace, session.story, session.agent))
        done, undone = self._model_changes.setdefault(session.story, ([], []))
        self.app.push_screen(ModelDialog(session.story, state, done, undone))
