"""A row of the block list in words, for those who hear it: every sign of `row_render` has its word here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.language import of_engine, t
from tui.safe_text import visible

if TYPE_CHECKING:
    from engine.blocks.block import Role
    from engine.blocks.rows import Row


def row_words(row: Row) -> str:
    """`summary, off, user, 40 tokens`: the name, what is unusual about the block, its role and tokens."""
    parts = [visible(row.name)]
    if row.warning:
        parts.append(t("reader.problem", note=visible(of_engine(row.note))))
    if not row.enabled:
        parts.append(t("reader.off"))
    elif row.state == "absent":
        parts.append(t("reader.absent"))
    elif row.state == "pending":
        parts.append(t("reader.pending"))
    elif row.state == "silent":
        parts.append(t("reader.silent"))
    if row.note and not row.warning:
        parts.append(visible(of_engine(row.note)))
    if row.mode is not None:
        parts.append(t(f"reader.mode.{row.mode}"))
    if row.pinned:
        parts.append(t("reader.pinned"))
    if row.custom:
        parts.append(t(f"reader.type.{row.type}"))
    parts.append(t(f"reader.role.{row.role}"))
    if row.tokens is not None:
        parts.append(t("reader.tokens", count=row.tokens))
    return ", ".join(parts)


def section_words(role: Role, tokens: int) -> str:
    """The line above the blocks of a role."""
    return t(f"reader.section.{role}", count=tokens)
