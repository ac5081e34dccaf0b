"""A list of the blocks of a prompt, to jump to one."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from tui.language import t
from tui.ranking import ranked
from tui.screens.search_dialog import SearchDialog
from tui.widgets.cells import fit, short_count
from tui.widgets.line_input import LineInput
from tui.widgets.prompt_view import PromptBlock
from tui.widgets.row_render import role_letters


class JumpDialog(SearchDialog[str | None]):
    """Asks for a block by its name; the answer is its id, None for escape."""

    def __init__(self, blocks: Sequence[PromptBlock]) -> None:
        super().__init__()
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("prompt.jump")
            yield LineInput(placeholder=t("prompt.jump-wanted"), id="wanted")
            yield OptionList(id="blocks")

    def choose(self, index: int) -> None:
        self.dismiss(self.query_one(OptionList).get_option_at_index(index).id)

    def list_options(self, wanted: str) -> None:
        options = self.query_one(OptionList)
        options.clear_options()
        listed: set[str] = set()
        for block in ranked(wanted, self._blocks, lambda block: (block.name, block.id)):
            name = fit(block.name, max(8, min(34, self.app.size.width - 20)))
            line = f"{fit(role_letters(block.role), 3)}  {name} {short_count(block.tokens):>5}"
            # Two blocks may have one id, two options may not; jumping goes to the first.
            options.add_option(Option(Content(line), None if block.id in listed else block.id))
            listed.add(block.id)
        options.action_first()
