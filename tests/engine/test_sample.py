"""The sample library is a sound data folder.

It is read here as plain JSON, so that no tolerance of the engine's readers can excuse a mistake in it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

STORIES = Path(__file__).parents[2] / "stories"
[STORY] = [folder for folder in STORIES.iterdir() if folder.is_dir()]
FILES = sorted(path for path in STORIES.rglob("*") if path.is_file())
MAIN = "main"
FORK = next(folder.name for folder in (STORY / "branches").iterdir() if folder.name != MAIN)
BRANCHES = (MAIN, FORK)

PREFIXES = {
    "prose": "pr",
    "character": "ch",
    "guideline": "gl",
    "knowledge": "kn",
    "marker": "mk",
    "summary": "sm",
    "document": "docu",
}
FRAGMENT_KEYS = [
    *("id", "type", "name", "description", "content", "tags", "refs", "sticky", "placement"),
    *("createdAt", "updatedAt", "order", "meta", "archived", "version", "versions"),
]
STANDARD_SET = {
    *("instructions", "tools", "system-fragments", "story-info", "user-fragments", "fragment-recent"),
    *("fragment-catalog", "summary", "chapter-summaries", "prose-recent", "new-story", "author-input"),
}
SYLLABLES = "(?:[bdfgkmnprstvz][aeiou]){3}"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"

Json = dict[str, Any]


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


class Branch:
    """The files of one branch, parsed."""

    def __init__(self, name: str) -> None:
        root = STORY / "branches" / name
        files = sorted((root / "fragments").iterdir())
        self.fragments: dict[str, Json] = {path.stem: load(path) for path in files}
        self.entries: list[Json] = load(root / "prose-chain.json")["entries"]
        self.associations: Json = load(root / "associations.json")
        self.config: Json = load(root / "agent-blocks" / "generation.writer.json")

    def of_type(self, kind: str) -> list[Json]:
        return [fragment for fragment in self.fragments.values() if fragment["type"] == kind]

    def active(self, kind: str) -> list[Json]:
        """The shown fragments of the chain of one type, in chain order."""
        shown = (self.fragments[entry["active"]] for entry in self.entries)
        return [fragment for fragment in shown if fragment["type"] == kind]


@pytest.fixture(params=BRANCHES)
def branch(request: pytest.FixtureRequest) -> Branch:
    return Branch(request.param)


@pytest.fixture
def main() -> Branch:
    return Branch(MAIN)


@pytest.fixture
def meta() -> Json:
    value: Json = load(STORY / "meta.json")
    return value


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(STORY)))
def test_bytes_are_as_the_reference_writes_them(path: Path) -> None:
    data = path.read_bytes()
    assert data == json.dumps(json.loads(data), indent=2, ensure_ascii=False).encode("utf-8")


def test_text_beyond_ascii_is_literal() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    assert "’" in text
    assert "\\u" not in text


def test_no_straight_quotes_in_prose_of_either_branch(branch: Branch) -> None:
    for prose in branch.of_type("prose"):
        assert not set("\"'") & set(prose["content"]), prose["id"]
        assert prose["content"].count("“") == prose["content"].count("”"), prose["id"]


def test_story_identity(meta: Json) -> None:
    slug, _, stamp = STORY.name.rpartition("-")
    created = datetime.strptime(meta["createdAt"].replace("Z", "+0000"), "%Y-%m-%dT%H:%M:%S.%f%z")
    assert meta["id"] == STORY.name
    assert slug == re.sub(r"[^a-z0-9]+", "-", meta["name"].lower()).strip("-")
    assert int(stamp, 36) == round(created.timestamp() * 1000)


def test_settings_leave_prose_outside_the_window(meta: Json, main: Branch) -> None:
    settings = meta["settings"]
    assert settings["contextOrderMode"] == "simple"
    assert settings["contextCompact"]["type"] == "proseLimit"
    assert settings["contextCompact"]["value"] < len(main.active("prose"))


def test_two_branches() -> None:
    index = load(STORY / "branches.json")
    first, second = index["branches"]
    assert index["activeBranchId"] == first["id"] == MAIN
    assert second["id"] == FORK
    assert re.fullmatch(f"br-{SYLLABLES}", FORK)
    assert second["parentBranchId"] == MAIN
    assert [first["order"], second["order"]] == [0, 1]


def test_the_fork_shares_its_beginning_and_ends_differently(main: Branch) -> None:
    fork = Branch(FORK)
    after = load(STORY / "branches.json")["branches"][1]["forkAfterIndex"]
    assert fork.entries[: after + 1] == main.entries[: after + 1]
    for entry in fork.entries[: after + 1]:
        for fragment_id in entry["proseFragments"]:
            if fragment_id.startswith("pr-"):
                assert fork.fragments[fragment_id] == main.fragments[fragment_id]
    own = [entry["active"] for entry in fork.entries[after + 1 :]]
    assert own
    assert not set(own) & set(main.fragments)
    assert fork.config != main.config


def test_main_holds_what_the_library_promises(main: Branch) -> None:
    counts = Counter(fragment["type"] for fragment in main.fragments.values())
    assert len(main.active("prose")) >= 14
    assert len(main.active("marker")) == 2
    assert sum(len(entry["proseFragments"]) > 1 for entry in main.entries) == 2
    assert (counts["character"], counts["knowledge"], counts["guideline"]) == (6, 6, 4)
    assert 2 <= counts["document"] <= 3
    pinned = {fragment["placement"] for fragment in main.fragments.values() if fragment["sticky"]}
    assert pinned == {"system", "user"}
    for kind in ("character", "knowledge", "guideline", "document"):
        assert {fragment["sticky"] for fragment in main.of_type(kind)} == {True, False}, kind


def test_fragments_are_well_formed(branch: Branch, meta: Json) -> None:
    custom = {entry["type"] for entry in meta["settings"]["customFragmentTypes"]}
    assert custom == {"document"}
    for name, fragment in branch.fragments.items():
        assert list(fragment) == FRAGMENT_KEYS
        assert fragment["id"] == name
        assert re.fullmatch(f"{PREFIXES[fragment['type']]}-{SYLLABLES}", name)
        assert 0 < len(fragment["name"]) <= 100
        assert 0 < len(fragment["description"]) <= 250
        assert fragment["content"] == fragment["content"].strip() != ""
        assert fragment["placement"] in ("system", "user")
        created, updated = (datetime.strptime(fragment[key], TIME) for key in ("createdAt", "updatedAt"))
        assert created <= updated
        assert [old["version"] for old in fragment["versions"]] == list(range(1, fragment["version"]))


def test_every_section_is_a_readable_length(branch: Branch) -> None:
    for prose in branch.of_type("prose"):
        assert 150 <= len(prose["content"].split()) <= 350, prose["id"]


def test_the_chain_names_every_section_once(branch: Branch) -> None:
    named = [fragment_id for entry in branch.entries for fragment_id in entry["proseFragments"]]
    in_chain = {fragment["id"] for kind in ("prose", "marker") for fragment in branch.of_type(kind)}
    assert len(named) == len(set(named))
    assert set(named) == in_chain
    for entry in branch.entries:
        assert entry["active"] in entry["proseFragments"]
        assert len({branch.fragments[item]["type"] for item in entry["proseFragments"]}) == 1


def test_variants_point_at_their_section(branch: Branch) -> None:
    sections = [set(entry["proseFragments"]) for entry in branch.entries if len(entry["proseFragments"]) > 1]
    assert sections
    for section in sections:
        sources = {item: branch.fragments[item]["meta"].get("variationOf") for item in section}
        assert sum(source is None for source in sources.values()) == 1
        assert all(source in section - {item} for item, source in sources.items() if source is not None)


def test_both_chapters_overlap_the_window(branch: Branch, meta: Json) -> None:
    assert meta["settings"]["enableHierarchicalSummary"] is True
    kinds = [branch.fragments[entry["active"]]["type"] for entry in branch.entries]
    limit = meta["settings"]["contextCompact"]["value"]
    window = [index for index, kind in enumerate(kinds) if kind == "prose"][-limit:]
    first, second = (index for index, kind in enumerate(kinds) if kind == "marker")
    assert first < window[0] < second < window[-1]


def test_summaries_cover_sections_in_order(branch: Branch) -> None:
    position = {item: index for index, entry in enumerate(branch.entries) for item in entry["proseFragments"]}
    for summary in branch.of_type("summary"):
        cover = summary["meta"]
        assert position[cover["coverageStart"]] <= position[cover["coverageEnd"]]
        assert cover["isEraSummary"] is (cover["chapterId"] is None)
        if cover["chapterId"] is not None:
            assert branch.fragments[cover["chapterId"]]["type"] == "marker"
    assert any(summary["meta"]["isEraSummary"] for summary in branch.of_type("summary"))


def test_annotations_quote_the_prose_they_stand_on(branch: Branch) -> None:
    metas = [(prose, prose["meta"].get("annotations", [])) for prose in branch.of_type("prose")]
    marks = [(prose, mark) for prose, annotations in metas for mark in annotations]
    assert marks
    for prose, mark in marks:
        assert mark["type"] == "mention"
        assert mark["fragmentId"] in branch.fragments
        assert mark["text"], prose["id"]
        assert mark["text"] in prose["content"], (prose["id"], mark["text"])


def test_writer_context_names_fragments_that_exist(branch: Branch) -> None:
    metas = [prose["meta"] for prose in branch.of_type("prose")]
    recorded = [meta["writerContextIds"] for meta in metas if "writerContextIds" in meta]
    assert recorded
    for ids in recorded:
        assert ids
        assert len(ids) == len(set(ids))
        assert set(ids) <= set(branch.fragments)


def test_tag_index_agrees_with_the_fragments(branch: Branch) -> None:
    tags: dict[str, set[str]] = {}
    for fragment in branch.fragments.values():
        for tag in fragment["tags"]:
            tags.setdefault(tag, set()).add(fragment["id"])
    index = branch.associations["tagIndex"]
    assert {tag: set(ids) for tag, ids in index.items()} == tags
    assert all(len(ids) == len(set(ids)) for ids in index.values())


def test_ref_index_is_mirrored(branch: Branch) -> None:
    index = branch.associations["refIndex"]
    mark = "__backref:"
    pairs = [(key, item) for key, items in index.items() for item in items]
    forward = {(key, item) for key, item in pairs if not key.startswith(mark)}
    back = {(item, key.removeprefix(mark)) for key, item in pairs if key.startswith(mark)}
    assert forward
    assert forward == back
    assert {item for pair in forward for item in pair} <= set(branch.fragments)


def test_writer_config_shape(branch: Branch) -> None:
    config = branch.config
    assert list(config) == ["customBlocks", "overrides", "blockOrder", "disabledTools", "disableAutoAnalysis"]
    for block in config["customBlocks"]:
        assert list(block) == ["id", "name", "role", "order", "enabled", "type", "content"]
        assert re.fullmatch(r"cb-[a-z0-9]{6}", block["id"])
        assert block["role"] in ("system", "user")
        assert block["content"].strip()
    scripts = {block["name"] for block in config["customBlocks"] if block["type"] == "script"}
    assert scripts == {"Word count", "Active characters", "Pacing"}
    assert any(block["type"] == "simple" for block in config["customBlocks"])
    overrides = config["overrides"].values()
    assert any(item.get("contentMode") == "append" and item["customContent"].strip() for item in overrides)
    assert any(override.get("enabled") is False for override in overrides)


def test_the_order_is_whole_and_differs_from_the_default(branch: Branch) -> None:
    order = branch.config["blockOrder"]
    custom = {block["id"] for block in branch.config["customBlocks"]}
    assert len(order) == len(set(order))
    assert set(order) == STANDARD_SET | custom
    assert set(branch.config["overrides"]) <= set(order)
    # By default the pinned fragments come before the chapter summaries (spec, section 4.1).
    assert order.index("chapter-summaries") < order.index("user-fragments")
    assert order[-1] == "author-input"


def test_texts_of_the_config_name_tags_and_fragments_that_exist(branch: Branch) -> None:
    blocks = [block["content"] for block in branch.config["customBlocks"]]
    overrides = [override.get("customContent", "") for override in branch.config["overrides"].values()]
    text = "\n".join(blocks + overrides)
    used = set(re.findall(r"getFragments?ByTag\('([^']+)'\)", text))
    named = set(re.findall(r"<@([a-z]+-[a-z0-9]+)", text))
    assert used
    assert used <= set(branch.associations["tagIndex"])
    assert named
    assert named <= set(branch.fragments)
