"""Two compiled prompts compared, block by block: what an edit does to what is sent. Pure.

Blocks are matched by id, repeated ids in the order they are sent, whatever message they stand in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from engine.differences import Line, compare_lines, in_order
from engine.models.tokens import estimate_tokens
from engine.prompt import Prompt
from engine.runs.log import logged_blocks

Sign = Literal["+", "-", "~", ">", "="]
"""added · removed · another text, name or role · only moved · as it was"""

CONTEXT_LINES = 3
"""Unchanged lines shown around changed ones."""


@dataclass(frozen=True, slots=True)
class SentBlock:
    """A block as it was sent: `content` without its marker line, `tokens` estimated with it."""

    id: str
    name: str
    role: str
    content: str
    tokens: int


@dataclass(frozen=True)
class BlockChange:
    """What became of one block.

    `key` is its id, with `#2` … behind a repeated one; `lines` are those of both texts, empty when the text is the
    same; `added` and `removed` are estimated tokens of the words that differ, balanced so that `added - removed` is
    what the block has gained.
    """

    key: str
    before: SentBlock | None
    after: SentBlock | None
    moved: bool = False
    lines: tuple[Line, ...] = ()
    added: int = 0
    removed: int = 0

    @property
    def block(self) -> SentBlock:
        """The block as it is, or as it was when it is no longer there."""
        block = self.after or self.before
        assert block is not None
        return block

    @property
    def role_changed(self) -> bool:
        return self.before is not None and self.after is not None and self.before.role != self.after.role

    @property
    def renamed(self) -> bool:
        return self.before is not None and self.after is not None and self.before.name != self.after.name

    @property
    def sign(self) -> Sign:
        if self.before is None:
            return "+"
        if self.after is None:
            return "-"
        if self.lines or self.role_changed or self.renamed:
            return "~"
        return ">" if self.moved else "="


@dataclass(frozen=True)
class Comparison:
    """Every block of two prompts, in the order they are sent now; one that is gone stands where it stood.

    `by_message`: what the older prompt was made of is not known, so that its messages stand for blocks. `at` is the
    time of the older one (ISO 8601), where there is one to tell.
    """

    changes: tuple[BlockChange, ...]
    before_tokens: int
    after_tokens: int
    by_message: bool = False
    at: str = ""

    @cached_property
    def changed(self) -> tuple[BlockChange, ...]:
        """The blocks that are not as they were."""
        return tuple(change for change in self.changes if change.sign != "=")

    @property
    def same(self) -> bool:
        """Whether the two prompts are the same, to the character."""
        return not self.changed

    @property
    def added(self) -> int:
        return sum(change.added for change in self.changes)

    @property
    def removed(self) -> int:
        return sum(change.removed for change in self.changes)

    @cached_property
    def text(self) -> str:
        """The differences as a text to read or keep; empty when there are none."""
        return "".join(f"{line}\n" for change in self.changed for line in _described(change))


@dataclass(frozen=True)
class Sent:
    """One side of a comparison: a prompt by its blocks, or by its messages where nothing more is known."""

    blocks: tuple[SentBlock, ...]
    by_message: bool = False
    at: str = ""

    @staticmethod
    def of_prompt(prompt: Prompt, *, by_message: bool = False) -> Sent:
        """A prompt that was compiled."""
        if by_message:
            return Sent(tuple(_message(message.role, message.content) for message in prompt.messages), True)
        return Sent(
            tuple(SentBlock(block.id, block.name, block.role, block.content, block.tokens) for block in prompt.blocks)
        )

    @staticmethod
    def of_log(log: Mapping[str, Any], *, by_message: bool = False) -> Sent:
        """The prompt that a generation log keeps; what of it is no message is passed over."""
        at = log["createdAt"] if isinstance(log.get("createdAt"), str) else ""
        found = None if by_message else logged_blocks(log)
        if found is not None:
            blocks = tuple(
                SentBlock(block.id, block.name, block.role, block.content, estimate_tokens(block.marked))
                for block in found
            )
            return Sent(blocks, at=at)
        messages = log.get("messages")
        given = [item for item in messages if isinstance(item, Mapping)] if isinstance(messages, list) else []
        texts = [(item.get("role"), item.get("content")) for item in given]
        return Sent(
            tuple(_message(role, text) for role, text in texts if isinstance(role, str) and isinstance(text, str)),
            True,
            at,
        )


def _message(role: str, content: str) -> SentBlock:
    return SentBlock(role, role, role, content, estimate_tokens(content))


def compare(before: Sent, after: Sent) -> Comparison:
    """What became of each block of `before` in `after`. Both by blocks, or both by messages."""
    old, new = _keyed(before.blocks), _keyed(after.blocks)
    moved = _moved(old, new)
    changes = tuple(_change(key, old.get(key), new.get(key), key in moved) for key in _merged_order(old, new, moved))
    return Comparison(
        changes,
        sum(block.tokens for block in before.blocks),
        sum(block.tokens for block in after.blocks),
        after.by_message,
        before.at,
    )


def _keyed(blocks: Iterable[SentBlock]) -> dict[str, SentBlock]:
    keyed: dict[str, SentBlock] = {}
    counts: dict[str, int] = {}
    for block in blocks:
        count = counts[block.id] = counts.get(block.id, 0) + 1
        keyed[block.id if count == 1 else f"{block.id}#{count}"] = block
    return keyed


def _moved(old: Mapping[str, SentBlock], new: Mapping[str, SentBlock]) -> set[str]:
    """Blocks that stand elsewhere among those that kept their role: as few as explain the new order."""
    moved: set[str] = set()
    places = {key: index for index, key in enumerate(new)}
    for role in {block.role for block in old.values()}:
        keys = [key for key, block in old.items() if block.role == role and key in new and new[key].role == role]
        kept = {keys[index] for index in in_order([places[key] for key in keys])}
        moved |= {key for key in keys if key not in kept}
    return moved


def _merged_order(old: Mapping[str, SentBlock], new: Mapping[str, SentBlock], moved: set[str]) -> Iterator[str]:
    """The keys of `new`, each one that is gone behind what it stood behind and is still in its place."""
    gone: dict[str | None, list[str]] = {}
    anchor: str | None = None
    role = ""
    for key, block in old.items():
        if block.role != role:
            role, anchor = block.role, _before_first(block.role, new)
        if key not in new:
            gone.setdefault(anchor, []).append(key)
        elif key not in moved and new[key].role == role:
            anchor = key
    yield from gone.get(None, ())
    for key in new:
        yield key
        yield from gone.get(key, ())


def _before_first(role: str, new: Mapping[str, SentBlock]) -> str | None:
    """What the first block of a role stands behind: the last one of the role before, if there is one."""
    last: str | None = None
    for key, block in new.items():
        if block.role == role:
            return last
        last = key
    return last if role != "system" else None


def _change(key: str, before: SentBlock | None, after: SentBlock | None, moved: bool) -> BlockChange:
    gained = (after.tokens if after is not None else 0) - (before.tokens if before is not None else 0)
    lines: tuple[Line, ...] = ()
    replaced = 0
    if before is None or after is None or before.content != after.content:
        lines = compare_lines(before.content if before is not None else "", after.content if after is not None else "")
    if lines and before is not None and after is not None:
        # Estimates of parts don't add up to one of the whole: the greater of the two follows from the other.
        replaced = min(estimate_tokens("\n".join(_differing(lines, sign))) for sign in "+-")
    return BlockChange(key, before, after, moved, lines, replaced + max(0, gained), replaced + max(0, -gained))


def _differing(lines: Sequence[Line], sign: str) -> Iterator[str]:
    return (line.differing for line in lines if line.sign == sign)


def in_sight(lines: Sequence[Line], around: int = CONTEXT_LINES) -> Iterator[tuple[bool, int, int]]:
    """The lines in stretches (shown, start, end): changed ones with `around` lines about them, and what lies between.

    A stretch to be left out has at least two lines: leaving out one would save nothing.
    """
    near: list[bool] = [False] * len(lines)
    for index, line in enumerate(lines):
        if line.sign != " ":
            start = max(0, index - around)
            near[start : index + around + 1] = [True] * (min(len(lines), index + around + 1) - start)
    at = 0
    while at < len(lines):
        end = at
        while end < len(lines) and near[end] == near[at]:
            end += 1
        yield near[at] or end - at < 2, at, end
        at = end


def _described(change: BlockChange) -> Iterator[str]:
    before, after = change.before, change.after
    notes = [f"+{change.added} -{change.removed}"] if change.lines else []
    if before is not None and after is not None:
        notes += [f"{before.tokens} to {after.tokens} tokens"] if before.tokens != after.tokens else []
        notes += ["moved"] if change.moved else []
        notes += [f"{before.role} to {after.role}"] if change.role_changed else []
        notes += [f"was {before.name}"] if change.renamed else []
    block = change.block
    name = block.name if block.name == block.id else f"{block.name} ({block.id})"
    yield f"{change.sign} [{block.role}] {name}: {', '.join(notes)}"
    for shown, start, end in in_sight(change.lines):
        if shown:
            yield from (f"    {line.sign} {line.text}" for line in change.lines[start:end])
        else:
            yield f"    … {end - start} lines"
