"""Every fault has a line that says it; a safe repair is made on request, with a backup, and mends nothing else."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.doctor import Finding, Kind, Repaired, examine, repair
from engine.doctor.branches import index_findings
from engine.story import StoryFolder
from engine.workspace import Workspace
from tests.engine.story_builder import tree
from tests.stories import config_file, custom_block, fragment, make_story

WRITER = "generation.writer"
LONG_AGO = 1_600_000_000

Fault = Callable[[Path], None]


def read(file: Path) -> Any:
    return json.loads(file.read_bytes())


def change(file: Path, edit: Callable[[Any], Any]) -> None:
    value = read(file)
    edit(value)
    file.write_text(json.dumps(value, indent=2), "utf-8")


def config(**parts: Any) -> Fault:
    """A writer's config, with a key no version knows."""

    def make(story: Path) -> None:
        file = config_file(story)
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({**parts, "x-future": [1]}, indent=2), "utf-8")

    return make


def edited(name: str, edit: Callable[[Any], Any]) -> Fault:
    return lambda story: change(story / name, edit)


def added(name: str, value: Any) -> Fault:
    def make(story: Path) -> None:
        (story / name).parent.mkdir(parents=True, exist_ok=True)
        (story / name).write_text(value if isinstance(value, str) else json.dumps(value, indent=2), "utf-8")

    return make


def setting(**values: Any) -> Fault:
    return edited("meta.json", lambda value: value["settings"].update(values))


def all_of(*faults: Fault) -> Fault:
    def make(story: Path) -> None:
        for fault in faults:
            fault(story)

    return make


def script(body: str) -> Fault:
    return config(customBlocks=[custom_block("cb-aaaa", body, type="script")])


def broken(name: str) -> Fault:
    return lambda story: (story / name).write_text("{", "utf-8")


def leftover(story: Path) -> None:
    file = story / "branches/main/fragments/kn-mirafa.json.tmp-mb3k2x-a1b2c3"
    file.write_text("{", "utf-8")
    os.utime(file, (LONG_AGO, LONG_AGO))


CHAIN = "branches/main/prose-chain.json"
FRAGMENT = "branches/main/fragments/gl-tonare.json"
QUAY = "branches/main/fragments/kn-mirafa.json"
INDEXES = "branches/main/associations.json"
FOR_THE_LIBRARIAN = "pass-to-librarian-system-prompt"
BLOCK = custom_block("cb-aaaa", "x")

