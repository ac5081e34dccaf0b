"""Agents, stories and branches: what is open, and that edits go to it."""

from __future__ import annotations

import json
from pathlib import Path

from engine.agents import agents
from tests.stories import make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor


async def opened(ed: Editor, story: str, branch: str) -> None:
    await ed.until(lambda: (ed.session.story, ed.session.branch) == (story, branch), f"{story} › {branch}")
    await ed.listed()


async def test_all_agents_are_listed(editor: Open) -> None:
    async with editor() as ed:
        assert len(agents()) == 9
        for agent in agents():
            name = agent.display_name
            assert ed.shows(name) or ed.shows(name[:18] + "…"), name
        await ed.press("1", "end", "home")
        assert ed.shows("› Writer")


async def test_every_agent_can_be_opened_and_read(editor: Open) -> None:
    async with editor() as ed:
        for place, agent in enumerate(agents()):
            await ed.press("1", "home", *["j"] * place, "enter")
            await ed.until(lambda name=agent.name: ed.session.agent == name, agent.name)
            await ed.listed()
            assert "instructions" in ed.listed_names()
            await ed.press("p")
            await ed.until(lambda: type(ed.app.screen).__name__ == "PromptScreen")
            await ed.until(lambda: ed.shows("[@block=instructions]"), "the compiled prompt")
            await ed.press("escape")
            await ed.until(lambda: ed.app.screen is ed.desk)


async def test_other_agents_than_the_writer_run_too(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("1", "home", "j", "enter")
        await ed.until(lambda: ed.session.agent == "generation.prewriter")
        await ed.listed()
        await ed.press("g")
        await ed.until(lambda: ed.app.screen is not ed.desk)
        await ed.press("ctrl+g")
        await ed.until(lambda: ed.shows("keep it, discard it"))


async def test_an_agent_can_be_opened_again(editor: Open) -> None:
    async with editor() as ed:
        await ed.goto("story-info")
        await ed.press("space", "1", "home", "enter")
        await ed.until(lambda: ed.focus == "blocks")
        await ed.listed()
        assert ed.config()["overrides"]["story-info"] == {"enabled": False}, "saved on leaving"
        await ed.press("u")
        assert "off" not in ed.line_of("story-info"), "its edits can still be undone"


async def test_a_branch_has_its_own_blocks(editor: Open) -> None:
    async with editor() as ed:
        main = ed.file(branch="main").read_bytes()
        stormy = ed.file(branch="stormy").read_bytes()
        await ed.press("s")
        await ed.until(lambda: ed.shows("Story and branch") and ed.shows("stormy"))
        await ed.press("j", "enter")
        await opened(ed, "the-quay", "stormy")
        assert "The Quay › Stormy" in ed.lines()[0]
        await ed.goto("story-info")
        await ed.press("space", "ctrl+s")
        await ed.saved()
        assert ed.file(branch="main").read_bytes() == main
        assert ed.config(branch="stormy")["overrides"]["story-info"] == {"enabled": False}
        await ed.press("s")
        await ed.until(lambda: ed.shows("● main"))
        await ed.press("k", "enter")
        await opened(ed, "the-quay", "main")
        assert "off" not in ed.line_of("story-info")
        await ed.press("s")
        await ed.until(lambda: ed.shows("Story and branch"))
        await ed.press("escape")
        assert ed.session.branch == "main"
        await ed.press("s")
        await ed.until(lambda: ed.shows("Story and branch"))
        await ed.press("j", "enter")
        await opened(ed, "the-quay", "stormy")
        assert "off" in ed.line_of("story-info")
        await ed.press("u", "ctrl+s")
        await ed.saved()
        assert ed.file(branch="stormy").read_bytes() == stormy


async def test_a_carried_block_stays_behind(editor: Open) -> None:
    async with editor() as ed:
        before = ed.file().read_bytes()
        await ed.goto("story-info")
        await ed.press("m", "j", "s")
        await ed.until(lambda: ed.shows("Story and branch"))
        await ed.press("j", "enter")
        await opened(ed, "the-quay", "stormy")
        assert ed.desk.carry is None and "≡" not in ed.grid()
        assert ed.file(branch="main").read_bytes() == before


async def test_stories_and_a_damaged_one(editor: Open, data: Path) -> None:
    make_story(data, "zz-mill", name="The Mill", prose=())
    damaged = make_story(data, "broken", name="Broken")
    (damaged / "meta.json").write_text('{"id": ', "utf-8")
    async with editor() as ed:
        assert ed.session.story == "the-quay", "the first that can be opened"
        await ed.press("s")
        await ed.until(lambda: ed.shows("The Mill"))
        assert ed.shows("broken: meta.json") or ed.shows("broken:")
        await ed.press("j", "j", "enter")
        await opened(ed, "zz-mill", "main")
        assert "new-story" in ed.listed_names() and "prose-recent" not in ed.listed_names()
        assert ed.shows("The Mill › Main")


async def test_no_story_at_all(editor: Open, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    (folder / "stories").mkdir(parents=True)
    async with editor(folder=folder, ready=False) as ed:
        await ed.until(lambda: ed.shows("there is no story in"))
        for key in (
            "p",
            "g",
            "a",
            "X",
            "space",
            "J",
            "u",
            "e",
            "R",
            "m",
            "1",
            "2",
            "3",
            "D",
            "y",
            "ctrl+e",
            "f3",
            "tab",
        ):
            await ed.press(key)
        await ed.press("escape", "escape")
        assert ed.app.is_running and not ed.toasts
        make_story(folder)
        await ed.press("s")
        await ed.until(lambda: ed.shows("The Quay"))
        await ed.press("enter")
        await opened(ed, "the-quay", "main")
        assert not ed.shows("there is no story in")


async def test_a_branch_that_went_away_changes_nothing(editor: Open, data: Path) -> None:
    async with editor() as ed:
        await ed.press("s")
        await ed.until(lambda: ed.shows("stormy"))
        index = data / "stories/the-quay/branches.json"
        listed = json.loads(index.read_text("utf-8"))
        listed["branches"] = listed["branches"][:1]
        index.write_text(json.dumps(listed), "utf-8")
        await ed.press("j", "enter")
        await ed.until(lambda: any("stormy" in toast for toast in ed.toasts), "the reason")
        assert ed.session.branch == "main" and "The Quay › Main" in ed.lines()[0]
        await ed.press("space", "ctrl+s")
        await ed.saved()


async def test_a_branch_is_named_and_told_from_others_by_its_id(editor: Open, data: Path) -> None:
    index = data / "stories" / "the-quay" / "branches.json"
    value = json.loads(index.read_bytes())
    value["branches"][1]["name"] = "What if [she] stays"
    index.write_text(json.dumps(value), encoding="utf-8")
    async with editor() as ed:
        await ed.press("s")
        await ed.until(lambda: ed.shows("What if [she] stays · stormy"))
        assert ed.shows("● main ")
