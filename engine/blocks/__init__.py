"""Blocks: the pieces of a prompt, the config that changes them, and how they compile. Pure, no story, no I/O."""

from typing import TYPE_CHECKING

from engine.lazy import names_of

if TYPE_CHECKING:
    from engine.blocks.apply import ScriptResult, apply_config
    from engine.blocks.block import (
        ContextBlock,
        Role,
        find_block,
        insert_block_after,
        insert_block_before,
        remove_block,
        reorder_block,
        replace_block_content,
    )
    from engine.blocks.compile import Message, Span, compile_blocks
    from engine.blocks.config import BlockConfig, BlockOverride, CustomBlock
    from engine.blocks.rewrite import rewrite_messages
    from engine.blocks.rows import BlockSlot, Row, arrange
    from engine.blocks.tags import expand_tags

__all__ = [
    "BlockConfig",
    "BlockOverride",
    "BlockSlot",
    "ContextBlock",
    "CustomBlock",
    "Message",
    "Role",
    "Row",
    "ScriptResult",
    "Span",
    "apply_config",
    "arrange",
    "compile_blocks",
    "expand_tags",
    "find_block",
    "insert_block_after",
    "insert_block_before",
    "remove_block",
    "reorder_block",
    "replace_block_content",
    "rewrite_messages",
]


__getattr__ = names_of(
    __name__,
    {
        "apply": ("ScriptResult", "apply_config"),
        "rows": ("BlockSlot", "Row", "arrange"),
        "block": (
            "ContextBlock",
            "Role",
            "find_block",
            "insert_block_after",
            "insert_block_before",
            "remove_block",
            "reorder_block",
            "replace_block_content",
        ),
        "compile": ("Message", "Span", "compile_blocks"),
        "config": ("BlockConfig", "BlockOverride", "CustomBlock"),
        "rewrite": ("rewrite_messages",),
        "tags": ("expand_tags",),
    },
)
