"""The order of the pinned fragments: moved, placed, switched and taken back, on the screen and in the files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.disk import dump_json
from tests.stories import fragment, make_story
from tests.tui.conftest import Open
from tests.tui.editor import Editor
from tests.tui.snapshots import Snapshots
from tui.screens.fragment_order import FragmentOrderScreen
from tui.widgets.block_list import BlockList

FRAGMENTS = (
    fragment("gl-tonare", "guideline", "Past tense, close third person.", name="Tense", sticky=True, index=1),
    fragment("gl-mirafa", "guideline", "Nine berths.", name="The quay", sticky=True, index=2, placement="system"),
    fragment("kn-berths", "knowledge", "Built in 1911.", name="泊位 · berths", sticky=True, index=3),
    fragment("ch-bafego", "character", "Counts everything twice.", name="Ines", sticky=True, index=4),
    fragment("ch-nokite", "character", "Not pinned.", index=5),
    fragment("ch-lostte", "character", "Placed badly.", name="Lost", sticky=True, placement="nowhere", index=6),
)


@pytest.fixture
def pinned(tmp_path: Path) -> Path:
    """A data folder whose story has the order of its own."""
    story = make_story(tmp_path / "pinned", fragments=FRAGMENTS)
    meta = json.loads((story / "meta.json").read_text("utf-8"))
    meta["settings"] |= {"contextOrderMode": "advanced", "fragmentOrder": ["ch-bafego", "ch-other"]}
    (story / "meta.json").write_bytes(dump_json(meta))
    return tmp_path / "pinned"


async def opened(ed: Editor) -> BlockList:
    await ed.press("O")
    await ed.until(lambda: isinstance(ed.app.screen, FragmentOrderScreen) and fragments(ed).rows, "the fragments")
    return fragments(ed)


def fragments(ed: Editor) -> BlockList:
    return ed.app.screen.query_one("#fragments", BlockList)


def listed(ed: Editor) -> list[str]:
    return [row.key for row in fragments(ed).rows]


def story_of(ed: Editor) -> Path:
    return ed.workspace.data / "stories" / ed.session.story


def settings(ed: Editor) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((story_of(ed) / "meta.json").read_text("utf-8"))["settings"]
    return found


async def test_fragments_are_moved_and_it_is_taken_back(editor: Open, pinned: Path) -> None:
    async with editor(folder=pinned) as ed:
        before = (story_of(ed) / "meta.json").read_bytes()
        await opened(ed)
        assert listed(ed) == ["gl-mirafa", "ch-bafego", "gl-tonare", "kn-berths", "ch-lostte"]
        await ed.press("j", "J")
        await ed.until(lambda: listed(ed)[1:3] == ["gl-tonare", "ch-bafego"])
        assert settings(ed)["fragmentOrder"] == [
            "gl-tonare", "ch-bafego", "ch-other", "gl-mirafa", "kn-berths", "ch-lostte",
        ]  # fmt: skip
        await ed.press("J", "J", "J")
        await ed.until(lambda: listed(ed)[-1] == "ch-bafego")
        assert fragments(ed).key == "ch-bafego"
        await ed.press("K", "u", "u", "u", "u")
        await ed.until(lambda: (story_of(ed) / "meta.json").read_bytes() == before)
        await ed.press("u")
        await ed.until(lambda: "nothing to take back" in ed.said)
        await ed.press("ctrl+r")
        await ed.until(lambda: listed(ed)[1:3] == ["gl-tonare", "ch-bafego"])
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await ed.until(lambda: "Past tense" in (ed.session.row("user-fragments").content or ""))
        content = ed.session.row("user-fragments").content or ""
        await ed.until(
            lambda: (ed.session.row("user-fragments").content or "").index("Past tense") < content.index("Ines")
        )


async def test_carrying_and_dragging(editor: Open, pinned: Path) -> None:
    async with editor(folder=pinned) as ed:
        await opened(ed)
        await ed.press("j", "m", "j", "j")
        assert listed(ed)[1:4] == ["gl-tonare", "kn-berths", "ch-bafego"]
        assert settings(ed)["fragmentOrder"] == ["ch-bafego", "ch-other"], "nothing is written before it is dropped"
        await ed.press("escape")
        assert listed(ed)[1] == "ch-bafego" and isinstance(ed.app.screen, FragmentOrderScreen)
        await ed.press("m", "j", "enter")
        await ed.until(lambda: settings(ed)["fragmentOrder"][0] == "gl-tonare")
        region = fragments(ed).content_region
        lines = {row.key: y for y in range(region.height) if (row := fragments(ed).row_at(y))}
        await ed.pilot.mouse_down(offset=(region.x + 8, region.y + lines["gl-tonare"]))
        for y in range(lines["gl-tonare"], lines["kn-berths"] + 1):
            await ed.pilot.hover(offset=(region.x + 8, region.y + y))
        await ed.pilot.mouse_up(offset=(region.x + 8, region.y + lines["kn-berths"]))
        await ed.until(lambda: listed(ed)[1:4] == ["ch-bafego", "kn-berths", "gl-tonare"])


async def test_placing(editor: Open, pinned: Path) -> None:
    async with editor(folder=pinned) as ed:
        file = story_of(ed) / "branches/main/fragments/ch-lostte.json"
        before = file.read_bytes()
        await opened(ed)
        await ed.press("end")
        assert ed.shows("placed “nowhere”")
        await ed.press("space")
        await ed.until(lambda: json.loads(file.read_bytes())["placement"] == "user" and not ed.shows("nowhere"))
        await ed.press("space")
        await ed.until(lambda: listed(ed)[:2] == ["gl-mirafa", "ch-lostte"])
        assert json.loads(file.read_bytes())["placement"] == "system"
        await ed.press("u", "u")
        await ed.until(lambda: file.read_bytes() == before)
        await ed.until(lambda: ed.shows("placed “nowhere”"))


async def test_by_types_nothing_is_moved_before_the_way_is_switched(editor: Open) -> None:
    async with editor() as ed:
        before = (story_of(ed) / "meta.json").read_bytes()
        await opened(ed)
        assert ed.shows("given by types now")
        await ed.press("J")
        await ed.until(lambda: "s chooses an order of your own" in ed.said)
        assert (story_of(ed) / "meta.json").read_bytes() == before
        await ed.press("s")
        await ed.until(lambda: not ed.shows("given by types now"))
        assert settings(ed)["contextOrderMode"] == "advanced"
        await ed.press("u")
        await ed.until(lambda: (story_of(ed) / "meta.json").read_bytes() == before and ed.shows("given by types now"))


async def test_the_steps_can_be_taken_back_after_the_panel_was_left(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("u")
        assert ed.said == "nothing to undo"
        before = (story_of(ed) / "meta.json").read_bytes()
        await opened(ed)
        await ed.press("s")
        await ed.until(lambda: "changed" in ed.said)
        await ed.press("escape", "u")
        await ed.until(lambda: "O opens the order" in ed.said)
        assert settings(ed)["contextOrderMode"] == "advanced"
        await opened(ed)
        await ed.press("u")
        await ed.until(lambda: (story_of(ed) / "meta.json").read_bytes() == before)
        await ed.press("escape", "u")
        await ed.until(lambda: ed.said == "nothing to undo")


async def test_another_programs_order_is_told_and_kept(editor: Open, pinned: Path) -> None:
    async with editor(folder=pinned) as ed:
        await opened(ed)
        meta = json.loads((story_of(ed) / "meta.json").read_bytes())
        meta["settings"]["fragmentOrder"] = ["kn-berths"]
        (story_of(ed) / "meta.json").write_bytes(dump_json(meta))
        await ed.press("j", "J")
        await ed.until(lambda: any("changed by another program" in toast for toast in ed.toasts))
        assert settings(ed)["fragmentOrder"] == ["kn-berths"]
        await ed.until(lambda: listed(ed)[1] == "kn-berths", "the list is read again")


async def test_what_each_fragment_costs_is_shown(editor: Open, pinned: Path) -> None:
    async with editor(folder=pinned) as ed:
        order = ed.workspace.order.pinned(ed.session.story)
        costs = dict(zip([item.id for item in order.fragments], order.tokens, strict=True))
        assert all(costs.values()) and costs["kn-berths"] != costs["gl-tonare"]
        await opened(ed)
        line = next(line for line in ed.lines() if "泊位" in line)
        assert str(costs["kn-berths"]) in line.split()
        user = next(line for line in ed.lines() if "USER" in line)
        assert str(sum(costs[item] for item in ("ch-bafego", "gl-tonare", "kn-berths"))) in user.split()


async def test_the_look(editor: Open, pinned: Path, request: pytest.FixtureRequest) -> None:
    snapshots = Snapshots(request.config.getoption("update_snapshots", default=False))
    async with editor(folder=pinned) as ed:
        await opened(ed)
        await snapshots.check(ed, "order/fragments")