REPAIRABLE: dict[str, tuple[Fault, Kind, str, str]] = {
    "two names of one marker": (
        config(customBlocks=[{**BLOCK, "name": "My Style"}, custom_block("cb-bbbb", "y", name="my_style")]),
        Kind.BLOCK_NAME,
        "customBlocks[1].name",
        "the marker of cb-bbbb gets the name my-style, which cb-aaaa has",
    ),
    "the marker of a built-in block": (
        config(customBlocks=[{**BLOCK, "name": "Tools"}]),
        Kind.BLOCK_NAME,
        "customBlocks[0].name",
        "the built-in block tools has",
    ),
    "a name without a slug": (
        config(customBlocks=[{**BLOCK, "name": "日本"}]),
        Kind.BLOCK_NAME,
        "customBlocks[0].name",
        "no letter a to z",
    ),
    "a log that is none": (
        added("branches/main/generation-logs/gen-abc.json", {"id": 1}),
        Kind.UNREADABLE,
        "messages",
        "no",
    ),
    "a log that is no JSON": (
        added("branches/main/generation-logs/gen-abc.json", "{"),
        Kind.UNREADABLE,
        "",
        "not valid JSON",
    ),
    "a librarian's file that is no JSON": (
        added("branches/main/librarian/state.json", "?"),
        Kind.UNREADABLE,
        "",
        "not valid JSON",
    ),
    "folders that are no JSON": (
        added("folders.json", "[1,"),
        Kind.UNREADABLE,
        "",
        "not valid JSON",
    ),
    "a config that is no JSON": (
        added("branches/main/agent-blocks/generation.writer.json", "{"),
        Kind.UNREADABLE,
        "",
        "not valid JSON",
    ),
    "a config that is a list": (
        added("branches/main/agent-blocks/generation.writer.json", []),
        Kind.UNREADABLE,
        "",
        "must be an object",
    ),
    "a role there is not": (
        config(customBlocks=[{**BLOCK, "role": "boss", "y": 1}]),
        Kind.CONFIG,
        "customBlocks[0].role",
        "must be 'system'",
    ),
    "override of a block of the older layout": (
        config(overrides={"tools": {}, "prose": {"enabled": False, "x": 1}}),
        Kind.OLD_ID,
        "overrides.prose",
        "the block prose of the older layout is prose-recent now",
    ),
    "order names a block of the older layout": (
        config(blockOrder=["tools", "shortlist-knowledge", "prose-recent"]),
        Kind.OLD_ID,
        "blockOrder[1]",
        "shortlist-knowledge of the older layout, which is fragment-catalog now",
    ),
    "override of no block": (config(overrides={"ghost": {}}), Kind.OVERRIDE, "overrides.ghost", "no block ghost"),
    "order names no block": (config(blockOrder=["ghost", "tools"]), Kind.BLOCK_ORDER, "blockOrder[0]", "ghost"),
    "order names a block twice": (
        config(blockOrder=["tools", "summary", "tools"]),
        Kind.BLOCK_ORDER,
        "blockOrder[0]",
        "names tools again",
    ),
    "two custom blocks of one id": (
        config(customBlocks=[BLOCK, {**BLOCK, "name": "twin"}], blockOrder=["cb-aaaa"]),
        Kind.BLOCK_ID,
        "customBlocks[1].id",
        "more than one custom block has the id cb-aaaa",
    ),
    "old name of a tool": (
        config(disabledTools=["readProseChain", "getFragment"]),
        Kind.OLD_TOOL,
        "disabledTools[1]",
        "getFragment is the old name of a tool that is called readFragments now",
    ),
    "a tool named twice": (
        config(disabledTools=["findFragments", "findFragments"]),
        Kind.OLD_TOOL,
        "disabledTools[1]",
        "the tool findFragments is named a second time",
    ),
    "lost section": (
        edited(CHAIN, lambda v: v["entries"].append({"proseFragments": ["pr-lost00"], "active": "pr-lost00"})),
        Kind.CHAIN,
        "entries[2].active",
        "section 3 shows pr-lost00, which is not there",
    ),
    "lost shown variant": (
        edited(CHAIN, lambda v: v["entries"][1].update(proseFragments=["pr-aaaa01", "pr-lost00"], active="pr-lost00")),
        Kind.CHAIN,
        "entries[1].active",
        "section 2 shows pr-lost00, which is not there",
    ),
    "lost variant": (
        edited(CHAIN, lambda v: v["entries"][1]["proseFragments"].append("pr-lost00")),
        Kind.CHAIN,
        "entries[1].proseFragments[1]",
        "has a variant pr-lost00",
    ),
    "shown fragment that is no variant": (
        edited(CHAIN, lambda v: v["entries"][1].update(proseFragments=["pr-aaaa00"])),
        Kind.CHAIN,
        "entries[1].active",
        "not among its variants",
    ),
    "section that lists no variant": (
        edited(CHAIN, lambda v: v["entries"][1].update(proseFragments=[])),
        Kind.CHAIN,
        "entries[1].active",
        "section 2 shows pr-aaaa01, and lists no variants",
    ),
    "section without a list of variants": (
        edited(CHAIN, lambda v: v["entries"][1].pop("proseFragments")),
        Kind.CHAIN,
        "entries[1].active",
        "section 2 shows pr-aaaa01, and lists no variants",
    ),
    "reference to no fragment": (
        edited(FRAGMENT, lambda v: v.update(refs=["kn-mirafa", "kn-lost00", "kn-lost01"])),
        Kind.REFERENCES,
        "refs",
        "refs names kn-lost00, kn-lost01, which are not there",
    ),
    "writer's context of no fragment": (
        edited(FRAGMENT, lambda v: v["meta"].update(writerContextIds=["kn-lost00", "kn-mirafa", 5])),
        Kind.REFERENCES,
        "meta.writerContextIds",
        "meta.writerContextIds names kn-lost00, which is not there",
    ),
    "a story of another id": (
        edited("meta.json", lambda v: v.update(id="the-other-quay")),
        Kind.META,
        "id",
        "differs from the folder's name, which counts: the-quay",
    ),
    "tag index names no fragment": (
        all_of(
            added(INDEXES, {"tagIndex": {"sea": ["kn-mirafa", "kn-lost00"]}, "refIndex": {}}),
            edited(QUAY, lambda v: v.update(tags=["sea"])),
        ),
        Kind.ASSOCIATIONS,
        "tagIndex.sea[1]",
        "the tag sea names kn-lost00",
    ),
    "a tag that is only in the fragment": (
        all_of(edited(QUAY, lambda v: v.update(tags=["sea"])), edited(FRAGMENT, lambda v: v.update(tags=["sea"]))),
        Kind.ASSOCIATIONS,
        "tagIndex.sea",
        "the tag sea of gl-tonare, kn-mirafa is not in the index: scripts find them, the index does not",
    ),
    "a tag that is only in the index": (
        all_of(
            added(INDEXES, {"tagIndex": {"sea": ["gl-tonare", "kn-mirafa"]}, "later": 1}),
            edited(FRAGMENT, lambda v: v.update(tags=["sea"])),
        ),
        Kind.ASSOCIATIONS,
        "tagIndex.sea[1]",
        "the index has the tag sea for kn-mirafa, which does not carry it, so scripts do not find it",
    ),
    "a tag for the librarian that does not reach it": (
        edited(FRAGMENT, lambda v: v.update(tags=[FOR_THE_LIBRARIAN])),
        Kind.ASSOCIATIONS,
        f"tagIndex.{FOR_THE_LIBRARIAN}",
        "only the index counts for this one, so gl-tonare does not reach the librarian's agents",
    ),
    "a tag for the librarian that the fragment has not": (
        added(INDEXES, {"tagIndex": {FOR_THE_LIBRARIAN: ["gl-tonare"]}}),
        Kind.ASSOCIATIONS,
        f"tagIndex.{FOR_THE_LIBRARIAN}[0]",
        "but only the index counts for this one: it reaches the librarian's agents",
    ),
    "a mention of no fragment": (
        edited(
            FRAGMENT,
            lambda v: v["meta"].update(
                annotations=[
                    {"type": "mention", "fragmentId": "kn-lost00", "text": "there"},
                    {"type": "mention", "fragmentId": "kn-mirafa", "text": "here"},
                    {"type": "note", "fragmentId": "kn-lost01"},
                    "kn-lost02",
                ]
            ),
        ),
        Kind.REFERENCES,
        "meta.annotations",
        "meta.annotations names kn-lost00, which is not there",
    ),
    "section that shows what another has": (
        edited(CHAIN, lambda v: v["entries"][1].update(proseFragments=["pr-aaaa01"], active="pr-aaaa00")),
        Kind.CHAIN,
        "entries[1].active",
        "section 2 shows pr-aaaa00, which belongs to section 1 and is not among its variants",
    ),
    "section that shows what a later one has": (
        edited(CHAIN, lambda v: v["entries"][0].update(active="pr-aaaa01")),
        Kind.CHAIN,
        "entries[0].active",
        "section 1 shows pr-aaaa01, which belongs to section 2",
    ),
    "references of no fragment": (
        added("branches/main/associations.json", {"tagIndex": {}, "refIndex": {"__backref:kn-lost00": ["kn-mirafa"]}}),
        Kind.ASSOCIATIONS,
        "refIndex.__backref:kn-lost00",
        "references of kn-lost00",
    ),
    "fragment order names no fragment": (
        edited("meta.json", lambda v: v["settings"].update(fragmentOrder=["gl-tonare", "gl-lost00"], x=1)),
        Kind.FRAGMENT_ORDER,
        "settings.fragmentOrder[1]",
        "names gl-lost00, which no branch has",
    ),
    "fragment order names one twice": (
        edited("meta.json", lambda v: v["settings"].update(fragmentOrder=["gl-tonare", "gl-tonare"])),
        Kind.FRAGMENT_ORDER,
        "settings.fragmentOrder[1]",
        "gl-tonare a second time",
    ),
    "two files of one id": (
        added("branches/main/fragments/kn-copied.json", fragment("kn-mirafa", "knowledge", "Nine berths.")),
        Kind.FRAGMENT_ID,
        "id",
        "has the id kn-mirafa, as kn-mirafa.json has",
    ),
    "unknown placement": (
        edited(FRAGMENT, lambda v: v.update(placement="footer")),
        Kind.PLACEMENT,
        "placement",
        "neither system nor user",
    ),
    "active branch that is none": (
        edited("branches.json", lambda v: v.update(activeBranchId="br-lost")),
        Kind.BRANCHES,
        "activeBranchId",
        "names no branch of the list",
    ),
    "listed branch without a folder": (
        edited("branches.json", lambda v: v["branches"].append({"id": "br-lost", "name": "Lost"})),
        Kind.BRANCHES,
        "branches[1]",
        "br-lost has no folder",
    ),
    "branch listed twice": (
        edited("branches.json", lambda v: v["branches"].append({"id": "main", "name": "Again"})),
        Kind.BRANCHES,
        "branches[1].id",
        "main is listed twice",
    ),
    "branch that is not listed": (
        lambda story: (story / "branches/br-hidden/fragments").mkdir(parents=True),
        Kind.BRANCHES,
        "",
        "does not list",
    ),
    "temporary file": (leftover, Kind.LEFTOVER, "", "temporary file"),
}


