"""The compiled prompt: exactly what is sent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, Static

from engine.errors import InvalidFile, StonehandError
from engine.prompt import Prompt
from engine.session import Session
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.clipboard import copy
from tui.language import of_engine, of_error, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.screens.base import WorkingScreen
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.budget_words import budget_words, model_name
from tui.widgets.line_input import LineInput
from tui.widgets.prompt_view import PromptView

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.story import Fragment
    from engine.why import Explanation
    from tui.screens.preview import PreviewInputs


class PromptScreen(WorkingScreen[None]):
    """Reads, searches and copies the prompt of a session."""

    places: tuple[Place, ...] = ("prompt",)
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_for("prompt"),
        Binding("escape,q", "leave", "Back", show=False),
        Binding("question_mark", "help", "Help", show=False),
        Binding("enter", "edit_block", "Edit this block", show=False),
    ]

    def __init__(self, session: Session, asked: tuple[str | None, str | None] = (None, None)) -> None:
        """`asked`: the provider and the model that are called, None for what the agent is set to."""
        super().__init__()
        self._provider, self._model = asked
        self._saved = session
        self._session = session
        """What is shown: the session that is edited, or one made for a preview with other inputs."""
        self._prompt: Prompt | None = None
        self._budget: Budget | None = None
        self._used = 0
        self._explaining: Callable[[], Explanation] | None = None
        self._explanation: Explanation | None = None
        self._pointed_key: str | None = None

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield PromptView(id="prompt")
        yield Static(id="why", markup=False)
        yield LineInput(id="search", placeholder=t("prompt.search"))
        yield KeyBar(id="keys")

    @property
    def view(self) -> PromptView:
        return self.query_one("#prompt", PromptView)

    async def on_mount(self) -> None:
        self.query_one("#search").display = False
        self.query_one("#why").display = False
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "prompt"))
        await self._show_prompt()

    async def _show_prompt(self) -> None:
        session = self._session
        self._stop_pointing()
        self._prompt = self._explaining = self._explanation = None
        try:
            # Of what is shown, whatever is loaded meanwhile.
            self._explaining = session.explaining()
            prompt = self._prompt = await self.wait(session.compiling())
        except StonehandError as error:
            self.query_one("#top", TopBar).show(self._title, self.branch_name(session.branch), t("prompt.not-compiled"))
            self.view.show((), {})
            self.say(of_error(error), warning=True)
            return
        tokens = {block.id: block.tokens for block in prompt.blocks}
        self.view.show(prompt.messages, tokens)
        self.view.focus()
        models, provider, model = self.workspace.models, self._provider, self._model
        budget = self._budget = await self.wait(
            lambda: models.budget(session.story, session.agent, provider=provider, model=model)
        )
        self._used = await self.wait(lambda: prompt.tokens.total + self.workspace.generation.tool_tokens(prompt))
        self._show_top(prompt, budget)
        if prompt.warnings:
            first, more = of_engine(prompt.warnings[0]), len(prompt.warnings) - 1
            self.say(t("prompt.more", warning=first, count=more) if more else first, warning=True)

    def _show_top(self, prompt: Prompt, budget: Budget) -> None:
        agent = of_engine(self.workspace.agent(self._session.agent).display_name).lower()
        words = budget_words(self._used, budget)
        blocks = t("prompt.blocks", count=len(prompt.blocks))
        self.query_one("#top", TopBar).show(
            self._title,
            self.branch_name(self._session.branch),
            f"{agent} · {blocks} · {model_name(budget)}   {words[0]}",
            *(f"{agent} {word}" for word in words),
            words[-1],
            alert=budget.fit(self._used) == "no",
        )

    def say_again(self) -> None:
        self.query_one("#search", Input).placeholder = t("prompt.search")
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, "prompt"))
        self.view.refresh()
        if self._prompt is not None and self._budget is not None:
            self._show_top(self._prompt, self._budget)

    def action_search(self) -> None:
        box = self.query_one("#search", Input)
        box.display = True
        box.focus()

    @on(Input.Changed, "#search")
    def _searched(self, message: Input.Changed) -> None:
        count = self.view.search(message.value)
        if message.value:
            self.say(t("prompt.matches", count=count), warning=not count)

    @on(Input.Submitted, "#search")
    def _search_done(self) -> None:
        box = self.query_one("#search", Input)
        box.display = False
        self.view.focus()
        if box.value:
            self.action_next_match()

    def action_next_match(self) -> None:
        self._tell_match(self.view.next_match())

    def action_previous_match(self) -> None:
        self._tell_match(self.view.previous_match())

    def _tell_match(self, number: int) -> None:
        if number:
            self.say(t("prompt.match", number=number, total=self.view.match_count))

    def action_next_block(self) -> None:
        self.view.next_block()

    def action_previous_block(self) -> None:
        self.view.previous_block()

    def action_jump(self) -> None:
        from tui.screens.jump import JumpDialog

        def done(block_id: str | None) -> None:
            if block_id is not None:
                self.view.goto_block(block_id)

        self.app.push_screen(JumpDialog(self.view.blocks), done)

    def action_copy_block(self) -> None:
        block = self.view.current_block
        if block is not None:
            self.say(t("prompt.copied", name=block.name, result=copy(self.app, self.view.text_of(block.id)).message))

    def action_request(self) -> None:
        """Show the body that this prompt is sent as."""
        if (prompt := self._prompt) is not None:
            self.begin(lambda: self._show_request(prompt), "request", exclusive=True)

    async def _show_request(self, prompt: Prompt) -> None:
        from tui.screens.request import RequestScreen

        try:
            wires, provider, model = self.workspace.wires, self._provider, self._model
            request = await self.wait(lambda: wires.request_body(prompt, provider, model=model))
        except StonehandError as error:
            self.say(of_error(error), warning=True)
            return
        if request is None:
            self.say(t("request.none"), warning=True)
        else:
            self.app.push_screen(RequestScreen(request))

    def action_copy_prompt(self) -> None:
        self.say(copy(self.app, self.view.text).message)

    def action_edit_block(self) -> None:
        """Go back to the main screen, to this block."""
        block = self.view.current_block
        if self.view.pointing and self._pointed_key is not None:
            self.stonehand.go_to_block(self._pointed_key, self._saved)
        elif block is not None:
            self.stonehand.go_to_block(block.id, self._saved)
        else:
            self.dismiss(None)

    # -- other inputs, for this preview alone

    @property
    def _title(self) -> str:
        """What is shown, with what it is previewed with."""
        session, saved = self._session, self._saved
        if session is saved:
            return t("prompt.title")
        parts = [t("preview.with-direction")] if session.author_input != saved.author_input else []
        parts += [session.target] if session.target is not None else []
        return t("preview.of", inputs=" · ".join(parts)) if parts else t("preview.of-branch")

    def action_preview_inputs(self) -> None:
        self.begin(self._ask_inputs, "inputs", exclusive=True)

    async def _ask_inputs(self) -> None:
        from tui.screens.preview import PreviewDialog, PreviewInputs

        session, saved, workspace = self._session, self._saved, self.workspace
        branches = (await self.wait(workspace.story(saved.story).branches)).all

        async def targets(branch: str) -> Sequence[Fragment]:
            return await self.wait(lambda: workspace.targets(saved.story, saved.agent, branch))

        takes_target = workspace.agent(saved.agent).subject is not None
        chosen = await self.app.push_screen_wait(
            PreviewDialog(
                PreviewInputs(session.author_input, session.target, session.branch),
                PreviewInputs(saved.author_input, saved.target, saved.branch),
                branches,
                targets if takes_target else None,
            )
        )
        if chosen is not None:
            await self._preview(chosen)

    async def _preview(self, inputs: PreviewInputs) -> None:
        saved, workspace = self._saved, self.workspace
        if (inputs.direction, inputs.target, inputs.branch) == (saved.author_input, saved.target, saved.branch):
            self._session = saved
        else:

            def prepared() -> Session:
                session = workspace.session(saved.story, saved.agent, inputs.branch, target=inputs.target)
                session.author_input = inputs.direction
                if (fault := session.document.fault) is not None:
                    raise InvalidFile.of(fault)
                session.install(session.load())
                return session

            try:
                self._session = await self.wait(prepared)
            except StonehandError as error:
                self.say(of_error(error), warning=True)
                return
        await self._show_prompt()

    # -- why a line is there

    def action_why_line(self) -> None:
        """Point at a line and say where it came from; once more ends it."""
        if self.view.pointing:
            self._stop_pointing()
        elif self._explaining is not None and self._prompt is not None:
            self.begin(self._explain, "why", exclusive=True)

    async def _explain(self) -> None:
        if self._explanation is None and self._explaining is not None:
            self._explanation = await self.wait(self._explaining)
        self.query_one("#why").display = True
        # The panel takes rows from the view: the pointer must be seen in what is left.
        self.call_after_refresh(self.view.point)

    def _stop_pointing(self) -> None:
        self.query_one("#why").display = False
        self.view.stop_pointing()

    @on(PromptView.Pointed)
    def _pointed(self, message: PromptView.Pointed) -> None:
        from tui.why_text import block_reasons, line_reasons

        explanation, session = self._explanation, self._session
        if explanation is None:
            return
        reasons = explanation.at(message.message, message.start, message.end)
        self._pointed_key = reasons.key
        arrow = "" if is_spoken(self.view) else "→ "
        lines = [f"{arrow}{line}" for line in line_reasons(reasons)]
        name = reasons.key or ""
        if reasons.key is not None and (row := next((row for row in session.rows if row.key == reasons.key), None)):
            name = row.name
            lines += block_reasons(session.why_block(row.key))
        text = "\n".join(map(visible, [t("why.title", name=name), *lines]))
        self.view.remark = ". ".join(lines)
        self.query_one("#why", Static).update(Content(text))

    def action_compare_prompt(self) -> None:
        desk = self.stonehand.desk
        if desk is not None and self._prompt is not None:
            desk.show_comparison(self._session)

    def action_help(self) -> None:
        self.stonehand.action_keys()

    def action_leave(self) -> None:
        box = self.query_one("#search", Input)
        if box.display:
            box.value = ""
            box.display = False
            self.view.focus()
        elif self.view.pointing:
            self._stop_pointing()
        else:
            self.dismiss(None)
