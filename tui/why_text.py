"""The reasons of a line or a block, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tui.language import find, of_engine, t

if TYPE_CHECKING:
    from engine.blocks.block import Number
    from engine.why import BlockReasons, Cause, LineReasons


def line_reasons(reasons: LineReasons) -> list[str]:
    """What a line came from, one cause a line, an outer one before those inside it."""
    lines = [cause_text(cause) for cause in reasons.causes]
    if reasons.marker:
        lines.insert(0, t("why.marker"))
    return lines or [t("why.fixed")]


def cause_text(cause: Cause) -> str:
    """One thing a line was made of."""
    if cause.kind == "fragment":
        how = [t(f"why.form-{cause.form}")]
        if (tier := find(f"why.tier-{cause.tier}")) is not None:
            how.append(tier)
        return t("why.fragment", id=cause.name, name=cause.title, type=cause.type, how=", ".join(how))
    kind = f"{cause.kind}-{cause.form}" if cause.form else cause.kind
    return t(f"why.cause-{kind}", name=cause.name)


def block_reasons(reasons: BlockReasons) -> list[str]:
    """Why a block is there or not, where it stands and why, and what the user's text does to it."""
    return [*_presence(reasons), place_reason(reasons), *_text(reasons)]


def _presence(reasons: BlockReasons) -> Iterator[str]:
    row = reasons.row
    if row.custom:
        kind = t(f"why.kind-{row.type}")
    else:
        kind = t("why.kind-builtin") if row.source == "builtin" else t("why.kind-plugin", name=row.source)
    yield t("why.is", kind=kind, role=t(f"why.role-{row.role}"))
    for part in reasons.off_by:
        yield t(f"why.off-{part}")
    if row.state == "absent":
        yield t("why.absent", reason=of_engine(row.note))
    elif row.note:
        yield of_engine(row.note)
    if reasons.condition and row.state != "absent":
        yield t("why.conditional", reason=of_engine(reasons.condition))
    elif not row.custom and row.state == "compiled":
        yield t("why.always")


def place_reason(reasons: BlockReasons) -> str:
    """Where a block stands, and what decides it."""
    place = t("why.place", place=reasons.place, total=reasons.count, role=t(f"why.role-{reasons.row.role}"))
    if reasons.rule == "pinned":
        rule = t("why.place-pinned", place=place, order=_number(reasons.row.order))
        if reasons.ordered:
            rule = f"{rule} {t('why.place-unused')}"
    else:
        rule = t(f"why.place-{reasons.rule}", place=place, order=_number(reasons.own_order))
    if reasons.before is not None and reasons.behind is not None:
        between = t("why.between", before=reasons.before, behind=reasons.behind)
    elif reasons.before is not None:
        between = t("why.last", before=reasons.before)
    elif reasons.behind is not None:
        between = t("why.first", behind=reasons.behind)
    else:
        between = t("why.alone")
    return f"{rule} {between}"


def _text(reasons: BlockReasons) -> Iterator[str]:
    if reasons.text_length:
        yield t(f"why.mode-{reasons.mode or 'none'}", count=reasons.text_length)
    elif reasons.mode is not None:
        yield t("why.mode-empty")


def _number(value: Number) -> Number:
    return int(value) if float(value).is_integer() else value
