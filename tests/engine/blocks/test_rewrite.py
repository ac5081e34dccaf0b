"""Spans of rewritten messages: they still partition the text, and what is unchanged keeps its block."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.blocks import ContextBlock, Role, compile_blocks, rewrite_messages

BLOCKS = [ContextBlock(f"b{index}", "user", text, index) for index, text in enumerate(("alpha", "", "gamma gamma"))]
MESSAGES = compile_blocks([ContextBlock("s", "system", "be brief", 1), *BLOCKS])
SYSTEM, USER = (message.content for message in MESSAGES)


def rewritten(user: str) -> list[tuple[str, str, str]]:
    """Id, source and content of the blocks of the user message after it became `user`."""
    message = rewrite_messages(MESSAGES, [("system", SYSTEM), ("user", user)], "me")[1]
    assert message.content == user
    found = []
    for span in message.spans:
        assert span.block.content == user[span.content_start : span.content_end]
        found.append((span.block.id, span.block.source, span.block.content))
    return found


def test_a_change_inside_one_block_stays_its_own() -> None:
    assert rewritten(USER.replace("alpha", "al-pha!")) == [
        ("b0", "builtin", "al-pha!"),
        ("b1", "builtin", ""),
        ("b2", "builtin", "gamma gamma"),
    ]


def test_text_in_front_behind_and_across_blocks_is_the_owners() -> None:
    assert rewritten("First. " + USER)[0] == ("me#2", "me", "First. ")
    assert rewritten(USER + " Last.")[-1] == ("me#2", "me", " Last.")
    across = USER.replace("alpha\n\n[@block=b1]\n", "X")
    assert [block_id for block_id, _, _ in rewritten(across)] == ["me#2", "b2"]
    assert rewritten("") == []


def test_unchanged_messages_are_the_same_and_new_ones_the_owners() -> None:
    first, second, third = rewrite_messages(MESSAGES, [("user", USER), ("system", SYSTEM), ("user", "more")], "me")
    assert (first, second) == (MESSAGES[1], MESSAGES[0])
    assert [span.block.source for span in third.spans] == ["me"]


ROLES: st.SearchStrategy[Role] = st.sampled_from(["system", "user"])
TEXTS = st.text("ab\n[", max_size=12)


@given(
    blocks=st.lists(st.tuples(ROLES, TEXTS), max_size=5),
    after=st.lists(
        st.tuples(ROLES, TEXTS | st.builds(lambda a, b: f"[@block=b0]\n{a}\n\n[@block=b1]\n{b}", TEXTS, TEXTS))
    ),
)
def test_spans_partition_whatever_is_written(blocks: list[tuple[Role, str]], after: list[tuple[Role, str]]) -> None:
    before = compile_blocks(ContextBlock(f"b{n}", role, text, n) for n, (role, text) in enumerate(blocks))
    messages = rewrite_messages(before, after, "me")
    assert [(message.role, message.content) for message in messages] == after
    for message in messages:
        at = 0
        for span in message.spans:
            assert span.start == at <= span.content_start <= span.content_end <= span.end
            assert span.start < span.end
            assert span.block.content == message.content[span.content_start : span.content_end]
            at = span.end
        assert at == len(message.content)
