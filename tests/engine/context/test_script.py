"""What scripts see: fields and functions as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.blocks.tags import expand_tags
from engine.context import build_context, resolver, script_fields
from engine.context import script as script_module
from tests.engine.story_builder import StoryBuilder

SEED_FIELDS = {
    *("story", "proseFragments", "stickyGuidelines", "stickyKnowledge", "stickyCharacters"),
    *("guidelineCatalog", "knowledgeCatalog", "characterCatalog", "authorInput"),
}


def offered(story: StoryBuilder, author_input: str = "Go on.") -> tuple[dict[str, Any], dict[str, Any]]:
    snapshot = story.snapshot()
    return script_fields(build_context(snapshot, author_input), snapshot)


def value(chunks: Any) -> Any:
    """A field as a script gets it: several chunks are lists to be joined."""
    values = [json.loads(chunk) for chunk in chunks()]
    return values[0] if len(values) == 1 else [item for part in values for item in part]


def test_fields(story: StoryBuilder) -> None:
    story.meta({"customFragmentTypes": [{"type": "location", "name": "Places"}]}, summary="Old.", erratanet={"a": 1})
    story.add("ch-a", "character", sticky=True, custom={"kept": True})
    story.add("ch-b", "character")
    story.add("loca-a", "location", sticky=True)
    story.add("loca-b", "location")
    story.add("pr-a", "prose")
    fields, _ = offered(story, 'a "quoted" 🌊 \u2028 direction')
    found = {name: value(chunks) for name, chunks in fields.items()}
    assert found.keys() >= SEED_FIELDS
    assert found["story"]["summary"] == "Old."
    assert found["story"]["erratanet"] == {"a": 1}
    assert found["story"]["settings"]["customFragmentTypes"][0]["name"] == "Places"
    assert found["authorInput"] == 'a "quoted" 🌊 \u2028 direction'
    assert [item["id"] for item in found["proseFragments"]] == ["pr-a"]
    assert found["stickyCharacters"][0]["custom"] == {"kept": True}
    assert found["stickyCharacters"][0]["archived"] is False
    assert [item["id"] for item in found["characterCatalog"]] == ["ch-b"]
    assert found["characterShortlist"] == found["characterCatalog"]
    assert found["stickyGuidelines"] == []
    (group,) = found["stickyCustomFragments"]
    assert (group["type"], group["name"], [item["id"] for item in group["fragments"]]) == (
        "location",
        "Places",
        ["loca-a"],
    )
    assert [item["id"] for item in found["customFragmentCatalogs"][0]["fragments"]] == ["loca-b"]
    assert found["chapterSummaries"] == []


def test_long_lists_come_in_chunks(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script_module, "CHUNK", 1_000)
    for index in range(12):
        story.add(f"kn-{index:02}", "knowledge", content="x" * (5_000 if index == 5 else 100))
    fields, _ = offered(story)
    chunks = fields["knowledgeCatalog"]()
    assert len(chunks) > 3
    assert sorted(map(len, chunks))[-2] <= 1_000 + 2
    assert [item["id"] for item in value(fields["knowledgeCatalog"])] == [f"kn-{index:02}" for index in range(12)]
    assert fields["knowledgeCatalog"]() is chunks


def test_nothing_is_made_before_it_is_asked_for(story: StoryBuilder, monkeypatch: pytest.MonkeyPatch) -> None:
    story.add("ch-a", "character")
    made: list[str] = []
    text = script_module.json_text
    monkeypatch.setattr(script_module, "json_text", lambda fragment: made.append(fragment.id) or text(fragment))
    fields, functions = offered(story)
    assert made == []
    functions["getFragment"]("ch-a")
    assert made == ["ch-a"]
    fields["characterCatalog"]()
    fields["characterCatalog"]()
    assert made == ["ch-a", "ch-a"]


def test_functions(story: StoryBuilder) -> None:
    story.add("kn-b", "knowledge", tags=["sea", "old"])
    story.add("ch-b", "character", tags=["sea"])
    story.add("ch-a", "character")
    story.add("ch-gone", "character", archived=True, tags=["sea"])
    _, functions = offered(story)

    def call(name: str, *arguments: object) -> Any:
        text = functions[name](*arguments)
        found = None if text is None else json.loads(text)
        return [item["id"] for item in found] if isinstance(found, list) else found and found["id"]

    assert call("getFragment", "ch-a") == "ch-a"
    assert call("getFragment", "ch-gone") == "ch-gone"
    for odd in ("ch-none", "../../meta", 5, None, ["ch-a"], {"id": "ch-a"}):
        assert call("getFragment", odd) is None
    assert call("getFragment") is None
    everything = ["ch-a", "ch-b", "kn-b"]
    assert call("getFragments") == call("getFragments", None) == call("getFragments", "") == everything
    assert call("getFragments", "character", "surplus") == ["ch-a", "ch-b"]
    assert call("getFragments", "none") == call("getFragments", ["character"]) == []
    assert call("getFragmentsByTag", "sea") == ["ch-b", "kn-b"]
    assert call("getFragmentByTag", "sea") == "ch-b"
    assert call("getFragmentByTag", "none") is None
    assert call("getFragmentsByTag") == call("getFragmentsByTag", {}) == []


def test_tags_find_archived_fragments_and_custom_types(story: StoryBuilder) -> None:
    story.add("ch-bafego", "character", name="Ines", description="keeper", content="See <@ch-bafego>.", archived=True)
    story.add("loca-bafego", "location", name="Quay", description="wet", content="Stone.")
    resolve = resolver(story.snapshot())
    text = "<@ch-bafego>|<@ch-bafego:short>|<@loca-bafego>|<@kn-nonono>"
    assert expand_tags(text, resolve) == (
        "### Ines\n\nSee <@ch-bafego>.|Ines: keeper|### Quay\n\nwet\n\nStone.|[unknown fragment: kn-nonono]"
    )
