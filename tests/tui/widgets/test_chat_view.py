"""A conversation that is drawn bit by bit is drawn as if at once, and no more of it than has changed."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult

from engine.story.revising import FragmentState
from engine.tools import FragmentChange, Outcome, Plan
from tui.screens.plan import PlanDialog, plan_pieces
from tui.widgets.chat_view import ChatView, Piece


class ChatApp(App[None]):
    def compose(self) -> ComposeResult:
        yield ChatView()


def rows(view: ChatView) -> list[tuple[Piece, str] | None]:
    return [view._row(row) for row in range(len(view._starts))]


_PIECES = st.lists(
    st.builds(Piece, st.sampled_from(["you", "text", "note"]), st.text(st.sampled_from("a 猫é\n\x1b"), max_size=30)),
    max_size=5,
)


async def test_pieces_are_drawn_as_if_at_once() -> None:
    app = ChatApp()
    async with app.run_test(size=(14, 6)) as pilot:
        view = app.query_one(ChatView)
        fresh = ChatView()
        fresh._width = view._width

        @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.lists(_PIECES, min_size=2, max_size=4), st.text("b \n", max_size=40))
        def shown(steps: list[list[Piece]], more: str) -> None:
            if steps[-1]:
                last = steps[-1][-1]
                steps.append([*steps[-1][:-1], Piece(last.kind, last.text + more)])
            for pieces in steps:
                view.show_pieces(pieces)
            fresh._pieces = tuple(steps[-1])
            fresh._starts, fresh._first_rows = type(fresh._starts)("Q"), []
            fresh._wrap_pieces(0)
            assert (view._starts, view._first_rows) == (fresh._starts, fresh._first_rows)
            drawn = [row for row in rows(view) if row is not None]
            assert len(drawn) == len(view._starts) and not any("\x1b" in text for _, text in drawn)

        shown()
        await pilot.pause()


async def test_only_the_end_of_a_growing_text_is_repainted() -> None:
    app = ChatApp()
    async with app.run_test(size=(40, 20)) as pilot:
        view = app.query_one(ChatView)
        head = [Piece("you", "You"), Piece("text", "How many?"), Piece("agent", "Ines")]
        view.show_pieces([*head, Piece("text", "first row\nsecond")])
        await pilot.pause()
        painted: list[tuple[int, int]] = []
        view.refresh_lines = lambda start, count=1: painted.append((start, count))  # type: ignore[method-assign]
        view.show_pieces([*head, Piece("text", "first row\nsecond row")])
        view.show_pieces([*head, Piece("text", "first row\nsecond row")])
        assert [start for start, _ in painted] == [4]


def plan() -> Plan:
    before = FragmentState("Ines", "Clerk", "\n".join(f"line {number}" for number in range(9)))
    after = FragmentState("Ines", "Harbour clerk", before.content.replace("line 8", "the [bold]end"))
    return Plan(
        "editFragments",
        "the-quay",
        "main",
        (
            FragmentChange("ch-bafego", "character", before, after),
            FragmentChange("kn-x", "knowledge", None, FragmentState("The tide", "", "High at noon.")),
        ),
        (Outcome(0, "replace_text", "planned"), Outcome(1, "archive_fragment", "failed", error="it is locked")),
        rationale="She was promoted.",
    )


def test_a_plan_is_shown_as_a_difference() -> None:
    told = [(piece.kind, piece.text) for piece in plan_pieces(plan(), spoken=False)]
    for line in (
        ("text", "She was promoted."),
        ("agent", "character: Ines (ch-bafego)"),
        ("removed", "− Clerk"),
        ("added", "+ Harbour clerk"),
        ("added", "+ the [bold]end"),
        ("agent", "new knowledge: The tide (kn-x)"),
        ("added", "+ High at noon."),
        ("note", "not possible: archive_fragment: it is locked"),
    ):
        assert line in told
    assert ("text", "  line 1") not in told


async def test_a_plan_is_decided_on_by_key_and_mouse() -> None:
    app = ChatApp()
    decided: list[bool | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        for act in ("a", "d", "escape", "#accept", "#decline", "#later"):
            await app.push_screen(PlanDialog(plan()), decided.append)
            await pilot.pause()
            await (pilot.click(act) if act.startswith("#") else pilot.press(act))
            await pilot.pause()
    assert decided == [True, False, None, True, False, None]
