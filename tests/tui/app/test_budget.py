"""The budget: in the bars, as a list of blocks, and as a stop before a prompt that can't fit is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import OptionList

from engine.budget import budget_of
from engine.models import tokens
from engine.models.windows import Window
from tests.stories import fragment, make_story
from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tui.screens.budget import BudgetDialog
from tui.screens.choice import ChoiceDialog
from tui.screens.passage import PassageScreen
from tui.screens.prompt import PromptScreen
from tui.screens.tools import ToolsDialog
from tui.widgets.budget_words import bar, budget_words, model_name, window_size
from tui.widgets.cells import short_count

LONG = "The lamp on the quay had burned all night, and nobody came to put it out. " * 700
SMALL = (
    'default = "far"\n[providers.far]\nbase_url = "https://api.example.com/v1"\ndefault_model = "small"\ncontext = {}\n'
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def long_story(tmp_path: Path) -> Path:
    """A data folder whose story has a prompt of some ten thousand tokens."""
    fragments = [fragment("kn-mirafa", "knowledge", LONG, name="The quay", sticky=True)]
    make_story(tmp_path / "long", fragments=fragments)
    return tmp_path / "long"


def used(ed: Editor) -> int:
    return sum(row.tokens or 0 for row in ed.blocks.rows) + ed.desk.tool_tokens + ed.desk.opening_tokens


async def opened(ed: Editor) -> None:
    await ed.until(lambda: ed.desk.budget is not None)
    await ed.press("B")
    await ed.until(lambda: isinstance(ed.app.screen, BudgetDialog) and ed.shows("so far"), "the dialog")


def lines(ed: Editor) -> list[str]:
    options = ed.app.screen.query_one(OptionList)
    return [str(options.get_option_at_index(i).prompt) for i in range(options.option_count)]


# -- the words


@pytest.mark.parametrize(
    ("tokens", "count", "words"),
    [
        (32_768, 8_200, ("~8.2k/32k ▓▓░░░ 25%", "~8.2k/32k 25%", "~8.2k/32k")),
        (32_768, 0, ("~0/32k ░░░░░ 0%", "~0/32k 0%", "~0/32k")),
        (10_000, 9_999, ("~10k/10k ▓▓▓▓▓ 100%!", "~10k/10k 100%!", "~10k/10k!")),
        (10_000, 7_000, ("~7.0k/10k ▓▓▓▓░ 70%(!)", "~7.0k/10k 70%(!)", "~7.0k/10k(!)")),
        (None, 700, ("~700/?",)),
    ],
)
def test_the_words(tokens: int | None, count: int, words: tuple[str, ...]) -> None:
    assert budget_words(count, budget_of(Window("m", tokens), None)) == words


def test_tokens_alone_before_a_budget_is_known() -> None:
    assert budget_words(8_200, None) == ("~8.2k",)


@given(st.floats(0, 10))
def test_the_bar_is_begun_with_the_first_token_and_never_too_long(share: float) -> None:
    drawn = bar(share)
    assert len(drawn) == 5 and drawn == "".join(sorted(drawn, reverse=True))
    assert ("▓" in drawn) == (share > 0) and ("░" not in drawn) == (share > 0.8)


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (4096, "4k"),
        (32_000, "32k"),
        (131_072, "128k"),
        (200_000, "200k"),
        (1_048_576, "1M"),
        (1_000_000, "1.0M"),
        (16_385, "16k"),
        (500, "500"),
    ],
)
def test_sizes_of_windows(tokens: int, text: str) -> None:
    assert window_size(tokens) == text


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("meta-llama/llama-3.1-8b", "llama-3.1-8b"),
        ("m" * 80, f"{'m' * 23}…"),
        ("灯塔/灯塔-7b", "灯塔-7b"),
        ("red\x1b", "red␛"),
    ],
)
def test_names_of_models_are_short_and_inert(model: str, name: str) -> None:
    assert model_name(budget_of(Window(model, 1), None)) == name


# -- the bars


@pytest.mark.parametrize(("width", "wanted"), [(120, "▓"), (80, "▓"), (40, "%"), (26, "")])
async def test_the_top_bar_at_every_width(editor: Open, config: Path, width: int, wanted: str) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor((width, 24)) as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        await ed.until(lambda: wanted in ed.lines()[0])
        if width > 26:
            assert f"~{short_count(used(ed))}/4k" in ed.lines()[0] and "The Quay › Main" in ed.lines()[0]


async def test_an_unknown_window_is_no_number(editor: Open, config: Path) -> None:
    write_providers(config, SMALL.format("1").replace("context = 1", ""))
    async with editor() as ed:
        await ed.until(lambda: "writer · small " in ed.lines()[0] and ed.desk.tool_tokens)
        assert f"~{short_count(used(ed))}/?" in ed.lines()[0]


async def test_the_budget_follows_an_edit_and_the_agent(editor: Open, config: Path) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor() as ed:
        await ed.until(lambda: ed.desk.tool_tokens and f"~{short_count(used(ed))}/4k" in ed.lines()[0])
        before = used(ed)
        await ed.press("space")
        await ed.until(lambda: used(ed) < before and f"~{short_count(used(ed))}/4k" in ed.lines()[0])
        ed.desk.begin(lambda: ed.desk.open_story("the-quay", None, "directions.suggest"), "open", exclusive=True)
        await ed.until(lambda: ed.session.agent == "directions.suggest")
        await ed.until(lambda: "· small " in ed.lines()[0] and f"~{short_count(used(ed))}/4k" in ed.lines()[0])


async def test_the_compiled_prompt_says_it_too(editor: Open, long_story: Path, config: Path) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor(folder=long_story) as ed:
        await ed.press("p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen) and "small" in ed.lines()[0])
        prompt = ed.session.prompt()
        total = prompt.tokens.total + ed.workspace.generation.tool_tokens(prompt)
        assert f"~{short_count(total)}/4k ▓▓▓▓▓ {total / 4096:.0%}!" in ed.lines()[0]


# -- the list


async def test_blocks_are_listed_by_size(editor: Open, config: Path) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor() as ed:
        await opened(ed)
        rows = sorted((row for row in ed.session.rows if row.tokens), key=lambda row: -(row.tokens or 0))
        shown = lines(ed)
        costs = [(row.name, row.tokens or 0) for row in rows] + [("tool definitions", ed.desk.tool_tokens)]
        so_far = 0
        for line, (name, cost) in zip(shown, sorted(costs, key=lambda item: -item[1]), strict=True):
            so_far += cost
            assert line.split()[0] == name.split()[0]
            assert f"~{short_count(cost)}" in line and f"~{short_count(so_far)}" in line
        assert shown[-1].endswith("100%")
        total = used(ed)
        assert ed.shows("small takes 4,096 tokens") and ed.shows(f"~{total:,} in the prompt")
        system = sum(row.tokens or 0 for row in rows if row.role == "system")
        tools = ed.desk.tool_tokens
        assert ed.shows(f"system ~{system:,} + user ~{total - system - tools:,} + tools ~{tools:,}")
        assert ed.shows("1,024 kept for the answer") and ed.shows(f"~{3072 - total:,} to spare")


async def test_enter_goes_to_the_block_also_through_a_filter(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("slash")
        await ed.type("story")
        await ed.press("enter")
        await opened(ed)
        at = next(number for number, line in enumerate(lines(ed)) if line.startswith("tool definitions"))
        await ed.press(*["j"] * at, "enter")
        await ed.until(lambda: isinstance(ed.app.screen, ToolsDialog), "what the tools are")
        await ed.press("escape")
        await opened(ed)
        await ed.press("j", *["j"] * (at <= 1), "enter")
        rows = sorted((row for row in ed.session.rows if row.tokens), key=lambda row: -(row.tokens or 0))
        await ed.until(lambda: ed.app.screen is ed.desk and ed.blocks.key == rows[1].key)
        assert ed.focus == "blocks"


@pytest.mark.parametrize("size", [(80, 24), (40, 12)])
async def test_the_mouse_opens_it_and_goes_to_a_block(editor: Open, size: tuple[int, int]) -> None:
    async with editor(size) as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        await ed.pilot.click("#top", offset=(size[0] - 3, 0))
        await ed.until(lambda: isinstance(ed.app.screen, BudgetDialog) and lines(ed))
        first = max(ed.session.rows, key=lambda row: row.tokens or 0)
        place = next(number for number, line in enumerate(lines(ed)) if line.split()[0] == first.name.split()[0])
        ed.app.screen.query_one("#parts").scroll_visible(animate=False)
        await ed.pilot.pause()
        await ed.pilot.click("#parts", offset=(3, place))
        await ed.until(lambda: ed.app.screen is ed.desk and ed.blocks.key == first.key)


async def test_nothing_is_tokenised_again_for_it(editor: Open) -> None:
    async with editor() as ed:
        await ed.until(lambda: ed.desk.budget is not None)
        before = tokens._estimate_short.cache_info().misses + tokens._estimate_long.cache_info().misses
        await ed.press("j", "J", "K", "k")
        await opened(ed)
        assert lines(ed)
        await ed.press("escape")
        assert tokens._estimate_short.cache_info().misses + tokens._estimate_long.cache_info().misses == before


# -- the stop


async def begin(ed: Editor) -> None:
    await ed.press("g")
    await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
    await ed.press("ctrl+g")


async def test_a_prompt_that_cannot_fit_is_not_sent(editor: Open, long_story: Path, config: Path) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor((80, 24), folder=long_story) as ed:
        await begin(ed)
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        assert ed.shows("does not fit") and ed.shows("user-fragments ~")
        assert ed.shows("too long") and ed.shows("send it all the same")
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        screen = ed.app.screen
        assert isinstance(screen, PassageScreen) and screen._run is None
        await ed.press("ctrl+g")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("s")
        await ed.until(lambda: screen._run is not None and screen._run.view().finished, "the passage")
        await ed.press("ctrl+d")


async def test_the_prewriters_own_prompt_counts(editor: Open, long_story: Path, config: Path) -> None:
    text = SMALL.format(100_000) + '[providers.near]\nbase_url = "https://b.example.com/v1"\ndefault_model = "tiny"\n'
    write_providers(config, f"{text}context = 4096\n")
    meta = long_story / "stories/the-quay/meta.json"
    document = json.loads(meta.read_bytes())
    planned = {"generationMode": "prewriter", "modelOverrides": {"generation.prewriter": {"providerId": "near"}}}
    document["settings"] |= planned
    meta.write_text(json.dumps(document), "utf-8")
    async with editor((80, 24), folder=long_story) as ed:
        await begin(ed)
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        assert ed.shows("the prompt of Prewriter does not fit") and ed.shows("tiny has room for 3,072")
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, PassageScreen))
        screen = ed.app.screen
        assert isinstance(screen, PassageScreen) and screen._run is None
        # A writer with a small context is sent the brief alone, which fits.
        document["settings"]["modelOverrides"] = {
            "generation.prewriter": {"providerId": "far"},
            "generation.writer": {"providerId": "near"},
        }
        meta.write_text(json.dumps(document), "utf-8")
        await ed.press("ctrl+g")
        await ed.until(lambda: screen._run is not None, "what fits")
        screen.action_stop()
        await ed.until(lambda: not screen.running)


async def test_the_message_behind_a_prompt_counts(editor: Open, config: Path) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor() as ed:
        await ed.desk.open_story("the-quay", None, "directions.suggest")
        await ed.until(lambda: ed.session.agent == "directions.suggest" and ed.desk.opening_tokens)
        session = ed.workspace.session("the-quay", "directions.suggest")
        run = ed.workspace.generation.prepare(session)
        (cost,) = ed.workspace.generation.costs(run)
        total = sum(row.tokens or 0 for row in ed.blocks.rows) + ed.desk.tool_tokens + ed.desk.opening_tokens
        assert cost.used == total
        await ed.until(lambda: f"~{short_count(total)}/4k" in ed.lines()[0])
        await opened(ed)
        assert ed.shows(f"~{total:,} in the prompt")
        at = next(number for number, line in enumerate(lines(ed)) if line.startswith("message behind the prompt"))
        await ed.press(*["j"] * at, "enter")
        assert isinstance(ed.app.screen, BudgetDialog), "it leads nowhere"


async def test_a_prompt_that_may_not_fit_is_sent_with_a_warning(editor: Open, long_story: Path, config: Path) -> None:
    write_providers(config, SMALL.format(4096))
    async with editor(folder=long_story) as ed:
        write_providers(config, SMALL.format(round(used(ed) / 0.75) + 100))  # a quarter is kept for the answer
        await begin(ed)
        await ed.until(lambda: "may not fit" in ed.said)
        screen = ed.app.screen
        assert isinstance(screen, PassageScreen)
        await ed.until(lambda: screen._run is not None)