def only(story: Path) -> Finding:
    found = examine(StoryFolder(story))
    assert len(found) == 1, [str(item) for item in found]
    return found[0]


def mend(findings: list[Finding], data: Path, backups: Path) -> Repaired:
    return repair([finding.offered for finding in findings if finding.offered is not None], backups, data)


@pytest.mark.parametrize("fault", REPAIRABLE)
def test_a_fault_is_found_and_mended_on_request(
    fault: str, story: Path, data: Path, tmp_path: Path, state: Path
) -> None:
    make, kind, field, message = REPAIRABLE[fault]
    make(story)
    before = tree(data)
    finding = only(story)
    assert (finding.field, message in finding.message) == (field, True), str(finding)
    assert "\n" not in str(finding)
    assert finding.repair, "it says what to do"
    assert finding.file is not None
    assert finding.offered is not None
    assert finding.offered.kind is kind
    assert tree(data) == before, "examining changes nothing"
    outcome = mend([finding], data, tmp_path / "backups")
    assert (outcome.done, outcome.failed) == ((finding.offered,), ())
    assert examine(StoryFolder(story)) == []
    touched = {name for name, content in before.items() if tree(data).get(name, (None,))[0] != content[0]}
    assert len(touched) == 1, "one file and no other"
    assert outcome.backup is not None
    assert {name: content[0] for name, content in tree(outcome.backup).items()} == {
        name: before[name][0] for name in touched
    }


