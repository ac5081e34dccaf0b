"""Where the characters of a prompt come from, and why a block stands where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import ContextBlock
from engine.blocks.tags import expand_tags
from engine.hooks import HookContext, Hooks
from engine.provenance import TracedText, join, origins_of, sourced, strip, substitute, tracing
from engine.session import Session
from engine.text import join_parts
from engine.why import Cause, Explanation, LineReasons, traced
from engine.workspace import Workspace
from tests.engine.conftest import STORY, WRITER
from tests.stories import make_story

NAMES = st.sampled_from(["one", "two", "three"])
TEXTS = st.recursive(
    st.text(alphabet="ab\n <@kn-mirafa>", max_size=12),
    lambda inner: (
        st.tuples(st.just("join"), st.sampled_from(["", "\n", "--"]), st.lists(inner, max_size=4))
        | st.tuples(st.just("sourced"), inner, NAMES)
        | st.tuples(st.just("strip"), inner)
        | st.tuples(st.just("parts"), st.lists(inner, max_size=3))
        | st.tuples(st.just("tags"), inner)
    ),
    max_leaves=12,
)


def made(plan: object, contents: list[tuple[str, str]]) -> str:
    """The text a plan describes; what was sourced and can be found again goes to `contents`."""
    if isinstance(plan, str):
        return plan
    assert isinstance(plan, tuple)
    match plan[0]:
        case "join":
            return join(plan[1], [made(part, contents) for part in plan[2]])
        case "parts":
            return join_parts(*(made(part, contents) for part in plan[1]))
        case "strip":
            return strip(made(plan[1], contents), "\n ")
        case "tags":
            return expand_tags(made(plan[1], contents), lambda _id, _short: "berths")
        case _:
            text = made(plan[1], contents)
            contents.append((plan[2], text))
            return sourced(text, "thing", plan[2])


@given(TEXTS)
def test_tracing_changes_no_character_and_origins_name_what_was_sourced(plan: object) -> None:
    plain: list[tuple[str, str]] = []
    without = made(plan, plain)
    with tracing():
        contents: list[tuple[str, str]] = []
        text = made(plan, contents)
    assert text == without and plain == contents and not isinstance(without, TracedText)
    expanded = {(name, expand_tags(given, lambda _id, _short: "berths").strip("\n ")) for name, given in contents}
    for origin in origins_of(text):
        assert 0 <= origin.start < origin.end <= len(text)
        if origin.kind == "thing":
            piece = expand_tags(text[origin.start : origin.end], lambda _id, _short: "berths").strip("\n ")
            assert any(name == origin.name and piece in given for name, given in expanded)
        else:
            assert text[origin.start : origin.end].startswith("berths"[: origin.end - origin.start])


def test_an_outer_origin_stands_before_those_inside_it() -> None:
    with tracing():
        text = sourced(join("-", [sourced("a", "inner", "1"), sourced("b", "inner", "2")]), "outer", "3")
        text = substitute(re.compile("b"), lambda match: sourced("ccc", "tag", match[0]), text)
    assert text == "a-ccc"
    assert [(o.kind, o.name, o.start, o.end) for o in origins_of(text)] == [
        ("outer", "3", 0, 5),
        ("inner", "1", 0, 1),
        ("inner", "2", 2, 5),
        ("tag", "b", 2, 5),
    ]


# -- a prompt


@pytest.fixture
def session(workspace: Workspace) -> Session:
    return loaded(workspace)


def loaded(workspace: Workspace, agent: str = WRITER, **options: str) -> Session:
    session = workspace.session(STORY, agent, **options)  # type: ignore[arg-type]
    session.install(session.load())
    return session


def of_line(session: Session, text: str) -> LineReasons:
    """The reasons of the line that holds a text."""
    explanation = session.explaining()()
    for number, message in enumerate(session.prompt().messages):
        at = message.content.find(text)
        if at >= 0:
            end = (message.content + "\n").find("\n", at)
            return explanation.at(number, message.content.rfind("\n", 0, at) + 1, end)
    raise AssertionError(text)


def kinds(reasons: LineReasons) -> list[str]:
    return [" ".join(filter(None, (cause.kind, cause.name, cause.form))) for cause in reasons.causes]


def test_fragments_say_how_they_came(session: Session) -> None:
    pinned = of_line(session, "Past tense.")
    assert pinned.key == "user-fragments"
    assert pinned.causes == (Cause("fragment", "gl-tonare", "full", "Tense", "guideline", "pinned"),)
    assert of_line(session, "`kn-mirafa`").causes == (
        Cause("fragment", "kn-mirafa", "row", "The quay", "knowledge", "catalog"),
    )
    assert kinds(of_line(session, "The lamp on the quay")) == ["fragment pr-aaaa00 prose"]
    assert of_line(session, "[@block=prose-recent]") == LineReasons("prose-recent", True, ())
    assert of_line(session, "## Recent Prose").causes == ()
    assert kinds(of_line(session, "# The Quay")) == ["story name"]


def test_overrides_tags_and_scripts(session: Session) -> None:
    session.set_mode("instructions", "prepend", "Mind <@gl-tonare> and <@zz-nobody>.")
    script = "return 'High at ' + ctx.proseFragments.length + '. <@kn-mirafa:short>'"
    block = session.add("Tides", "user", "script", script)
    text = session.add("Note", "user", "simple", "A note.")
    session.install(session.load())
    assert kinds(of_line(session, "Mind ### Tense")) == [
        "override instructions prepend",
        "tag <@gl-tonare>",
        "fragment gl-tonare full",
    ]
    assert [cause.tier for cause in of_line(session, "Mind ### Tense").causes] == ["", "", "tag"]
    assert [cause.tier for cause in of_line(session, "High at 2.").causes] == ["", "", "tag"]
    assert of_line(session, "`kn-mirafa`").causes[0].tier == "catalog"
    assert kinds(of_line(session, "[unknown fragment: zz-nobody]"))[0] == "override instructions prepend"
    assert kinds(of_line(session, "High at 2.")) == [
        f"script {block}",
        "tag <@kn-mirafa:short>",
        "fragment kn-mirafa short",
    ]
    assert kinds(of_line(session, "A note.")) == [f"text {text}"]
    instruction = session.prompt().blocks[0].content.splitlines()[-1]
    assert kinds(of_line(session, instruction)) == ["instruction generation.system"]


def test_a_summary_and_the_direction(tmp_path: Path) -> None:
    fragments = [{"id": "sm-first", "type": "summary", "content": "A boat is missing."}]
    make_story(tmp_path / "data", STORY, fragments=fragments)
    workspace = Workspace(tmp_path / "data", state=tmp_path / "state")
    session = workspace.session(STORY, WRITER)
    session.author_input = "Let the storm come."
    session.install(session.load())
    assert kinds(of_line(session, "A boat is missing.")) == ["story summary", "fragment sm-first summary"]
    assert kinds(of_line(session, "Let the storm come.")) == ["input direction"]
    prewriter = loaded(workspace, "generation.prewriter")
    assert kinds(of_line(prewriter, "A boat is missing.")) == ["story summary", "fragment sm-first summary"]
    workspace.close()


def test_what_a_hook_rewrote_is_told_as_its_own(workspace: Workspace) -> None:
    def more(blocks: list[ContextBlock], _where: HookContext) -> list[ContextBlock]:
        return [*blocks, ContextBlock("more", "user", "From a plugin.", 9000, "tides")]

    workspace.hooks.add(Hooks("tides", before_blocks=more))
    session = loaded(workspace)
    assert of_line(session, "From a plugin.").causes == (Cause("plugin", "tides"),)
    assert kinds(of_line(session, "The lamp on the quay")) == ["fragment pr-aaaa00 prose"]


@pytest.mark.parametrize("target", ["ch-bafego", None])
def test_every_agent_is_traced_to_the_same_characters(workspace: Workspace, target: str | None) -> None:
    for definition in workspace.definitions():
        about = target if target in [item.id for item in workspace.targets(STORY, definition.name)] else None
        session = loaded(workspace, definition.name, **({"target": about} if about else {}))
        base, prompt = session.base, session.prompt()
        assert base is not None
        again = traced(base, session.document.config, session.load().results)
        assert again == prompt.messages
        for message in again:
            for origin in origins_of(message.content):
                text = message.content[origin.start : origin.end]
                fragment = base.snapshot.get(origin.name) if origin.kind == "fragment" else None
                if fragment is not None:
                    shown = {
                        "row": fragment.id,
                        "prose-row": fragment.id,
                        "prose": fragment.content,
                        "target": fragment.id,
                    }
                    assert shown.get(origin.form, fragment.name) in text


def test_every_line_has_a_block(session: Session) -> None:
    explanation: Explanation = session.explaining()()
    for number, message in enumerate(session.prompt().messages):
        at = 0
        for line in message.content.split("\n"):
            reasons = explanation.at(number, at, at + len(line))
            holder = max((span for span in message.spans if span.start <= at), key=lambda span: span.start)
            assert reasons.key == holder.block.id
            assert reasons.marker == line.startswith("[@block=")
            at += len(line) + 1


# -- blocks


def test_why_a_block_is_there_or_not_and_where(session: Session, opened: Callable[..., Workspace]) -> None:
    there = session.why_block("fragment-catalog")
    assert there.condition == "no fragment is left to list" and there.row.state == "compiled"
    assert (there.rule, there.ordered, there.own_order) == ("own", False, 330)
    assert there.before and there.behind == "prose-recent"
    absent = session.why_block("new-story")
    assert absent.row.state == "absent" and absent.row.note == absent.condition != ""
    assert session.why_block("instructions").condition == ""
    session.toggle("story-info")
    assert session.why_block("story-info").off_by == ("override",)
    session.pin_order("fragment-catalog", 7)
    assert session.why_block("fragment-catalog").rule == "pinned"
    session.move("user-fragments", 99)
    moved = session.why_block("user-fragments")
    assert moved.rule == "list" and moved.ordered and moved.behind is None
    assert moved.place == moved.count == sum(row.role == "user" for row in session.rows), "inside its role"
    block = session.add("Note", "user", "simple", "A note.")
    session.toggle(block)
    assert session.why_block(block).off_by
