"""Changes to the story that an agent planned: shown as a difference, and accepted or declined by the author."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button

from engine.comparison import in_sight
from engine.differences import compare_lines
from tui.actions import Place
from tui.language import t
from tui.screen_reader import is_spoken
from tui.widgets.chat_view import ChatView, Kind, Piece

if TYPE_CHECKING:
    from engine.tools import FragmentChange, Plan

LEAST_ROWS = 3
"""Rows of the difference that are in sight however little room there is."""
FIELDS = ("name", "description", "content")
_DRAWN: dict[str, tuple[Kind, str]] = {" ": ("text", " "), "+": ("added", "+"), "-": ("removed", "−")}
_SAID = {"+": "compare.said-added", "-": "compare.said-removed"}


class PlanDialog(ModalScreen[bool | None]):
    """Asks what becomes of a plan: True when it is accepted, False when it is declined, None when it is left open."""

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [("escape", "decide(None)", "Later"), ("a", "decide(True)", "Accept"), ("d", "decide(False)", "Decline")]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = t("chat.plan.title", count=len(self._plan.changes))
            yield ChatView(id="plan", follow=False)
            with Horizontal(classes="answers"):
                yield Button(t("chat.plan.accept"), id="accept", variant="primary", compact=True)
                yield Button(t("chat.plan.decline"), id="decline", compact=True)
                yield Button(t("chat.plan.later"), id="later", compact=True)

    def on_resize(self, _event: events.Resize) -> None:
        self.call_after_refresh(self._fit)

    def _fit(self) -> None:
        """Make the list as high as what it shows, with a row free before the buttons, and no higher than leaves the
        dialog whole. Textual's automatic height would leave rows free for all of a longer one.
        """
        view = self.query_one(ChatView)
        view.styles.height = max(LEAST_ROWS, min(view.row_count + 1, self.size.height * 65 // 100))

    def on_mount(self) -> None:
        view = self.query_one(ChatView)
        view.show_pieces(tuple(plan_pieces(self._plan, spoken=is_spoken(self))))
        view.focus()

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        self.dismiss({"accept": True, "decline": False}.get(message.button.id or ""))

    def action_decide(self, accept: bool | None) -> None:
        self.dismiss(accept)


def plan_pieces(plan: Plan, *, spoken: bool) -> Iterator[Piece]:
    """A plan as a difference: each fragment with the lines that change, and what of it is not possible. `spoken`: words
    stand in the place of signs.
    """
    for text in (plan.title, plan.rationale):
        if text.strip():
            yield Piece("text", text)
    for change in plan.changes:
        yield Piece("space")
        yield from _change(change, spoken)
    for outcome in plan.outcomes:
        if outcome.error:
            yield Piece("note", t("chat.plan.failed", what=f"{outcome.label}: {outcome.error}"))


def _change(change: FragmentChange, spoken: bool) -> Iterator[Piece]:
    name = (change.before or change.after).name
    yield Piece("agent", t(f"chat.plan.{change.kind}", type=change.type, name=f"{name} ({change.fragment_id})"))
    for field in FIELDS:
        before = "" if change.before is None else getattr(change.before, field)
        after = getattr(change.after, field)
        if before == after:
            continue
        yield Piece("call", t(f"chat.plan.field.{field}"))
        lines = compare_lines(before, after)
        for shown, start, end in in_sight(lines):
            if not shown:
                yield Piece("call", f"  {t('chat.plan.same-lines', count=end - start)}")
                continue
            for line in lines[start:end]:
                kind, sign = _DRAWN[line.sign]
                if spoken and line.sign in _SAID:
                    sign = f"{t(_SAID[line.sign])}:"
                yield Piece(kind, f"{sign} {line.text}")
