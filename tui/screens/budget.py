"""The budget of a prompt: what each block takes of the model's context, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from textual import events, on
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from engine.blocks.block import ROLES
from engine.budget import LARGEST_NAMED, TOTAL_MARGIN, Budget, Costed, Part, largest, least, most, parts
from tui.actions import Place
from tui.language import of_engine, t
from tui.safe_text import visible
from tui.screen_reader import is_spoken
from tui.widgets.budget_words import bar
from tui.widgets.cells import fit, short_count
from tui.widgets.row_render import role_letters

if TYPE_CHECKING:
    from engine.blocks.rows import Row
    from engine.models.windows import Window
    from engine.runs import Run
    from engine.workspace.generation import Cost
    from tui.screens.base import WorkingScreen

_LEAST_NAME = 12
"""Cells that a block's name has before columns are left out."""


class Summary(VerticalScroll):
    """Lines that are a stop of the tab key only where there is too little room for them."""

    def allow_focus(self) -> bool:
        return super().allow_focus() and self.max_scroll_y > 0


@dataclass(frozen=True, slots=True)
class Beside:
    """What is sent beside the blocks: the definitions of the agent's tools, or the message behind the prompt."""

    name: str
    tokens: int
    role: str


class BudgetDialog(ModalScreen[str | None]):
    """Shows what a prompt costs, with `tools` tokens of tool definitions and `opening` tokens of the message behind it;
    the answer is the key of the block that was chosen, empty for the tools, None for escape.
    """

    places: tuple[Place, ...] = ("app",)
    BINDINGS = [
        ("escape,q,B", "leave", "Leave"),
        ("j", "step(1)", "Down"),
        ("k", "step(-1)", "Up"),
    ]

    def __init__(self, agent: str, rows: Sequence[Row], budget: Budget, tools: int = 0, opening: int = 0) -> None:
        super().__init__()
        self._agent, self._budget = agent, budget
        self._rows = [row for row in rows if row.tokens]
        costed: list[Costed] = [*self._rows]
        if tools:
            costed.append(Beside(t("budget.tools"), tools, "tools"))
        if opening:
            costed.append(Beside(t("budget.opening"), opening, "user"))
        self._tools, self._opening = tools, opening
        self._parts = parts(costed)
        self._used = sum(part.tokens for part in self._parts)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide") as dialog:
            dialog.border_title = Content(visible(t("budget.title", agent=self._agent)))
            dialog.border_subtitle = t("budget.keys")
            with Summary(id="summary"):
                yield Static(Content(self._told()), classes="text", markup=False)
            yield Static("", id="columns", classes="label", markup=False)
            yield OptionList(id="parts")

    def on_mount(self) -> None:
        self.query_one("#parts").focus(scroll_visible=False)

    def _told(self) -> str:
        """The summary, as it is drawn or as it is heard."""
        text = "\n".join(self._summary())
        return text.replace("~", t("budget.about")).replace("±", t("budget.within")) if is_spoken(self) else text

    def _summary(self) -> list[str]:
        """What there is, what is taken of it, and whether that goes."""
        budget, used = self._budget, self._used
        window, room = budget.window, budget.room
        model = visible(window.model)
        sums: dict[str, int] = {role: sum(row.tokens or 0 for row in self._rows if row.role == role) for role in ROLES}
        sums["user"] += self._opening
        if self._tools:
            sums["tools"] = self._tools
        by_role = " + ".join(f"{t(f'block.role.{role}')} ~{count:,}" for role, count in sums.items())
        known = t(f"budget.known-{window.known}", place=visible(place_of(window)))
        lines = [t("budget.prompt", used=f"{used:,}", roles=by_role, margin=f"{TOTAL_MARGIN:.0%}")]
        kept = t("budget.reserve", tokens=f"{budget.reserve:,}", why=t(f"budget.reserved-{budget.reserved}"))
        if window.tokens is None or room is None:
            return [t("budget.unknown", model=model, why=known), *lines, kept]
        share = used / window.tokens
        drawn = "" if is_spoken(self) else f" {bar(share)}"
        lines[0] = f"{lines[0]}{drawn} {share:.0%}"
        verdict = t(
            f"budget.fit-{budget.fit(used)}",
            free=f"{max(0, room - used):,}",
            excess=f"{budget.excess(used):,}",
            least=f"{least(used):,}",
            most=f"{most(used):,}",
            room=f"{room:,}",
        )
        return [t("budget.window", model=model, tokens=f"{window.tokens:,}", why=known), *lines, kept, verdict]

    # -- the list

    def on_resize(self, _event: events.Resize) -> None:
        self.call_after_refresh(self._list)

    def _list(self) -> None:
        options = self.query_one("#parts", OptionList)
        at = options.highlighted
        width = max(1, options.scrollable_content_region.width - 2)
        spoken = is_spoken(self)
        columns = self.query_one("#columns", Static)
        columns.display = not spoken
        columns.update(Content(_line(_headings(), width)))
        options.clear_options()
        options.add_options(
            [Option(Content(self._words(part) if spoken else _line(self._cells(part), width))) for part in self._parts]
            or [Option(t("budget.nothing"), disabled=True)]
        )
        options.highlighted = at if at is not None else 0

    def _cells(self, part: Part) -> tuple[str, ...]:
        sum_share = f"{part.so_far / self._used:.0%}" if self._used else ""
        role = role_letters(part.block.role)
        size, so_far = f"~{short_count(part.tokens)}", f"~{short_count(part.so_far)}"
        return part.block.name, role, size, f"{part.share:.0%}", so_far, sum_share

    def _words(self, part: Part) -> str:
        """A line of the list as it is heard."""
        return t(
            "budget.part",
            name=visible(part.block.name),
            role=t(f"reader.role.{part.block.role}"),
            tokens=part.tokens,
            share=f"{part.share:.0%}",
            so_far=part.so_far,
        )

    @on(OptionList.OptionSelected)
    def _selected(self, message: OptionList.OptionSelected) -> None:
        if self._parts:
            row = self._parts[message.option_index].block
            if isinstance(row, Beside) and row.role != "tools":
                return  # which no block leads to
            self.dismiss(next((known.key for known in self._rows if known is row), ""))

    def action_step(self, step: int) -> None:
        options = self.query_one("#parts", OptionList)
        options.action_cursor_down() if step > 0 else options.action_cursor_up()

    def action_leave(self) -> None:
        self.dismiss(None)


