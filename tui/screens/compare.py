"""What an edit does to the prompt: the compiled prompt against an earlier one, the default, another branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, get_args

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Static

from engine.errors import StonehandError
from engine.workspace import Reference, ReferenceKind
from tui.actions import Place, bar_keys
from tui.bindings import bindings_for
from tui.language import of_engine, of_error, t
from tui.screen_reader import is_spoken
from tui.screens.comparison import ComparesTexts
from tui.widgets.bars import KeyBar, TopBar
from tui.widgets.cells import short_count
from tui.widgets.choice_bar import ChoiceBar
from tui.widgets.compare_view import CompareView

if TYPE_CHECKING:
    from engine.comparison import Comparison
    from engine.session import Session

KINDS: tuple[ReferenceKind, ...] = get_args(ReferenceKind)


class CompareScreen(ComparesTexts):
    """Compares the prompt of a session, as it stands, with a reference that can be chosen."""

    places: tuple[Place, ...] = ("difference", "compare")
    BINDINGS: ClassVar[list[BindingType]] = bindings_for("compare")

    def __init__(self, session: Session, reference: Reference, chosen: Callable[[Reference], None]) -> None:
        """`chosen` is told of each reference that is chosen."""
        super().__init__()
        self._session = session
        self._reference = reference
        self._chosen = chosen

    def compose(self) -> ComposeResult:
        yield TopBar(id="top")
        yield ChoiceBar(
            _choices(),
            self._reference.kind,
            own=False,
            shorts=[str(number) for number in range(1, len(KINDS) + 1)],
            id="against",
        )
        yield Static(id="outcome", markup=False)
        yield CompareView(id="comparison")
        yield KeyBar(id="keys")

    def on_mount(self) -> None:
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, *self.places))
        self.view.focus()
        self._show_title(None)
        self._compare()

    def say_again(self) -> None:
        self.query_one("#against", ChoiceBar).name_choices(_choices())
        self.query_one("#keys", KeyBar).show(bar_keys(self.stonehand.keys, *self.places))
        self._show_title(self.comparison)
        if self.comparison is not None:
            self.tell(self._outcome(self.comparison))
        self.view.refresh()

    def _compare(self) -> None:
        self.query_one("#against", ChoiceBar).value = self._reference.kind
        self.tell(t("compare.comparing"))
        self.begin(self._compared, "compare", exclusive=True)

    async def _compared(self) -> None:
        session, reference = self._session, self._reference
        try:
            compared = self.workspace.comparing(session, reference)
            comparison = self.comparison = await self.wait(compared)
        except StonehandError as error:
            self.comparison = None
            self.view.show(None)
            self.tell(of_error(error))
            return
        self.view.show(comparison)
        self._show_title(comparison)
        self.tell(self._outcome(comparison))

    def _show_title(self, comparison: Comparison | None) -> None:
        session = self._session
        agent = of_engine(self.workspace.agent(session.agent).display_name).lower()
        states = [agent]
        if comparison is not None:
            before, after = short_count(comparison.before_tokens), short_count(comparison.after_tokens)
            states = [f"{agent} · {t('compare.tokens', before=before, after=after)}", f"{before} → {after}"]
        self.query_one("#top", TopBar).show(t("compare.title"), self.branch_name(session.branch), *states)

    def _outcome(self, comparison: Comparison) -> str:
        against = t(f"compare.than-{self._reference.kind}", branch=self._reference.branch, at=_time(comparison.at))
        if comparison.same:
            return t("compare.same", against=against)
        text = t(
            "compare.outcome-said" if is_spoken(self.view) else "compare.outcome",
            against=against,
            count=len(comparison.changed),
            added=short_count(comparison.added),
            removed=short_count(comparison.removed),
        )
        return f"{text} {t('compare.by-message')}" if comparison.by_message else text

    # -- what it is compared with

    @on(ChoiceBar.Chosen, "#against")
    def _against_chosen(self, message: ChoiceBar.Chosen) -> None:
        self._against(next(kind for kind in KINDS if kind == message.value))
        self.view.focus()

    def action_against_opened(self) -> None:
        self._against("opened")

    def action_against_saved(self) -> None:
        self._against("saved")

    def action_against_default(self) -> None:
        self._against("default")

    def action_against_sent(self) -> None:
        self._against("sent")

    def action_against_branch(self) -> None:
        self._against("branch")

    def _against(self, kind: ReferenceKind) -> None:
        if kind == "branch":
            self.begin(self._choose_branch, "branch", exclusive=True)
        else:
            self._choose(Reference(kind))

    async def _choose_branch(self) -> None:
        from tui.screens.pick import PickDialog

        session = self._session
        branches = await self.wait(lambda: self.workspace.story(session.story).branches().all)
        others = [branch for branch in branches if branch.id != session.branch]
        if not others:
            self.say(t("compare.no-branch"), warning=True)
            return
        named = [(other.id, other.name) for other in others]
        labels = [id if name.casefold() == id.casefold() else f"{name} · {id}" for id, name in named]
        chosen = await self.app.push_screen_wait(
            PickDialog(t("compare.choose-branch"), [id for id, _ in named], labels)
        )
        if chosen is not None:
            self._choose(Reference("branch", chosen))

    def _choose(self, reference: Reference) -> None:
        self._reference = reference
        self._chosen(reference)
        self._compare()

    # -- leaving

    def action_edit_compared(self) -> None:
        """Go back to the main screen, to this block."""
        change = self.view.current
        if change is not None:
            self.stonehand.go_to_block(change.block.id, self._session)


def _choices() -> list[tuple[str, str]]:
    return [(kind, f"{number} {t(f'compare.against-{kind}')}") for number, kind in enumerate(KINDS, 1)]


def _time(stamp: str) -> str:
    """A time of a log as a person reads it, in this place's time; as it is where it is no time."""
    from datetime import datetime

    try:
        return f"{datetime.fromisoformat(stamp).astimezone():%Y-%m-%d %H:%M}"
    except ValueError:
        return stamp
