"""Two past runs compared: what they were sent, and what they gave. Or one, and the prompt as it is now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from engine.errors import StonehandError
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.language import of_error, t
from tui.screen_reader import is_spoken
from tui.screens.comparison import ComparesTexts
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.cells import short_count
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.compare_view import CompareView

if TYPE_CHECKING:
    from engine.comparison import BlockChange, Comparison, SentBlock
    from engine.runs.records import RunRecord
    from engine.workspace.history import RunComparison

PROMPT, ANSWER = "prompt", "answer"


class RunDiffScreen(ComparesTexts):
    """What differs between two runs; without `after`, between one and the prompt as it is now."""

    places: tuple[Place, ...] = ("difference", "run-diff")
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("run-diff")

    def __init__(
        self, branch: str, before: RunRecord, after: RunRecord | None, compared: Callable[[], RunComparison]
    ) -> None:
        """`compared` is called on an engine thread; without `after` what it tells of answers is not shown."""
        super().__init__()
        self._branch, self._before, self._after = branch, before, after
        self._compared = compared
        self._found: RunComparison | None = None
        self._part = PROMPT

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        bar = ChoiceBar(_choices(), self._part, own=False, shorts=["1", "2"], id="part")
        bar.display = self._after is not None
        yield bar
        yield Static(id="outcome", markup=False)
        yield CompareView(id="comparison")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.say_again()
        self.view.focus()
        self.tell(t("compare.comparing"))
        self.begin(self._compare, "compare", exclusive=True)

    def say_again(self) -> None:
        keys = bar_keys(self.stonehand.keys, *self.places)
        if self._after is None:
            keys = [key for key in keys if key[2].place != "run-diff"]
        self.query_one("#keys", KeyBar).show(keys)
        self.query_one("#part", ChoiceBar).name_choices(_choices())
        self._show_title()
        if self._found is not None:
            self._show(self._found)

    async def _compare(self) -> None:
        try:
            self._found = await self.wait(self._compared)
        except StonehandError as error:
            self.tell(of_error(error))
            return
        self._show(self._found)
        self._show_title()

    def _show(self, found: RunComparison) -> None:
        comparison = self.comparison = _named(found.answer if self._part == ANSWER and found.answer else found.prompt)
        self.view.show(comparison)
        self.tell(self._outcome(comparison))

    def _show_title(self) -> None:
        states = [""]
        if self._found is not None:
            prompt = self._found.prompt
            before, after = short_count(prompt.before_tokens), short_count(prompt.after_tokens)
            states = [t("compare.tokens", before=before, after=after), f"{before} → {after}"]
        self.query_one("#top", TopBar).show(t("runs.diff-title"), self.branch_name(self._branch), *states)

    def _outcome(self, comparison: Comparison) -> str:
        values = {"before": self._before.at, "after": "" if self._after is None else self._after.at}
        of = t("runs.diff-of" if self._after is not None else "runs.diff-now", **values)
        if comparison.same:
            return t("runs.diff-same", of=of)
        text = t(
            "runs.diff-outcome-said" if is_spoken(self.view) else "runs.diff-outcome",
            of=of,
            count=len(comparison.changed),
            added=short_count(comparison.added),
            removed=short_count(comparison.removed),
        )
        return f"{text} {t('compare.by-message')}" if comparison.by_message else text

    # -- prompt or answer

    @on(ChoiceBar.Chosen, "#part")
    def _part_chosen(self, message: ChoiceBar.Chosen) -> None:
        self._choose(message.value)
        self.view.focus()

    def action_diff_prompt(self) -> None:
        self._choose(PROMPT)

    def action_diff_answer(self) -> None:
        if self._after is None:
            self.say(t("runs.diff-no-answer"), warning=True)
        else:
            self._choose(ANSWER)

    def action_diff_back(self) -> None:
        self.action_leave()

    def _choose(self, part: str) -> None:
        self._part = self.query_one("#part", ChoiceBar).value = part
        if self._found is not None:
            self._show(self._found)


def _choices() -> list[tuple[str, str]]:
    return [(PROMPT, f"1 {t('runs.part-prompt')}"), (ANSWER, f"2 {t('runs.part-answer')}")]


def _named(comparison: Comparison) -> Comparison:
    """A comparison in which what agents wrote goes by its name in the language in use."""
    return replace(comparison, changes=tuple(map(_named_change, comparison.changes)))


def _named_change(change: BlockChange) -> BlockChange:
    return replace(change, before=_named_block(change.before), after=_named_block(change.after))


def _named_block(block: SentBlock | None) -> SentBlock | None:
    if block is None or block.role != "assistant":
        return block
    return replace(block, name=t(f"runs.part-{block.id}"))
