"""Why a prompt says what it says: what a line of it was made of, and why a block stands where it stands.

The prompt is made once more with its texts traced (see `engine.provenance`), when somebody asks. Hooks do not run
again: what they changed is told as theirs, and nothing is said of how they made it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from engine.agents.sections import librarian_fragments
from engine.blocks.apply import ScriptResult, apply_config, order_ranks
from engine.blocks.block import BUILTIN, CUSTOM, Number
from engine.blocks.compile import Message, Span, compile_blocks
from engine.blocks.config import BlockConfig, ContentMode
from engine.blocks.edits import custom_at
from engine.blocks.rows import Row
from engine.blocks.tags import TAG
from engine.context.build import effective_summary
from engine.prompt import Base, Prompt
from engine.provenance import Origin, origins_of, tracing
from engine.story import Fragment

OrderRule = Literal["pinned", "list", "own"]
"""What gives a block its order: its override, its place in `blockOrder`, its own."""
Tier = Literal["tag", "pinned", "recent", "catalog", "prose", "tagged", ""]


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing a line was made of.

    `kind` is fragment, tag, override, text, script, instruction, story, input or plugin; `name` its id, key or owner;
    `form` how it was used. For a fragment `title` and `type` are its own, and `tier` is why it is there: `tag` where a
    tag put it in, else why the story's state has it.
    """

    kind: str
    name: str
    form: str = ""
    title: str = ""
    type: str = ""
    tier: Tier = ""


@dataclass(frozen=True, slots=True)
class LineReasons:
    """What a line came from, an outer cause before those inside it. `marker`: it is the line that names its block.

    `key` is the block's, as in the list; None for what belongs to no block.
    """

    key: str | None
    marker: bool
    causes: tuple[Cause, ...]


@dataclass(frozen=True, slots=True)
class BlockReasons:
    """Why a block of the list is as it is.

    `condition` says when a default block is left out, empty for one that is always there. `off_by` names what
    switched it off: its own `enabled`, its override. `place` counts, from 1, inside its role, as the list and moves do,
    among the `count` blocks there; `ordered` tells that `blockOrder` names it, and `own_order` is the order it was made
    with. `before` and `behind` are its neighbours in the compiled message.
    """

    row: Row
    condition: str
    off_by: tuple[Literal["own", "override"], ...]
    mode: ContentMode | None
    text_length: int
    rule: OrderRule
    place: int
    count: int
    ordered: bool
    own_order: Number
    before: str | None
    behind: str | None


class Explanation:
    """The origins of one prompt. Made once, it answers at once; thread-safe."""

    def __init__(self, base: Base, config: BlockConfig, scripts: Mapping[str, ScriptResult], prompt: Prompt) -> None:
        self._base = base
        self._places = _places(prompt.messages)
        self._origins: dict[str, tuple[Origin, ...]] = {}
        contents = {place.key: place.content for place in self._places}
        for place in _places(traced(base, config, scripts)):
            # What a hook rewrote is not what was traced.
            if contents.get(place.key) == place.content:
                self._origins[place.key] = place.origins()

    def at(self, message: int, start: int, end: int) -> LineReasons:
        """Why the characters `start` to `end` of a message (from 0) are there; they should lie in one block."""
        here = [place for place in self._places if place.message == message and place.span.start <= start]
        if not here:
            return LineReasons(None, False, ())
        place = here[-1]
        source = place.span.block.source
        foreign = () if source in (BUILTIN, CUSTOM) else (Cause("plugin", source),)
        at = place.span.content_start
        if end <= at and start < at:
            return LineReasons(place.key, True, foreign)
        return LineReasons(place.key, False, self._causes(place.key, max(0, start - at), end - at) or foreign)

    def _causes(self, key: str, start: int, end: int) -> tuple[Cause, ...]:
        origins = self._origins.get(key, ())
        found = (origin for origin in origins if origin.start < max(end, start + 1) and origin.end > start)
        tags = [origin for origin in origins if origin.kind == "tag"]
        return tuple(dict.fromkeys(self._cause(origin, tags) for origin in found))

    def _cause(self, origin: Origin, tags: Sequence[Origin]) -> Cause:
        if origin.kind == "fragment":
            fragment = self._base.snapshot.get(origin.name)
            if fragment is not None:
                by_tag = any(_puts_in(tag, origin) for tag in tags)
                tier: Tier = "tag" if by_tag else fragment_tier(self._base, origin.name)
                return Cause("fragment", origin.name, origin.form, fragment.name, fragment.type, tier)
        if origin.kind == "instruction" and origin.name in self._base.given.instruction.texts:
            return Cause("instruction", origin.name, "model")
        return Cause(origin.kind, origin.name, origin.form)