async def may_send(screen: WorkingScreen[Any], run: Run, provider: str | None, model: str | None) -> bool:
    """Stop before a prompt that can't fit is sent: it is only when the user says so. Warn of one that may not.

    `provider` and `model` are what the run was prepared with; its prewriter's prompt counts as well. Called in a worker
    of the screen it is sent from. Raises `StonehandError`.
    """
    workspace = screen.workspace
    costs = await screen.wait(lambda: workspace.generation.costs(run, provider, model))
    for cost in costs:
        fits = cost.budget.fit(cost.used)
        if fits == "maybe":
            screen.say(t("budget.may-not-fit", model=cost.budget.window.model), warning=True)
        agent = of_engine(workspace.agent(cost.prompt.agent).display_name) if len(costs) > 1 else ""
        if fits == "no" and not await _ask_over_budget(screen.app, cost, agent):
            return False
    return True


async def _ask_over_budget(app: App[int], cost: Cost, agent: str) -> bool:
    """Tell that a prompt does not fit, what is too much and what weighs most; whether it is to be sent all the same.
    `agent` is whose it is, where there are several.
    """
    from tui.screens.choice import ChoiceDialog

    budget, used, blocks = cost.budget, cost.used, cost.prompt.blocks
    biggest = ", ".join(f"{visible(block.name)} ~{block.tokens or 0:,}" for block in largest(blocks, LARGEST_NAMED))
    window = budget.window
    text = t(
        "budget.refusal",
        model=window.model,
        used=f"{used:,}",
        least=f"{least(used):,}",
        room=f"{budget.room or 0:,}",
        window=f"{window.tokens or 0:,}",
        reserve=f"{budget.reserve:,}",
        excess=f"{budget.excess(used):,}",
        blocks=biggest,
    )
    choices = [("s", t("budget.send-anyway")), ("escape", t("budget.do-not-send"))]
    title = t("budget.does-not-fit-of", agent=agent) if agent else t("budget.does-not-fit")
    return await app.push_screen_wait(ChoiceDialog(title, text, choices, safe=True)) == "s"


def place_of(window: Window) -> str:
    """The file and field that say the size of a window, as much of it as there is."""
    return f"{window.file.name if window.file is not None else ''} {window.field}".strip()


def _headings() -> tuple[str, ...]:
    return (*(t(f"budget.column-{name}") for name in ("block", "role", "tokens", "share", "sum")), "")


_WIDTHS = (5, 8, 6, 8, 6)
"""Of the columns behind the name."""


def _line(cells: Sequence[str], width: int) -> str:
    """A name and, right-aligned behind it, as many of the other columns as leave it room."""
    shown: list[str] = []
    room = width
    for cell, size in zip(cells[1:], _WIDTHS, strict=True):
        if room - size < _LEAST_NAME:
            break
        shown.append(_right(cell, size))
        room -= size
    return fit(cells[0], room) + "".join(shown)


def _right(text: str, width: int) -> str:
    """`text` at the end of `width` cells, after at least one space."""
    cut = fit(text, width - 1).rstrip()
    return " " * (width - cell_len(cut)) + cut
