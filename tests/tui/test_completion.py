"""What is offered at the cursor of a script or a text, and that the engine has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.workspace import WRITER, Workspace
from tests.stories import make_story
from tui.completion import (
    FRAGMENT_FIELDS,
    ITEMS,
    KINDS,
    MEMBERS,
    SIGNATURES,
    Completion,
    Sources,
    complete_script,
    complete_text,
)
from tui.language import find

FRAGMENTS = [
    ("ch-bafego", "character", "Ines Marlow"),
    ("ch-xuvaro", "character", "林潮"),
    ("kn-tidebo", "knowledge", "Tide tables"),
    ("gl-voices", "guideline", "Voice"),
]
SOURCES = Sources(
    ["story", "proseFragments", "stickyCustomFragments", "chapterSummaries", "characterCatalog", "characterShortlist",
     "targetFragment", *SIGNATURES],
    FRAGMENTS,
    ["harbour", "night"],
    lambda name: f"about {name}",
)  # fmt: skip


def offered(completion: Completion | None) -> list[str]:
    return [] if completion is None else [item.insert for item in completion.candidates]


def in_script(script: str) -> list[str]:
    """What is offered at the `|` of a script."""
    before, _, behind = script.partition("|")
    return offered(complete_script(before.rpartition("\n")[2], lambda: before + behind, SOURCES))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("ctx.pro|", ["proseFragments"]),
        ("`${ctx.sto|}`", ["story", "stickyCustomFragments"]),
        ("ctx.getFragmentB|", ["getFragmentByTag("]),
        ("ctx.CATALOG|", ["characterCatalog"]),
        ("'see ctx.pro|'", []),
        ("// ctx.pro|", []),
        ("myctx.pro|", []),
        ("ctx.story.na|", ["name"]),
        ("ctx.proseFragments[0].con|", ["content"]),
        ("ctx.proseFragments.at(-1)?.con|", ["content"]),
        ("ctx.proseFragments.con|", []),
        ("ctx.targetFragment.con|", ["content"]),
        ("const last = ctx.proseFragments.at(-1)\nreturn last.con|", ["content"]),
        ("const last = ctx.proseFragments[ctx.proseFragments.length - 1];\nlast.con|", ["content"]),
        ("const all = await ctx.getFragments('character')\nall[0].nam|", ["name"]),
        ("const one = await ctx.getFragment('ch-bafego');\nif (one.arch|)", ["archived"]),
        ("for (const f of ctx.characterCatalog) {\n  f.nam|", ["name"]),
        ("for (const f of await ctx.getFragmentsByTag('x')) f.nam|", ["name"]),
        ("ctx.characterCatalog.filter(f => f.nam|)", ["name"]),
        ("const people = ctx.characterCatalog.filter(f => f.sticky)\npeople.map((p, i) => p.desc|)", ["description"]),
        ("ctx.characterCatalog\nreturn x.nam|", []),
        ("ctx.stickyCustomFragments[0].fragments[0].con|", ["content"]),
        ("ctx.stickyCustomFragments[0].con|", []),
        ("ctx.chapterSummaries[0].mark|", ["markerId"]),
        ("const a = a.b\na.con|", []),
        ("await ctx.getFragment('ch-b|')", ["ch-bafego"]),
        ("await ctx.getFragment('ines|')", ["ch-bafego"]),
        ('ctx.getFragment("林|', ["ch-xuvaro"]),
        ("ctx.getFragmentsByTag('n|", ["night"]),
        ("ctx.getFragments('know|", ["knowledge"]),
        ("getFragment(x|", []),
        ("return 1.|", []),
    ],
)
def test_scripts(script: str, expected: list[str]) -> None:
    assert in_script(script) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Ask <@", [f"<@{id}>" for id, _, _ in FRAGMENTS]),
        ("Ask <@in", ["<@ch-bafego>"]),
        ("Ask <@tab", ["<@kn-tidebo>"]),
        ("Ask <@mrl", ["<@ch-bafego>"]),
        ("Ask <@kn-", ["<@kn-tidebo>"]),
        ("Ask <@zzz", []),
        ("Ask <@ch-bafego> in", []),
        ("a < b @", []),
    ],
)
def test_texts(line: str, expected: list[str]) -> None:
    assert offered(complete_text(line, SOURCES)) == expected


def test_members_have_their_signature_and_what_they_are() -> None:
    completion = complete_script("ctx.getFragments", lambda: "", SOURCES)
    assert completion is not None and completion.start == 4
    assert [(item.label, item.detail) for item in completion.candidates] == [
        ("getFragments(type?)", "about getFragments"),
        ("getFragmentsByTag(tag)", "about getFragmentsByTag"),
    ]


@given(st.text(st.sampled_from("ctx.proseFragments()[]'\"`${}<@=> constofmap\\/ \n"), max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    complete_script(text.rpartition("\n")[2], lambda: text, SOURCES)
    complete_text(text, SOURCES)


def test_many_fragments() -> None:
    sources = Sources(fragments=[(f"ch-{n:06d}", "character", f"Person {n}") for n in range(10_000)])
    assert offered(complete_text("<@person 9999", sources)) == ["<@ch-009999>"]
    assert len(offered(complete_text("<@", sources))) == 50


def test_the_engine_has_what_is_offered(tmp_path: Path) -> None:
    """Every field is described, and holds what its members are offered for."""
    make_story(tmp_path / "data")
    with_state = Workspace(tmp_path / "data", state=tmp_path / "state")
    try:
        for agent in with_state.definitions():
            session = with_state.session("the-quay", agent.name)
            assert session.script_names() == ()
            session.install(session.load())
            assert session.base is not None
            fields, functions = session.base.script_fields()
            assert set(session.script_names()) == {*fields, *functions}
            assert set(functions) == set(SIGNATURES)
            for name, read in fields.items():
                assert name.endswith("Shortlist") or find(f"text.ctx.{name}"), name
                value = (
                    [item for text in read() for item in json.loads(text)] if _is_list(name) else json.loads(read()[0])
                )
                kind = KINDS.get(name)
                for item in value if kind in ITEMS else [value] if kind else []:
                    keys = MEMBERS[ITEMS.get(kind or "", kind or "")]
                    assert set(item) <= {*keys, *FRAGMENT_FIELDS}, name
        session = with_state.session("the-quay", WRITER)
        session.install(session.load())
        assert {"proseFragments", "story", "getFragment"} <= set(session.script_names())
        assert all(find(f"text.ctx.{name}") for name in (*KINDS, *SIGNATURES))
    finally:
        with_state.close()


def _is_list(name: str) -> bool:
    return KINDS.get(name) in ITEMS