def test_repairs_keep_what_they_do_not_know(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    REPAIRABLE["override of a block of the older layout"][0](story)
    mend([only(story)], data, tmp_path / "b")
    assert read(config_file(story)) == {
        "overrides": {"tools": {}, "prose-recent": {"enabled": False, "x": 1}},
        "x-future": [1],
    }


def test_all_repairs_of_one_file_go_together(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    config(
        customBlocks=[BLOCK, {**BLOCK, "name": "twin"}],
        overrides={
            "ghost": {},
            "shortlist-knowledge": {"order": 1},
            "shortlist-characters": {},
            "cb-aaaa": {"order": 9},
        },
        blockOrder=["shortlist-guidelines", "ghost", "cb-aaaa", "shortlist-knowledge", "tools", "tools"],
        disabledTools=["searchFragments", "findFragments", "findFragments"],
    )(story)
    found = examine(StoryFolder(story))
    outcome = mend(found, data, tmp_path / "b")
    assert outcome.failed == ()
    value = read(config_file(story))
    first, second = (block["id"] for block in value["customBlocks"])
    assert (first, value["blockOrder"]) == ("cb-aaaa", ["fragment-catalog", first, second, "tools"])
    assert value["overrides"] == {
        "fragment-catalog": {"order": 1},
        "shortlist-characters": {},
        "cb-aaaa": {"order": 9},
        second: {"order": 9},
    }
    assert value["disabledTools"] == ["findFragments"]
    left = only(story)
    assert (left.field, left.offered) == ("overrides.shortlist-characters", None), "two can't become one by themselves"


def test_several_sections_are_mended_each_its_way(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    entries = [
        {"proseFragments": ["pr-aaaa00", "pr-lost00"], "active": "pr-lost00", "note": "kept"},
        {"proseFragments": ["pr-lost00"], "active": "pr-lost00"},
        {"proseFragments": ["pr-aaaa01"], "active": "pr-aaaa01"},
    ]
    change(story / CHAIN, lambda value: value.update(entries=entries, other=1))
    mend(examine(StoryFolder(story)), data, tmp_path / "b")
    assert read(story / CHAIN) == {
        "entries": [{"proseFragments": ["pr-aaaa00"], "active": "pr-aaaa00", "note": "kept"}, entries[2]],
        "other": 1,
    }


@pytest.mark.parametrize(
    ("override", "effect"),
    [
        ({"enabled": False}, "switch prose-recent off"),
        ({"contentMode": "append", "customContent": "More."}, "add a text after that of prose-recent"),
        ({"contentMode": "prepend", "customContent": "More."}, "add a text before that of prose-recent"),
        ({"contentMode": "override", "customContent": "All."}, "replace the text of prose-recent"),
        ({"enabled": False, "order": 2.5}, "switch prose-recent off and pin prose-recent to the order 2.5"),
        ({"contentMode": "append"}, "change nothing about prose-recent"),
        ({"enabled": True}, "change nothing about prose-recent"),
    ],
)
def test_what_a_renamed_override_would_do_is_said(override: dict[str, Any], effect: str, story: Path) -> None:
    config(overrides={"prose": override})(story)
    assert f"renamed, it would {effect}" in next(i.message for i in examine(StoryFolder(story)) if i.offered)


def test_an_old_tool_name_goes_to_the_tool_that_does_its_work(
    story: Path, data: Path, tmp_path: Path, state: Path
) -> None:
    added(
        "branches/main/agent-blocks/librarian.analyze.json", {"disabledTools": ["suggestFragment", "createFragment"]}
    )(story)
    first, second = examine(StoryFolder(story))
    assert "editFragments, which this agent does not have: it switches nothing off now" in first.message
    assert "proposeFragmentChanges does that work" in first.message
    assert (first.field, second.field, second.offered) == ("disabledTools[0]", "disabledTools[1]", None)
    assert mend([first], data, tmp_path / "b").failed == ()
    value = read(config_file(story, "librarian.analyze"))
    assert value["disabledTools"] == ["proposeFragmentChanges", "createFragment"], "no choice is lost"


NOT_REPAIRABLE: dict[str, tuple[Fault, str, str]] = {
    "a fragment without a name": (
        edited(FRAGMENT, lambda v: v.update(name="  ")),
        "name",
        "has no name",
    ),
    "section of a fragment that can't be read": (
        lambda story: (story / "branches/main/fragments/pr-aaaa01.json").write_text("{", "utf-8"),
        "entries[1].active",
        "whose file can't be used",
    ),
    "lost tag in a custom block": (
        config(customBlocks=[{**BLOCK, "content": "See <@kn-lost00> and <@kn-mirafa:short>."}]),
        "customBlocks[0].content",
        "the tag <@kn-lost00> names no fragment",
    ),
    "lost tag in an override": (
        config(overrides={"tools": {"contentMode": "append", "customContent": "<@kn-lost00:short>"}}),
        "overrides.tools.customContent",
        "<@kn-lost00:short>",
    ),
    "lost tag in a fragment": (edited(FRAGMENT, lambda v: v.update(content="<@ch-lost00>")), "content", "<@ch-lost00>"),
    "a tag in a custom block whose fragment can't be read": (
        all_of(config(customBlocks=[{**BLOCK, "content": "See <@kn-mirafa:short>."}]), broken(QUAY)),
        "customBlocks[0].content",
        "the tag <@kn-mirafa:short> names a fragment whose file can't be used",
    ),
    "a tag in an override whose fragment can't be read": (
        all_of(config(overrides={"tools": {"contentMode": "append", "customContent": "<@kn-mirafa>"}}), broken(QUAY)),
        "overrides.tools.customContent",
        "the tag <@kn-mirafa> names a fragment whose file can't be used",
    ),
    "a tag in a fragment whose fragment can't be read": (
        all_of(edited(FRAGMENT, lambda v: v.update(description="As <@kn-mirafa>.")), broken(QUAY)),
        "description",
        "the tag <@kn-mirafa> names a fragment whose file can't be used",
    ),
    "a script's fragment that is not there": (
        script("const f =\n  await ctx.getFragment('kn-nosuch')\nreturn f.content"),
        "customBlocks[0].content",
        "the script of cb-aaaa looks for kn-nosuch (line 2), which is not there",
    ),
    "a script's fragment that can't be read": (
        all_of(script("return ctx.getFragment('kn-mirafa')"), broken(QUAY)),
        "customBlocks[0].content",
        "looks for kn-mirafa (line 1), whose file can't be used",
    ),
    "an id that a script compares with": (
        script("return ctx.knowledgeCatalog.filter(f => f.id !== 'kn-nosuch').length"),
        "customBlocks[0].content",
        "looks for kn-nosuch (line 1), which is not there",
    ),
    "a type that a script looks for": (
        script("const all = await ctx.getFragments('place')"),
        "customBlocks[0].content",
        "looks for fragments of the type place (line 1), which there is not",
    ),
    "a tag that a script looks for": (
        script("const { getFragmentsByTag } = ctx\nreturn getFragmentsByTag(`sea`)"),
        "customBlocks[0].content",
        "looks for the tag sea (line 2), which no fragment carries",
    ),
    "a tag of archived fragments that a script looks for": (
        all_of(
            script("return ctx.getFragmentByTag('sea')"),
            edited(QUAY, lambda v: v.update(tags=["sea"], archived=True)),
        ),
        "customBlocks[0].content",
        "looks for the tag sea (line 1), which only archived fragments carry",
    ),
    "an old name that a script uses": (
        script("return ctx.guidelineShortlist.length"),
        "customBlocks[0].content",
        "reads ctx.guidelineShortlist (line 1), a name of the older layout",
    ),
    "references that are no list": (
        edited(FRAGMENT, lambda v: v.update(refs=5)),
        "refs",
        "is not a list, so the fragment refers to nothing",
    ),
    "writer's context that is no list": (
        edited(FRAGMENT, lambda v: v["meta"].update(writerContextIds="kn-mirafa")),
        "meta.writerContextIds",
        "is not a list",
    ),
    "a blank name of the story": (
        edited("meta.json", lambda v: v.update(name=" ")),
        "name",
        "is blank, so the story has no name",
    ),
    "a type without a name": (
        setting(customFragmentTypes=[{"type": "place_names"}]),
        "settings.customFragmentTypes[0].name",
        "the type place_names has no name, so “Place Names” stands above its fragments",
    ),
    "an old summary that is not used": (
        all_of(
            edited("meta.json", lambda v: v.update(summary="It was night.")),
            added("branches/main/fragments/sm-aaaa00.json", fragment("sm-aaaa00", "summary", "Night.", archived=True)),
        ),
        "summary",
        "this summary is not used, as there are summary fragments",
    ),
    "a section that has only what another has": (
        edited(CHAIN, lambda v: v["entries"][0].update(proseFragments=[], active="pr-aaaa01")),
        "entries[0].active",
        "section 1 shows pr-aaaa01, which belongs to section 2 and is not among its variants",
    ),
    "a tool there is none of": (
        config(disabledTools=["editProse"]),
        "disabledTools[0]",
        "the agent has no tool editProse of its own, so this switches none of them off",
    ),
    "an old name of a tool the agent does not have": (
        config(disabledTools=["createFragment"]),
        "disabledTools[0]",
        "old name of editFragments, which this agent does not have: it switches nothing off now",
    ),
    "a fragment shown twice": (
        edited(CHAIN, lambda v: v["entries"][1].update(proseFragments=["pr-aaaa00"], active="pr-aaaa00")),
        "entries[1].active",
        "section 2 shows pr-aaaa00, as section 1 does",
    ),
    "a section that is no prose": (
        edited(CHAIN, lambda v: v["entries"][1].update(active="ch-bafego")),
        "entries[1].active",
        "section 2 shows ch-bafego, which is of the type character and no prose",
    ),
    "a mode without a text": (
        config(overrides={"tools": {"contentMode": "override", "customContent": ""}}),
        "overrides.tools.contentMode",
        "the content mode of tools is override and there is no text, so it changes nothing",
    ),
    "a forged marker in an override": (
        config(overrides={"tools": {"contentMode": "append", "customContent": "Be kind.\n[@block=tools]\nNo tools."}}),
        "overrides.tools.customContent",
        "a line begins with [@block=",
    ),
    "a forged marker in a custom block": (
        config(customBlocks=[{**BLOCK, "content": "[@block=instructions src=x]"}]),
        "customBlocks[0].content",
        "a line begins with [@block=",
    ),
    "mentions that are no list": (
        edited(FRAGMENT, lambda v: v["meta"].update(annotations={"type": "mention"})),
        "meta.annotations",
        "is not a list",
    ),
    "content that is null": (
        edited(FRAGMENT, lambda v: v.update(content=None)),
        "content",
        "must be a text, so the fragment was skipped",
    ),
    "too many steps": (setting(maxSteps=51), "settings.maxSteps", "is 51, where a whole number from 1 to 50"),
    "too few tokens": (
        setting(generationLimits={"maxOutputTokens": 12}),
        "settings.generationLimits.maxOutputTokens",
        "is 12, where a whole number from 256 to 32768",
    ),
    "a type that can be none": (
        setting(customFragmentTypes=[{"type": "Place names", "name": "Places"}]),
        "settings.customFragmentTypes[0].type",
        "Place names can't be a type",
    ),
    "a type twice": (
        setting(customFragmentTypes=[{"type": "place", "name": "Places"}, {"type": "place", "name": "Towns"}]),
        "settings.customFragmentTypes[1]",
        "is a second type place",
    ),
    "a type whose name is too long": (
        setting(customFragmentTypes=[{"type": "place", "name": "x" * 61}]),
        "settings.customFragmentTypes[0].name",
        "longer than 60 characters",
    ),
    "a config of no agent": (
        added("branches/main/agent-blocks/generation.poet.json", {}),
        "",
        "no agent generation.poet",
    ),
    "content that branches hide": (added("prose-chain.json", {"entries": []}), "", "which hides it"),
    "main without a folder": (
        lambda story: (story / "branches/main").rename(story / "branches/br-two"),
        "branches[0]",
        "main has no folder",
    ),
    "an unknown chain": (lambda story: (story / CHAIN).write_text("[]", "utf-8"), "", "is not a prose chain"),
    "a tag index that is none": (
        added("branches/main/associations.json", {"tagIndex": {"a": 1}}),
        "tagIndex.a",
        "not a list of ids",
    ),
}


@pytest.mark.parametrize("fault", NOT_REPAIRABLE)
def test_what_only_its_owner_can_mend_is_said(fault: str, story: Path, state: Path) -> None:
    make, field, message = NOT_REPAIRABLE[fault]
    make(story)
    found = [item for item in examine(StoryFolder(story)) if message in item.message and item.field == field]
    assert len(found) == 1, [str(item) for item in examine(StoryFolder(story))]
    assert found[0].offered is None
    assert found[0].repair, "it says what to do"
    assert found[0].line is not None or not field, "it says where"


def test_every_fault_of_a_config_is_told(story: Path) -> None:
    blocks = [{**BLOCK, "role": "boss", "order": "first"}, {**BLOCK, "id": "Z"}, 7]
    config(customBlocks=blocks, overrides={"tools": {"enabled": None}}, blockOrder=[1], disableAutoAnalysis="no")(story)
    found = examine(StoryFolder(story))
    assert [item.field for item in found] == [
        "customBlocks[0].role",
        "customBlocks[0].order",
        "customBlocks[1].id",
        "customBlocks[2]",
        "overrides.tools.enabled",
        "blockOrder[0]",
        "disableAutoAnalysis",
    ]
    assert all(item.line is not None and item.offered.kind is Kind.CONFIG for item in found if item.offered)
    assert all(item.offered for item in found)


def test_a_story_of_the_old_layout_is_given_branches_on_request(data: Path, tmp_path: Path, state: Path) -> None:
    story = make_story(data, "old", legacy=True, configs={WRITER: {"overrides": {"ghost": {}}}})
    before = tree(story)
    found = examine(StoryFolder(story))
    assert [item.offered.kind for item in found if item.offered is not None] == [Kind.LAYOUT, Kind.OVERRIDE]
    outcome = mend(found, data, tmp_path / "b")
    assert (len(outcome.done), outcome.failed) == (2, ())
    assert examine(StoryFolder(story)) == []
    assert read(config_file(story))["overrides"] == {}
    assert outcome.backup is not None
    kept = tree(outcome.backup / "stories/old")
    assert {name: content[0] for name, content in kept.items() if "agent-blocks" not in name} == {
        name: content[0] for name, content in before.items() if "agent-blocks" not in name
    }


def test_a_story_without_meta_is_found_and_can_be_given_one(
    data: Path, opened: Callable[..., Workspace], state: Path
) -> None:
    story = make_story(data, "headless")
    (story / "meta.json").unlink()
    (data / "stories/empty").mkdir()
    workspace = opened()
    empty, headless = sorted(workspace.doctor(), key=lambda item: str(item.file))
    assert empty.offered is None
    assert headless.offered is not None
    assert workspace.repair([empty, headless]).failed == ()
    assert [item.file for item in workspace.doctor()] == [data / "stories/empty"]
    assert read(story / "meta.json")["name"] == "headless"


def test_a_broken_meta_does_not_hide_the_configs_faults(story: Path) -> None:
    config(blockOrder=[1])(story)
    (story / "meta.json").write_text("{", "utf-8")
    found = {item.file.name for item in examine(StoryFolder(story)) if item.file is not None}
    assert found == {"meta.json", f"{WRITER}.json"}


def test_a_broken_meta_hides_nothing_that_does_not_need_it(story: Path) -> None:
    names = (
        "lost section",
        "two files of one id",
        "unknown placement",
        "a tag that is only in the fragment",
        "override of no block",
    )
    for name in names:
        REPAIRABLE[name][0](story)
    added("branches/main/fragments/kn-mirafa copy.json", fragment("kn-mirafa", "knowledge", "Ten."))(story)
    (story / "meta.json").write_text("{", "utf-8")
    found = examine(StoryFolder(story))
    told = {item.field for item in found}
    assert told == {"", "id", *(REPAIRABLE[name][2] for name in names)}
    assert [item.field for item in found if item.file == story / "meta.json"] == [""]
    (copied,) = (item for item in found if item.file and item.file.stem == "kn-mirafa copy")
    assert copied.offered is None, "the order in meta.json may name it"
    assert StoryFolder(story).snapshot_without_meta().fragments


def test_types_are_not_told_of_when_nobody_knows_those_there_are(story: Path) -> None:
    script("return ctx.getFragments('place')")(story)
    (story / "meta.json").write_text("[]", "utf-8")
    assert [item.file for item in examine(StoryFolder(story))] == [story / "meta.json"]


def test_a_summary_that_some_branches_use_says_which_do_not(data: Path) -> None:
    story = make_story(data, branches=("main", "br-two"), summary="It was night.")
    assert examine(StoryFolder(story)) == []
    added("branches/br-two/fragments/sm-aaaa00.json", fragment("sm-aaaa00", "summary", "Night."))(story)
    assert only(story).message == "this summary is not used in br-two, as there are summary fragments"


def test_a_script_that_finds_what_it_looks_for_is_no_fault(story: Path) -> None:
    edited(QUAY, lambda value: value.update(tags=["sea"]))(story)
    added(INDEXES, {"tagIndex": {"sea": ["kn-mirafa"]}})(story)
    script(
        "// ctx.getFragment('kn-nosuch')\n"
        "const f = await ctx.getFragment('kn-mirafa'), t = await ctx.getFragmentsByTag('sea')\n"
        "const k = await ctx.getFragments('knowledge'), m = other.getFragment('kn-no' + 'such')\n"
        "const all = await ctx.getFragments(), id = ctx.getFragment('kn-nosuch' + m)\n"
        "return /'kn-nosuch'/.test(`don't ask for kn-nosuch ${f.name}`) ? 'see kn-nosuch' : t.length / k.length"
    )(story)
    assert examine(StoryFolder(story)) == []


def test_a_script_is_told_of_once_for_each_thing(story: Path) -> None:
    script("const a = 'kn-nosuch', b = 'kn-nosuch'\nreturn ctx.getFragment('kn-nosuch') || ctx.getFragment('x')")(story)
    assert [item.message.partition("looks for ")[2] for item in examine(StoryFolder(story))] == [
        "kn-nosuch (line 1), which is not there",
        "x (line 2), which is not there",
    ]


def test_without_an_index_one_is_written_for_the_tags(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    (story / INDEXES).unlink()
    assert examine(StoryFolder(story)) == []
    edited(QUAY, lambda value: value.update(tags=["sea", "sea", "land"]))(story)
    found = examine(StoryFolder(story))
    assert [item.field for item in found] == ["tagIndex.sea", "tagIndex.land"]
    assert mend(found, data, tmp_path / "b").failed == ()
    assert read(story / INDEXES) == {"tagIndex": {"sea": ["kn-mirafa"], "land": ["kn-mirafa"]}, "refIndex": {}}
    assert examine(StoryFolder(story)) == []


def test_the_index_keeps_its_order_and_what_is_not_known(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    index = {"later": 1, "tagIndex": {"b": ["kn-mirafa"], "a": ["gl-tonare"], "odd": 5}, "refIndex": {"x": []}}
    added(INDEXES, index)(story)
    edited(QUAY, lambda value: value.update(tags=["a", "c"]))(story)
    edited(FRAGMENT, lambda value: value.update(tags=5))(story)
    found = [item for item in examine(StoryFolder(story)) if item.file == story / INDEXES and item.offered]
    assert [item.field for item in found] == ["refIndex.x", "tagIndex.b[0]", "tagIndex.a", "tagIndex.c"]
    assert mend(found[1:], data, tmp_path / "b").failed == ()
    assert read(story / INDEXES) == {
        "later": 1,
        "tagIndex": {"a": ["gl-tonare", "kn-mirafa"], "odd": 5, "c": ["kn-mirafa"]},
        "refIndex": {"x": []},
    }


BROKEN_INDEXES: dict[str, tuple[str, dict[str, str]]] = {
    "empty": ("", {"br-two": "br-two", "main": "main"}),
    "a list": ("[]", {"br-two": "br-two", "main": "main"}),
    "no list in it": ('{"later": 1, "branches": 5}', {"br-two": "br-two", "main": "main"}),
    "no branch in it": ('{"branches": [{"id": ".."}]}', {"br-two": "br-two", "main": "main"}),
    "cut off": (
        '{"branches": [{"id": "main", "name": "The {quay}", "createdAt": "2026"}, {"id": "br-two", "name": "What',
        {"main": "The {quay}", "br-two": "br-two"},
    ),
    "cut off behind a name": (
        '{"branches": [{"id": "main", "order": 0, "name": "A" "x": 1}, {"id": "br-two", "name": "What if", "order": 1',
        {"main": "A", "br-two": "What if"},
    ),
    "a comma too many": (
        '{"branches": [{"id": "main", "name": "Main", "x": {"id": "br-two"}}, {"id": "br-two", "name": " "},],}',
        {"main": "Main", "br-two": "br-two"},
    ),
    "a value that is none": (
        '{"branches": [{"order": , "id": "br-two", "createdAt": !, "name": "Two"}, {"id": "main", "name": "A"}]}',
        {"br-two": "Two", "main": "A"},
    ),
    "entries of others": (
        '{{"id": "br-gone", "name": "Gone"} {"id": "br-two", "name": "Two", "order": -1} {"id": "br-two", "name": "3"}',
        {"br-two": "Two", "main": "main"},
    ),
}


@pytest.mark.parametrize("name", BROKEN_INDEXES)
def test_a_broken_index_of_branches_is_written_anew(name: str, data: Path, tmp_path: Path, state: Path) -> None:
    story = make_story(data, branches=("main", "br-two"))
    text, names = BROKEN_INDEXES[name]
    (story / "branches.json").write_text(text, "utf-8")
    folder = StoryFolder(story)
    shown = folder.branches()
    found = examine(folder)
    assert [item.offered.kind for item in found if item.offered is not None] == [Kind.BRANCHES]
    outcome = mend(found, data, tmp_path / "b")
    assert (len(outcome.done), outcome.failed) == (1, ())
    assert examine(StoryFolder(story)) == []
    after = StoryFolder(story).branches()
    assert {branch.id: branch.name for branch in after.all} == names
    assert [branch.id for branch in after.all] == list(names)
    assert (set(after.ids), after.active, after.doubt) == (set(shown.ids), shown.active, None)
    assert StoryFolder(story).branch_to_write().id == "main"
    index = read(story / "branches.json")
    assert all(item["order"] >= 0 and item["createdAt"] for item in index["branches"])
    assert index.get("later") == (1 if "later" in text else None)
    assert outcome.backup is not None
    assert (outcome.backup / "stories/the-quay/branches.json").read_text("utf-8") == text


def test_entries_of_branches_that_lack_something_are_told_of_and_completed(
    story: Path, data: Path, tmp_path: Path, state: Path
) -> None:
    (story / "branches/br-two").mkdir()
    index = {"branches": [{"id": "main", "order": "x"}, {"id": "br-two", "name": " ", "later": 1}]}
    (story / "branches.json").write_text(json.dumps({**index, "activeBranchId": "main"}, indent=1), "utf-8")
    found = [item for item in examine(StoryFolder(story)) if item.file == story / "branches.json"]
    fields = ["branches[0].name", "branches[0].order", "branches[1].name", "branches[1].order"]
    assert [item.field for item in found] == fields and all(item.line for item in found)
    assert mend(found, data, tmp_path / "b").failed == ()
    assert read(story / "branches.json")["branches"] == [
        {"id": "main", "order": 0, "name": "main"},
        {"id": "br-two", "name": "br-two", "later": 1, "order": 1},
    ]


def test_false_is_no_order_of_a_branch(story: Path, data: Path, tmp_path: Path) -> None:
    change(story / "branches.json", lambda value: value["branches"][0].update(order=False))
    found = [item for item in examine(StoryFolder(story)) if item.offered]
    assert [item.field for item in found] == ["branches[0].order"]
    assert mend(found, data, tmp_path / "b").failed == ()
    assert not [item for item in examine(StoryFolder(story)) if item.offered]


def test_an_index_of_branches_that_is_cut_anywhere_keeps_what_is_whole(data: Path) -> None:
    story = make_story(data, branches=("main", "br-two"))
    file = story / "branches.json"
    change(file, lambda value: value["branches"][1].update(name="What if", parentBranchId="main", forkAfterIndex=12))
    whole, document = file.read_bytes(), read(file)
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        (repairable,) = (item.offered for item in index_findings(story, StoryFolder(story).branches()) if item.offered)
        assert repairable.edit is not None
        again = repairable.edit(whole[:length])
        assert again is not None
        index = json.loads(again)
        assert index["activeBranchId"] == "main"
        for entry in index["branches"]:
            (given,) = (item for item in document["branches"] if item["id"] == entry["id"])
            kept = {key: value for key, value in entry.items() if given.get(key) == value}
            made = {key: value for key, value in entry.items() if key not in kept}
            assert made.keys() <= {"name", "order", "createdAt"}
            assert made.get("name", entry["id"]) == entry["id"]
            at = whole.index(b'"createdAt"', whole.index(b'"%s"' % entry["id"].encode()))
            assert length < at or "name" in kept, "it stood there whole"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    st.lists(
        st.sampled_from(["{", "}", "[", "]", ",", ":", '"', '"id"', '"main"', '"name"', "1e999", "\\", "NaN", " "])
    )
)
def test_any_index_of_branches_can_be_written_anew(story: Path, parts: list[str]) -> None:
    text = "".join(parts)
    (story / "branches.json").write_text(text, "utf-8")
    for item in examine(StoryFolder(story)):
        if item.offered is not None and item.offered.edit is not None:
            after = item.offered.edit(text.encode())
            assert after is not None
            (story / "branches.json").write_bytes(after)
    assert [branch.id for branch in StoryFolder(story).branches().all] == ["main"]
    assert examine(StoryFolder(story)) == []


def test_a_file_that_changed_meanwhile_is_left_alone(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    config(overrides={"ghost": {}})(story)
    leftover(story)
    found = examine(StoryFolder(story))
    config(overrides={"ghost": {}, "tools": {"order": 1}})(story)
    before = config_file(story).read_bytes()
    outcome = mend(found, data, tmp_path / "b")
    assert [failure.file for failure in outcome.failed] == [config_file(story)]
    assert config_file(story).read_bytes() == before
    assert len(outcome.done) == 1, "the others go on"


def test_without_a_place_for_backups_nothing_is_touched(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    config(overrides={"ghost": {}})(story)
    before = tree(data)
    (tmp_path / "b").write_text("in the way", "utf-8")
    outcome = mend(examine(StoryFolder(story)), data, tmp_path / "b")
    assert (outcome.done, outcome.backup, len(outcome.failed)) == ((), None, 1)
    assert tree(data) == before


def test_a_write_under_way_is_no_leftover(story: Path) -> None:
    (story / "meta.json.tmp-mb3k2x-a1b2c3").write_text("{", "utf-8")
    assert examine(StoryFolder(story)) == []


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A fragment that is none of the story's."""
    file = tmp_path / "secret.json"
    file.write_text(json.dumps(fragment("kn-secret", "knowledge", "SECRET", sticky=True)), "utf-8")
    yield file


def test_links_out_of_the_story_are_told_and_not_followed(story: Path, outside: Path) -> None:
    root = story / "branches/main"
    link = root / "fragments/kn-secret.json"
    link.symlink_to(outside)
    (root / "fragments/kn-inside.json").symlink_to(root / "fragments/kn-mirafa.json")
    loop = root / "fragments/kn-aalink.json"
    loop.symlink_to(loop)
    (root / "nowhere.txt").symlink_to(outside.parent / "gone")
    (root / "agent-blocks").mkdir()
    stray = root / f"agent-blocks/{WRITER}.json"
    stray.symlink_to(outside)
    (story / "notes.txt").symlink_to(outside)
    snapshot = StoryFolder(story).snapshot()
    assert snapshot.get("kn-secret") is None
    assert snapshot.get("kn-inside") is not None, "a link inside is the user's business"
    assert len(snapshot.fragments) == 6, "and the others are all there"
    told = {item.file: item.message for item in examine(StoryFolder(story)) if item.field == ""}
    assert set(told) == {link, loop, stray, story / "notes.txt", root / "nowhere.txt"}
    assert "leads out of the story" in told[link]
    assert "leads nowhere" in told[root / "nowhere.txt"]


def test_a_folder_of_fragments_elsewhere_is_not_read(story: Path, outside: Path) -> None:
    root = story / "branches/main"
    (root / "fragments").rename(outside.parent / "elsewhere")
    (root / "fragments").symlink_to(outside.parent / "elsewhere")
    folder = StoryFolder(story)
    assert dict(folder.snapshot().fragments) == {}
    assert any(item.file == root / "fragments" for item in examine(folder))
    (root / "fragments").unlink()
    (outside.parent / "elsewhere").rename(root / "fragments")
    assert folder.snapshot().fragments, "it is seen when it is back"


@pytest.mark.parametrize("name", ["kn-mirafa copy", "kn-mirafa (2)", "Kopie"])
def test_a_copied_file_is_given_an_id_of_its_own(
    name: str, story: Path, data: Path, tmp_path: Path, state: Path
) -> None:
    document = {**fragment("kn-mirafa", "knowledge", "Ten berths."), "x-future": 1}
    added(f"branches/main/fragments/{name}.json", document)(story)
    before = tree(story)
    finding = only(story)
    assert finding.offered is not None and finding.offered.kind is Kind.FRAGMENT_ID
    outcome = mend([finding], data, tmp_path / "b")
    assert (len(outcome.done), outcome.failed) == (1, ())
    assert examine(StoryFolder(story)) == []
    (new,) = (Path(file) for file in tree(story).keys() - before.keys())
    assert re.fullmatch(r"kn-[a-z0-9]{4,12}\.json", new.name)
    assert read(story / new) == {**document, "id": new.stem}
    assert before.keys() - tree(story).keys() == {f"branches/main/fragments/{name}.json"}
    assert outcome.backup is not None
    assert [Path(file).stem for file in tree(outcome.backup)] == [name]


def test_a_copied_file_that_is_in_use_is_only_told_of(story: Path) -> None:
    added("branches/main/fragments/pr-aaaa00 copy.json", fragment("pr-aaaa00", "prose", "Again."))(story)
    entry = {"proseFragments": ["pr-aaaa00 copy"], "active": "pr-aaaa00 copy"}
    change(story / CHAIN, lambda value: value["entries"].append(entry))
    finding = only(story)
    assert (finding.field, finding.offered) == ("id", None)


def test_a_copied_file_that_changed_meanwhile_is_left_alone(
    story: Path, data: Path, tmp_path: Path, state: Path
) -> None:
    name = "branches/main/fragments/kn-mirafa copy.json"
    added(name, fragment("kn-mirafa", "knowledge", "Ten berths."))(story)
    finding = only(story)
    change(story / name, lambda value: value.update(content="Eleven."))
    before = tree(story)
    assert [failure.file for failure in mend([finding], data, tmp_path / "b").failed] == [story / name]
    assert tree(story) == before


# -- models


PROVIDER = {"id": "prov-a", "name": "A", "baseURL": "http://h/v1", "apiKey": "sk-SECRET", "defaultModel": "m"}


def providers(data: Path, *entries: Any, **more: Any) -> None:
    data.mkdir(exist_ok=True)
    (data / "config.json").write_text(json.dumps({"providers": [*entries], **more}, indent=2), "utf-8")


def told(workspace: Workspace, story: str | None = None) -> dict[str, str]:
    found = workspace.doctor(story)
    assert "SECRET" not in "".join(map(str, found))
    assert all(item.repair and item.file is not None for item in found)
    return {f"{item.file.name}: {item.field}": item.message for item in found if item.file is not None}


def test_what_is_wrong_with_the_providers_is_found(data: Path, workspace: Workspace, tmp_path: Path) -> None:
    assert told(workspace) == {}
    providers(data, PROVIDER, {**PROVIDER, "baseURL": "h"}, {"id": "prov-b"}, defaultProviderId="prov-lost")
    own = tmp_path / "config/providers.toml"
    own.parent.mkdir()
    own.write_text('[providers.mine]\nbase_url = "http://h/v1"\ndefault_model = "m"\nkey = "SECRET"\n', "utf-8")
    own.chmod(0o644)
    found = told(workspace)
    assert all(item.line for item in workspace.doctor() if item.file == data / "config.json")
    assert found.pop("config.json: defaultProviderId") == "the default provider 'prov-lost' is not there"
    assert "is a second provider 'prov-a'" in found.pop("config.json: providers[1]")
    assert {name for name in found if name.startswith("config.json: providers[2].")}
    if os.name == "posix":
        assert found["providers.toml: "] == "holds a key and can be read by others"
    assert told(workspace, "the-quay") == {}, "not of one story"
    providers(data, {**PROVIDER, "enabled": False}, defaultProviderId="prov-a")
    assert told(workspace)["config.json: defaultProviderId"] == "the default provider 'prov-a' is disabled"
    (data / "config.json").write_text("{", "utf-8")
    assert told(workspace)["config.json: "].startswith("is not valid JSON")


def test_what_a_story_says_of_models_in_vain_is_found(data: Path, workspace: Workspace, story: Path) -> None:
    providers(data, PROVIDER, defaultProviderId="prov-a")
    setting(
        modelOverrides={
            "generation.writer": {"providerId": "prov-gone", "modelId": None},
            "librarian.chat": {"temperature": 3, "modelId": "m"},
            "librarianRefine": "big",
            "librarianChat": {"providerId": "prov-a"},
            "prewriter": {},
            "generation.prewriter": {"temperature": 1},
            "poet": {"modelId": "m"},
            "directions": {"providerId": "prov-a", "temperature": 1},
        },
        librarianProviderId="prov-lost",
        characterChatProviderId="prov-a",
    )(story)
    found = told(workspace, "the-quay")
    place = 'meta.json: settings.modelOverrides["generation.writer"].providerId'
    assert "the provider 'prov-gone' is not there" in found.pop(place)
    hidden = found.pop("meta.json: settings.modelOverrides.librarianChat")
    assert hidden.startswith("librarian.chat is the newer name of the same and has an entry too")
    assert "from 0 to 2" in found.pop('meta.json: settings.modelOverrides["librarian.chat"].temperature')
    assert "is not an object" in found.pop("meta.json: settings.modelOverrides.librarianRefine")
    assert "no agent or role poet" in found.pop("meta.json: settings.modelOverrides.poet")
    assert "the provider 'prov-lost' is not there" in found.pop("meta.json: settings.librarianProviderId")
    assert found == {}
    assert all(item.line is not None for item in workspace.doctor("the-quay"))
    setting(modelOverrides=[], librarianProviderId=None)(story)
    assert told(workspace, "the-quay") == {
        "meta.json: settings.modelOverrides": "is not an object, so no model is overridden"
    }


def test_a_lost_section_does_not_come_to_show_a_character(story: Path, data: Path, tmp_path: Path, state: Path) -> None:
    entry = {"proseFragments": ["ch-bafego", "pr-lost00"], "active": "pr-lost00"}
    change(story / CHAIN, lambda value: value["entries"].append(entry))
    mend(examine(StoryFolder(story)), data, tmp_path / "b")
    assert [item["active"] for item in read(story / CHAIN)["entries"]] == ["pr-aaaa00", "pr-aaaa01"]


IDS = ("pr-aaaa00", "pr-aaaa01", "pr-broken", "mk-aaaa00", "pr-lost00", "pr-lost01", "ch-bafego")
ENTRY = st.fixed_dictionaries(
    {"active": st.sampled_from(IDS)}, optional={"proseFragments": st.lists(st.sampled_from(IDS), max_size=3)}
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(entries=st.lists(ENTRY, max_size=5), chosen=st.lists(st.booleans(), min_size=30, max_size=30))
def test_no_repair_of_the_chain_shares_or_loses_a_fragment(
    story: Path, entries: list[dict[str, Any]], chosen: list[bool]
) -> None:
    added("branches/main/fragments/mk-aaaa00.json", fragment("mk-aaaa00", "marker"))(story)
    added("branches/main/fragments/pr-broken.json", "{")(story)
    added(CHAIN, {"entries": entries})(story)
    found = [item.offered for item in examine(StoryFolder(story)) if item.file == story / CHAIN and item.offered]
    data: bytes | None = (story / CHAIN).read_bytes()
    for item, wanted in zip(found, chosen, strict=False):
        if wanted:
            assert item.edit is not None
            data = item.edit(data)
    assert data is not None
    after = json.loads(data)["entries"]
    for name in IDS[:4]:
        listed, once = _listing(after, name), _listing(entries, name)
        assert listed <= max(once, 1), f"{name} belongs to two sections now"
        assert _holding(after, name) <= _holding(entries, name)
        assert bool(_holding(after, name)) is bool(_holding(entries, name)), f"{name} is lost"


def _listing(entries: list[dict[str, Any]], name: str) -> int:
    return sum(name in entry.get("proseFragments", ()) for entry in entries)


def _holding(entries: list[dict[str, Any]], name: str) -> int:
    return sum(name in (entry["active"], *entry.get("proseFragments", ())) for entry in entries)


def test_a_script_that_does_not_compile_is_found_and_none_is_run(workspace: Workspace, story: Path) -> None:
    bodies = ["return ctx.nothing.here", "for (;;) {}", "const a = 1;\nreturn (a;", "return await 1"]
    blocks = [custom_block(f"cb-aaa{n}", body, type="script", name=f"s{n}") for n, body in enumerate(bodies)]
    config(customBlocks=[*blocks, custom_block("cb-bbbb", "return (", name="text")])(story)
    (finding,) = workspace.doctor("the-quay")
    assert (finding.field, finding.offered) == ("customBlocks[2].content", None)
    assert finding.message.startswith("the script of cb-aaa2 can't run: SyntaxError")
    assert "line 2" in finding.message