def _puts_in(tag: Origin, fragment: Origin) -> bool:
    """Whether a fragment is what a tag stands for, not one in the text of that."""
    inside = tag.start <= fragment.start and fragment.end <= tag.end
    return inside and (match := TAG.fullmatch(tag.name)) is not None and match[1] == fragment.name


def traced(base: Base, config: BlockConfig, scripts: Mapping[str, ScriptResult]) -> tuple[Message, ...]:
    """The messages as `assemble` makes them, without hooks, their contents with origins; to the character the same."""
    with tracing():
        given = base.given
        options = base.agent.context(given.snapshot, given.sources)
        summary = effective_summary(given.snapshot, options)
        if summary == given.state.story.summary:
            story = replace(given.state.story, summary=summary)
            given = replace(given, state=replace(given.state, story=story))
        blocks = apply_config(base.agent.build(given), config, scripts)
        return compile_blocks(blocks, base.expand)


def fragment_tier(base: Base, fragment_id: str) -> Tier:
    """Why the state of a prompt holds a fragment; empty when it is there for another reason."""
    state = base.state
    pinned, recent = state.sticky_custom_fragments, state.recent_custom_fragments
    catalogs = state.custom_fragment_catalogs
    tiers: dict[Tier, tuple[Sequence[Fragment], ...]] = {
        "pinned": (
            state.sticky_guidelines,
            state.sticky_knowledge,
            state.sticky_characters,
            *(group.fragments for group in pinned),
        ),
        "recent": (state.recent_knowledge, state.recent_characters, *(group.fragments for group in recent)),
        "prose": (state.prose_fragments,),
        "catalog": (
            state.guideline_catalog,
            state.knowledge_catalog,
            state.character_catalog,
            *(group.fragments for group in catalogs),
        ),
        "tagged": (librarian_fragments(base.snapshot),),
    }
    for tier, kinds in tiers.items():
        if any(fragment.id == fragment_id for fragments in kinds for fragment in fragments):
            return tier
    return ""


def block_reasons(base: Base, config: BlockConfig, rows: Sequence[Row], row: Row) -> BlockReasons:
    """Why a row of the list is as it is; `rows` are all of them."""
    override = config.override(row.id)
    custom = custom_at(config, row.key) if row.custom else None
    off: list[Literal["own", "override"]] = []
    if custom is not None and not custom.enabled:
        off.append("own")
    if override.enabled is False:
        off.append("override")
    slots = (*base.slots, *base.other_mode)
    slot = next((slot for slot in slots if slot.id == row.id), None)
    built = next((block for block in base.blocks if block.id == row.id), None)
    own = custom or built or slot
    ordered = row.id in order_ranks(config.blockOrder)
    rule: OrderRule = "pinned" if override.order is not None else "list" if ordered else "own"
    inside = [other for other in rows if other.role == row.role]
    sent = [other for other in inside if other.state == "compiled" or other.key == row.key]
    at = sent.index(row) if row in sent else 0
    return BlockReasons(
        row,
        slot.reason if slot is not None and row.source == BUILTIN else "",
        tuple(off),
        override.contentMode,
        len(override.customContent or ""),
        rule,
        next((number for number, other in enumerate(inside, 1) if other.key == row.key), 0),
        len(inside),
        ordered,
        own.order if own is not None else row.order,
        sent[at - 1].name if at else None,
        sent[at + 1].name if at + 1 < len(sent) else None,
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """A block of the prompt: its key in the list, the number and the text of its message, its span there."""

    key: str
    message: int
    text: str
    span: Span

    @property
    def content(self) -> str:
        return self.text[self.span.content_start : self.span.content_end]

    def origins(self) -> tuple[Origin, ...]:
        """The origins of its content, counted from the content's start."""
        start, end = self.span.content_start, self.span.content_end
        return tuple(
            origin._replace(start=origin.start - start, end=origin.end - start)
            for origin in origins_of(self.text)
            if start <= origin.start and origin.end <= end
        )


def _places(messages: Sequence[Message]) -> tuple[_Place, ...]:
    counts: dict[str, int] = {}
    found: list[_Place] = []
    for number, message in enumerate(messages):
        for span in message.spans:
            count = counts[span.block.id] = counts.get(span.block.id, 0) + 1
            key = span.block.id if count == 1 else f"{span.block.id}#{count}"
            found.append(_Place(key, number, message.content, span))
    return tuple(found)
