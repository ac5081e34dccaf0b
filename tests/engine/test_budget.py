"""The budget: what is kept for the answer, whether a prompt fits, and which blocks weigh most."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.budget import Budget, budget_of, largest, least, most, parts, refusal, warning
from engine.models.tokens import TOTAL_MARGIN
from engine.models.windows import Window
from engine.workspace import Workspace
from tests.stories import make_story


@dataclass(frozen=True)
class Block:
    name: str
    tokens: int | None
    role: str = "user"


BLOCKS = st.lists(st.builds(Block, st.text(max_size=5), st.none() | st.integers(0, 10_000)), max_size=20)
SIZES = st.integers(0, 3_000_000)


def window(tokens: int | None, max_output: int | None = None) -> Window:
    return Window("m", tokens, max_output)


@pytest.mark.parametrize(
    ("tokens", "max_output", "limit", "asked", "reserve", "reserved"),
    [
        (128_000, None, None, None, 8192, "default"),
        (128_000, None, 500, None, 500, "story"),
        (128_000, None, 500, 700, 700, "asked"),
        (8192, None, None, None, 2048, "quarter"),
        (8192, None, 8000, None, 8000, "story"),
        (128_000, 4096, None, None, 4096, "model"),
        (128_000, 4096, 20_000, None, 4096, "model"),
        (None, None, None, None, 8192, "default"),
    ],
)
def test_what_is_kept_for_the_answer(
    tokens: int | None, max_output: int | None, limit: int | None, asked: int | None, reserve: int, reserved: str
) -> None:
    budget = budget_of(window(tokens, max_output), limit, asked=asked)
    assert (budget.reserve, budget.reserved) == (reserve, reserved)


@given(SIZES)
def test_the_margin_is_the_estimates_own(exact: int) -> None:
    for estimate in (round(exact * (1 - TOTAL_MARGIN)), exact, round(exact * (1 + TOTAL_MARGIN))):
        assert least(estimate) - 1 <= exact <= most(estimate) + 1


@given(SIZES, SIZES, SIZES)
def test_fits(tokens: int, reserve: int, estimate: int) -> None:
    budget = Budget(window(tokens), reserve, "story")
    room = max(0, tokens - reserve)
    assert budget.room == room
    answer = budget.fit(estimate)
    assert (answer == "no") == (least(estimate) > room)
    assert (answer == "yes") == (most(estimate) <= room)
    assert (budget.excess(estimate) > 0) == (estimate > room)
    order = ["yes", "maybe", "no"]
    assert order.index(answer) <= order.index(budget.fit(estimate + 1000)), "more never fits better"


def test_nothing_is_said_of_a_window_that_is_not_known() -> None:
    budget = budget_of(window(None), None)
    assert (budget.room, budget.fit(10**9), budget.excess(10**9), budget.share(5)) == (None, "unknown", 0, None)


@given(BLOCKS)
def test_parts_are_the_blocks_by_size(blocks: list[Block]) -> None:
    found = parts(blocks)
    sizes = [part.tokens for part in found]
    assert sizes == sorted((block.tokens for block in blocks if block.tokens), reverse=True)
    assert [part.so_far for part in found] == [sum(sizes[: n + 1]) for n in range(len(sizes))]
    assert not found or sum(part.share for part in found) == pytest.approx(1)
    assert list(largest(blocks, 2)) == [part.block for part in found[:2]]


def test_a_refusal_names_the_excess_and_the_largest_blocks() -> None:
    budget = budget_of(window(8192), None)
    blocks = [Block("small", 10), Block("huge", 7000), Block("large", 900), Block("middle", 200), Block("off", None)]
    text = str(refusal(budget, 9000, blocks, "shorten it"))
    for part in ("does not fit m", "~9,000", "7,826", "6,144", "8,192", "2,048", "~2,856 too long", "shorten it"):
        assert part in text, part
    assert text.index("huge ~7,000") < text.index("large ~900") < text.index("middle ~200")
    assert "small" not in text and "off" not in text
    assert "may not fit m" in warning(budget, 6144)


def test_the_budget_of_a_story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STONEHAND_CONFIG", str(tmp_path / "config"))
    story = make_story(tmp_path / "data", settings={"generationLimits": {"maxOutputTokens": 300}})
    workspace = Workspace(tmp_path / "data", state=tmp_path / "state")
    try:
        budget = workspace.models.budget(story.name, "generation.writer")
        assert (budget.window.model, budget.window.known, budget.reserve) == ("rehearsal", "rehearsal", 300)
        workspace.models.provider_files.add("far", base_url="https://api.example.com/v1", default_model="gpt-4")
        assert workspace.models.budget(story.name, "generation.writer").window.tokens == 8192
        assert workspace.models.budget(story.name, "generation.writer", model="gpt-4o").window.tokens == 128_000
        assert workspace.models.budget(story.name, "generation.writer", max_output_tokens=7).reserve == 7
        decision = workspace.models.resolve(story.name, "generation.writer").explain[1]
        line = workspace.models.line_of(decision)
        assert decision.file is not None and line is not None
        assert "default_model" in decision.file.read_text("utf-8").splitlines()[line - 1]
        first = workspace.models.resolve(story.name, "librarian").explain[2]
        assert (decision.role, workspace.models.line_of(first)) == ("", None)
    finally:
        workspace.close()
