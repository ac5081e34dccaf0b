"""The six tools that look things up."""

from __future__ import annotations

import time

import pytest

from engine.disk import dump_json
from engine.story.fragment import new_document
from engine.tools import Host
from engine.tools.reading import CONTENT_LIMIT
from tests.engine.story_builder import MOMENT, StoryBuilder
from tests.engine.tools.conftest import Call


def test_fragments_in_full(host: Host, call: Call) -> None:
    result = call("readFragments", fragmentIds=["lo-harbor", "kn-nobody", "kn-oldies", "lo-harbor"]).value
    harbor, old = result["fragments"]
    assert result["missing"] == ["kn-nobody"]
    assert "omitted" not in result
    assert list(harbor) == [
        *("id", "type", "name", "description", "content", "tags", "refs", "sticky", "placement"),
        *("createdAt", "updatedAt", "order", "archived", "version", "baseHash"),
    ]
    assert (harbor["name"], harbor["content"], harbor["version"]) == ("Harbour", "Grey water.", 1)
    assert old["archived"] is True
    assert harbor["baseHash"] != old["baseHash"]
    assert list(host.collected.read_ids) == ["lo-harbor", "kn-oldies"]


def test_the_hash_is_of_what_can_be_set(story: StoryBuilder, call: Call) -> None:
    def read() -> str:
        return str(call("readFragments", fragmentIds=["ch-bafego"]).value["fragments"][0]["baseHash"])

    first = read()
    story.add("ch-bafego", "character", name="Ines", description="the keeper", content="Ines keeps the light.", order=9)
    assert read() == first
    story.add("ch-bafego", "character", name="Ines", description="the keeper", content="Ines keeps the light")
    assert read() != first


def test_long_texts_are_left_for_another_call(story: StoryBuilder, call: Call) -> None:
    for name in ("kn-aaaa", "kn-bbbb"):
        story.add(name, "knowledge", content="x" * (CONTENT_LIMIT - 10))
    result = call("readFragments", fragmentIds=["kn-aaaa", "kn-bbbb", "ch-nobody"]).value
    assert [item["id"] for item in result["fragments"]] == ["kn-aaaa"]
    assert (result["omitted"], result["missing"]) == (["kn-bbbb"], ["ch-nobody"])
    story.add("kn-aaaa", "knowledge", content="x" * (CONTENT_LIMIT + 10))
    (only,) = call("readFragments", fragmentIds=["kn-aaaa"]).value["fragments"]
    assert (len(only["content"]), only["contentCut"], only["contentLength"]) == (
        CONTENT_LIMIT,
        True,
        CONTENT_LIMIT + 10,
    )


def test_a_picture_is_not_read_out(call: Call) -> None:
    (only,) = call("readFragments", fragmentIds=["im-rosego"]).value["fragments"]
    assert only["content"] == "(a picture, 26 characters of data)"


def test_finding_gives_one_match_a_fragment(call: Call) -> None:
    result = call("findFragments", query="LIGHT").value
    assert [(item["id"], item["field"]) for item in result["matches"]] == [
        ("ch-bafego", "content"),
        ("kn-mirafa", "name"),
    ]
    assert result["matches"][0]["excerpt"] == "Ines keeps the light."
    assert (result["total"], result["truncated"]) == (2, False)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"query": "light", "includeArchived": True}, ["ch-bafego", "kn-mirafa", "kn-oldies"]),
        ({"query": "light", "types": ["image"]}, ["im-rosego"]),
        ({"query": "light", "fields": ["content"]}, ["ch-bafego"]),
        ({"query": "light", "limit": 1}, ["ch-bafego"]),
        ({"query": "$5."}, ["kn-mirafa"]),
        ({"query": "light.*"}, []),
        ({"query": "the lamp"}, ["pr-one", "pr-three", "pr-two"]),
    ],
)
def test_where_is_looked(call: Call, given: dict[str, object], found: list[str]) -> None:
    assert [item["id"] for item in call("findFragments", given).value["matches"]] == found


def test_an_excerpt_shows_the_surroundings(story: StoryBuilder, call: Call) -> None:
    story.add("kn-long", "knowledge", content="a" * 500 + " İstanbul\n\nßtrand " + "b" * 500)
    excerpt = call("findFragments", query="istanbul", types=["knowledge"]).value["matches"]
    assert excerpt == [] or "İstanbul" in excerpt[0]["excerpt"]
    (match,) = call("findFragments", query="ßTRAND").value["matches"]
    assert match["excerpt"].startswith("…aaa")
    assert "İstanbul ßtrand bbb" in match["excerpt"]
    assert len(match["excerpt"]) < 200


