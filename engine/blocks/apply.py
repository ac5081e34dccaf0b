"""A block config applied to default blocks. Pure: scripts were evaluated before and come in as results.

Source: seed, "Application Order"; spec, section 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from engine.blocks.block import CUSTOM, ContextBlock, Number
from engine.blocks.config import BlockConfig, CustomBlock
from engine.provenance import join, sourced
from engine.text import is_blank

ENGINE_MISSING = "engine"
"""The `kind` of a result that is none, because no script engine can be loaded."""

CUT_SHORT = "cut_short"
"""The `kind` of a result that is none, because a preview was stopped before the time a prompt gives was spent."""


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """What evaluating one script block gave.

    `text` is the returned string (None when it was not a string); `error` the message when it failed (None when it
    did not); `line` the 1-based line of the block's own text, where known; `milliseconds` and `console` are for the
    preview; `kind` is the sandbox's word for the outcome (`ok`, `not_string`, `error`, `syntax`, `timeout` …).
    """

    text: str | None = None
    error: str | None = None
    kind: str = "ok"
    line: int | None = None
    milliseconds: float = 0.0
    console: tuple[str, ...] = ()
    described: str = ""
    """For a preview: one line that says why there is no text ("TypeError: … (line 3)"); empty when there is one."""

    @property
    def cut_short(self) -> bool:
        """Whether it says nothing of the block yet: a preview was stopped where a prompt lets the script go on."""
        return self.kind == CUT_SHORT

    def block_content(self, name: str) -> str | None:
        """The content of the block, or None when it is left out of the prompt (spec, section 5, step 1)."""
        if self.error is not None:
            return f'[Script error in "{name}": {self.error}]'
        if self.text is None or is_blank(self.text):
            return None
        return self.text


def is_evaluated(block: CustomBlock, config: BlockConfig) -> bool:
    """Whether the script of this custom block runs: not when it, or its override, is disabled."""
    return block.type == "script" and is_enabled(block, config)


def is_enabled(block: CustomBlock, config: BlockConfig) -> bool:
    """Whether a custom block takes part: an override cannot revive one whose own `enabled` is false."""
    return block.enabled and config.override(block.id).enabled is not False


def apply_config(
    blocks: Iterable[ContextBlock], config: BlockConfig, scripts: Mapping[str, ScriptResult]
) -> list[ContextBlock]:
    """Default blocks with the user's config applied, in the five steps of the seed.

    `scripts` maps the *body* of every evaluated script block to its result; a script without one is left out, as if
    it had returned nothing. The inputs are not changed.
    """
    result = list(blocks)
    for custom in config.customBlocks:
        if not is_enabled(custom, config):
            continue
        content = custom_content(custom, scripts)
        if content is not None:
            result.append(ContextBlock(custom.id, custom.role, content, custom.order, CUSTOM, custom.name))
    result = [override_content(block, config) for block in result]
    ranks = order_ranks(config.blockOrder)
    result = [replace(block, order=effective_order(block.id, block.order, config, ranks)) for block in result]
    return [block for block in result if config.override(block.id).enabled is not False]


def custom_content(custom: CustomBlock, scripts: Mapping[str, ScriptResult]) -> str | None:
    """Text of a custom block before overrides; None when a script gives nothing."""
    if custom.type == "simple":
        return sourced(custom.content, "text", custom.id)
    result = scripts.get(custom.content)
    content = result.block_content(custom.name) if result is not None else None
    return sourced(content, "script", custom.id) if content is not None else None


def override_content(block: ContextBlock, config: BlockConfig) -> ContextBlock:
    """The block with its content override applied; an empty `customContent` changes nothing, in any mode."""
    override = config.override(block.id)
    text = override.customContent
    if not text or not override.contentMode:
        return block
    text = sourced(text, "override", block.id, override.contentMode)
    if override.contentMode == "override":
        return replace(block, content=text)
    if override.contentMode == "prepend":
        return replace(block, content=join("\n", (text, block.content)))
    return replace(block, content=join("\n", (block.content, text)))


def order_ranks(block_order: Sequence[str]) -> dict[str, int]:
    """Id to its index in `blockOrder`; of duplicates the last counts."""
    return {block_id: index for index, block_id in enumerate(block_order)}


def effective_order(block_id: str, default: Number, config: BlockConfig, ranks: Mapping[str, int]) -> Number:
    """The order a block compiles with: its override's, else its rank in `blockOrder`, else its own."""
    override = config.override(block_id).order
    if override is not None:
        return override
    return ranks.get(block_id, default)
