"""What is said of something left over in a config."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.language import t

if TYPE_CHECKING:
    from engine.blocks.leftovers import Leftover


def describe(leftover: Leftover) -> str:
    """What it is, in a few words, for its row."""
    if leftover.kind == "shared":
        return t("rows.shared", number=leftover.count)
    if leftover.kind == "old":
        return t("rows.old", successor=leftover.successor)
    return t(f"rows.{leftover.kind}")


def explain(leftover: Leftover) -> str:
    """What it is and does, in sentences."""
    if leftover.kind == "shared":
        return t("rows.shared-explained", id=leftover.id, number=leftover.count)
    if leftover.kind == "old":
        key = "rows.old-explained" if leftover.renamable else "rows.old-taken-explained"
        return t(key, id=leftover.id, successor=leftover.successor)
    return t(f"rows.{leftover.kind}-explained", id=leftover.id)


def inform(leftover: Leftover) -> str:
    """All there is to know of it: what it is, what is stored for it, and the keys for it."""
    keys = t("rows.keys-shared") if leftover.kind == "shared" else t("rows.keys")
    return "\n\n".join(filter(None, (explain(leftover), settings(leftover), keys, leftover.text)))


def settings(leftover: Leftover) -> str:
    """What is stored for it besides its text."""
    override = leftover.override
    parts = []
    if override is not None:
        parts += [t("rows.stored-off")] if override.enabled is False else []
        parts += [t(f"rows.stored-{override.contentMode}")] if override.contentMode is not None else []
        parts += [t("rows.stored-order", order=override.order)] if override.order is not None else []
    if leftover.ordered:
        parts.append(t("rows.stored-place"))
    return " · ".join(parts)