def test_listing(call: Call) -> None:
    result = call("listFragments").value
    assert (result["total"], result["truncated"]) == (9, False)
    assert result["fragments"][0] == {
        "id": "ch-bafego",
        "type": "character",
        "name": "Ines",
        "description": "the keeper",
    }
    assert call("listFragments", limit=2).value["truncated"] is True
    assert [item["id"] for item in call("listFragments", type="location").value["fragments"]] == ["lo-harbor"]
    assert [item["id"] for item in call("listFragments", query="KEEPER").value["fragments"]] == ["ch-bafego"]
    assert call("listFragments", type="knowledge", includeArchived=True).value["total"] == 2
    assert call("listFragments", type="guideline").value["fragments"][0]["sticky"] is True


def test_the_chain_from_its_beginning(call: Call) -> None:
    result = call("readProseChain").value
    assert [(item["fragmentId"], item["type"]) for item in result["sections"]] == [
        ("pr-one", "prose"),
        ("mk-chapter", "marker"),
        ("pr-three", "prose"),
    ]
    assert result["sections"][2]["variants"] == 2
    assert (result["total"], result["truncated"]) == (3, False)
    result = call("readProseChain", includeContent=True, limit=1).value
    assert [item["content"] for item in result["sections"]] == ["Ines lit the lamp. The lamp burned."]
    assert result["truncated"] is True


def test_a_chain_with_gaps_and_none_at_all(story: StoryBuilder, call: Call) -> None:
    story.chain("pr-gone", "pr-one")
    assert call("readProseChain").value["sections"][0] == {"index": 0, "fragmentId": "pr-gone", "missing": True}
    (story.root / "prose-chain.json").unlink()
    ids = [item["fragmentId"] for item in call("readProseChain").value["sections"]]
    assert ids == ["pr-one", "pr-two", "pr-three"]


def test_types(story: StoryBuilder, call: Call) -> None:
    story.add("odd-thing", "odd_thing")
    types = {item["type"]: item for item in call("listFragmentTypes").value["types"]}
    assert list(types)[:2] == ["prose", "character"]
    assert types["location"] == {"type": "location", "name": "Places", "count": 1, "custom": True}
    assert types["odd_thing"]["name"] == "Odd Thing"
    assert types["knowledge"]["count"] == 1


def test_the_summary(story: StoryBuilder, call: Call) -> None:
    assert call("readStorySummary").value == {"summary": "(summary will appear here)"}
    story.add("sm-one", "summary", content=" So far. ")
    assert call("readStorySummary").value == {"summary": "So far."}


def test_ten_thousand_fragments(story: StoryBuilder, call: Call) -> None:
    for number in range(10_000):
        document = new_document(f"kn-{number:06}", "knowledge", f"Fact {number}", "", f"{number} gulls. " * 40, MOMENT)
        (story.root / "fragments" / f"kn-{number:06}.json").write_bytes(dump_json(document))
    begun = time.perf_counter()
    assert call("findFragments", query="9876 gulls").value["total"] == 1
    read = time.perf_counter()
    assert call("listFragments", query="fact 12").value["total"] == 111
    assert call("findFragments", query="no such thing").value["total"] == 0
    operations = [
        {
            "op": "replace_text",
            "fragmentId": f"kn-{number:06}",
            "oldText": "gulls",
            "newText": "terns",
            "replaceAll": True,
        }
        for number in range(50)
    ]
    results = call("editFragments", operations=operations).value["results"]
    assert {item["status"] for item in results} == {"applied"}
    print(f"first {read - begun:.2f} s, then {time.perf_counter() - read:.2f} s")


def test_a_list_is_cut_where_there_is_no_more_room(story: StoryBuilder, call: Call) -> None:
    for number in range(300):
        story.add(f"kn-{number:04}", "knowledge", name="n" * 500, description="d" * 5000)
    result = call("listFragments", limit=500)
    assert result.value["truncated"] is True
    assert 100 < len(result.value["fragments"]) < 300
    assert not result.text.startswith('{"error"')


def test_the_data_of_a_picture_is_not_searched(call: Call) -> None:
    assert call("findFragments", query="base64", types=["image"]).value["matches"] == []
