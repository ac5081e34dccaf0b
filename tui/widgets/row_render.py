"""How one line of the block list looks: a `Row` and a width in, a `Strip` of exactly that width out.

       ✓ my-style-guide               ◆ sys    96 ▏
     * ✗ summary                  off   usr     –
       · target  only while refining    usr     –
    › !✓ prose-recent            +app  #usr  3.9k ████

From the left: the cursor `›` or the carried block `≡`; `*` for a marked block; a warning `!`; the switch ✓ or ✗, or ·
for a block that is not there now; the name and behind it, over the columns that are empty, a note or else the first
words of the block; `off` and the content mode; ◆ for a script and ◇ for a text of the user's; the role, with `#` for an
order that is pinned to a number; estimated tokens and, as a bar, their size beside the largest block's. Every state has
a sign of its own besides its colour. Signs of a state that needs attention stand left of the name and the words, the
only text from outside, where no disagreement about its width can shift them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.cells import cell_len, split_graphemes
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.language import find, of_engine, t
from tui.leftover_texts import describe
from tui.safe_text import visible
from tui.widgets.cells import fit, short_count

if TYPE_CHECKING:
    from engine.blocks.block import Role
    from engine.blocks.config import BlockType
    from engine.blocks.leftovers import Leftover
    from engine.blocks.rows import Row

MARK_COLUMNS = range(2)
"""The columns of cursor and mark, where a click marks the block."""
SWITCH_COLUMNS = range(2, 5)
"""The columns of warning sign and switch, where a click switches the block on or off."""

_LEAD = 5
_NOTE_MINIMUM = 8
_WORDS_MINIMUM = 24
_WORDS_FROM = 400
"""Characters of a block that are looked at for its first words."""
_NO_STYLE = Style.null()
_UNDERLINE = Style(underline=True)
_FLAG = 5
_KINDS: dict[BlockType | None, str] = {"script": "◆", "simple": "◇"}
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_BAR_WIDTH = 4


@dataclass(frozen=True, slots=True)
class Palette:
    """The styles of the list. `base` and `cursor` are whole; the others are laid over `base`."""

    base: Style
    cursor: Style
    carried: Style
    muted: Style
    enabled: Style
    disabled: Style
    script: Style
    text: Style
    mode: Style
    system: Style
    user: Style
    tokens: Style
    bar: Style
    warning: Style
    note: Style
    section: Style
    marked: Style


class _Put(Protocol):
    def __call__(self, text: str, part: Style, extra: Style = ...) -> None: ...


class _Columns(NamedTuple):
    """Widths of the columns, each with the space before it; 0: left out."""

    lead: int
    name: int
    kind: int = 0
    flags: int = 0
    role: int = 0
    tokens: int = 0
    bar: int = 0
    pad: int = 0


# What a narrower list gives up, in this order, until the name has the room it is given here.
_LAYOUTS = (
    (16, _Columns(0, 0, kind=2, flags=9, role=4, tokens=6, bar=5, pad=1)),
    (12, _Columns(0, 0, kind=2, flags=5, role=4, tokens=6, bar=5, pad=1)),
    (10, _Columns(0, 0, kind=2, flags=5, role=4, tokens=6, pad=1)),
    (8, _Columns(0, 0, kind=2, flags=5, role=2, tokens=6)),
    (8, _Columns(0, 0, kind=2, flags=5, role=2)),
    (7, _Columns(0, 0, kind=2, role=2)),
    (0, _Columns(0, 0)),
)


@lru_cache(maxsize=256)
def _columns(width: int) -> _Columns:
    lead = min(_LEAD, width)
    for minimum, layout in _LAYOUTS:
        name = width - lead - sum(layout)
        if name >= minimum:
            return layout._replace(lead=lead, name=name)
    return _Columns(lead, 0)


def bar(tokens: int, max_tokens: int) -> str:
    """The share of `tokens` in `max_tokens` as a bar of up to four cells, to an eighth of a cell."""
    if tokens <= 0 or max_tokens <= 0:
        return " " * _BAR_WIDTH
    eighths = max(1, min(8 * _BAR_WIDTH, round(8 * _BAR_WIDTH * tokens / max_tokens)))
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(_BAR_WIDTH)


def render_row(
    row: Row,
    width: int,
    *,
    cursor: bool,
    carried: bool,
    max_tokens: int,
    palette: Palette,
    marked: bool = False,
    hits: Collection[int] = (),
) -> Strip:
    """One block as a line of `width` (at least 1) cells.

    `max_tokens` is the largest number of tokens in the list, for the scale of the bars; `hits` are the indices of the
    characters of the visible name that a filter found, which are underlined. A row under the cursor is drawn in the
    cursor's style throughout, so that it is legible whatever colours the theme has.
    """
    columns = _columns(width)
    muted = row.state in ("absent", "disabled")
    ground = palette.base + palette.muted if muted else palette.base
    whole = palette.carried if carried else palette.cursor if cursor else ground if muted else None
    segments: list[Segment] = []

    def put(text: str, part: Style, extra: Style = _NO_STYLE) -> None:
        style = (whole or ground + part) + extra
        if segments and segments[-1].style == style:
            text = segments.pop().text + text
        segments.append(Segment(text, style))

    sign = ("≡" if carried else "›" if cursor else " ") + ("*" if marked else " ")
    put(sign[: columns.lead], palette.marked)
    if columns.lead > 2:
        put("!" if row.warning else " ", palette.warning)
    if columns.lead > 3:
        put(_switch(row), palette.enabled if row.enabled else palette.disabled)
    flags = _flags(row, columns.flags)
    kind = _KINDS.get(row.type, "")
    if columns.lead == _LEAD:
        put(" ", _NO_STYLE)
        _put_name(row, _name_room(row, columns), palette.marked if marked else _NO_STYLE, hits, palette, put)
    if flags:
        put(" " * (columns.flags - cell_len(flags)) + flags, palette.mode)
    if columns.kind and (flags or kind):
        put(f" {kind or ' '}", palette.script if row.type == "script" else palette.text)
    if columns.role:
        letters = role_letters(row.role)[: columns.role - 1]
        put(f"{'#' if row.pinned else ' '}{letters}", palette.system if row.role == "system" else palette.user)
    if columns.tokens:
        put(_tokens(row).rjust(columns.tokens), palette.tokens)
    if columns.bar:
        put(f" {bar(row.tokens or 0, max_tokens)}", palette.bar)
    if columns.pad:
        put(" " * columns.pad, _NO_STYLE)
    return Strip(segments, width)


def render_section(role: Role, tokens: int, width: int, palette: Palette) -> Strip:
    """The line above the blocks of a role: its name and the tokens of all of them, on `width` cells."""
    columns = _columns(width)
    behind = columns.bar + columns.pad
    number = (short_count(tokens) if tokens else "–").rjust(columns.tokens) if columns.tokens else ""
    title = fit(f" {t(f'list.section.{role}')}", width - len(number) - behind)
    return Strip([Segment(f"{title}{number}{' ' * behind}", palette.base + palette.section)], width)


def role_letters(role: str) -> str:
    """How a role is written in a list: three letters, of which the first may do."""
    return find(f"list.role.{role}") or role


def render_title(text: str, width: int, palette: Palette) -> Strip:
    """A line above rows that are of no role, on `width` cells."""
    return Strip([Segment(fit(f" {text}", width), palette.base + palette.section)], width)


def render_leftover(leftover: Leftover, width: int, *, cursor: bool, palette: Palette) -> Strip:
    """Something left over in the config as a line of `width` cells: its id, and what it is."""
    sign = "!" if leftover.kind in ("old", "shared") else " "
    lead = f"{'›' if cursor else ' '} {sign}? "
    segments = [Segment(fit(lead, min(_LEAD, width)), palette.cursor if cursor else palette.base + palette.warning)]
    size = min(cell_len(visible(leftover.id)) + 2, max(0, width - _LEAD))
    for text, cells, part in (
        (leftover.id, size, _NO_STYLE),
        (describe(leftover), max(0, width - _LEAD - size), palette.note),
    ):
        if cells:
            segments.append(Segment(fit(text, cells), palette.cursor if cursor else palette.base + part))
    return Strip(segments, width)


def _switch(row: Row) -> str:
    if not row.enabled:
        return "✗"
    return "·" if row.state == "absent" else "✓"


def _tokens(row: Row) -> str:
    if row.state == "pending":
        return "…"
    return "–" if row.tokens is None else short_count(row.tokens)


def _flags(row: Row, width: int) -> str:
    """`off` and the content mode, as far as `width` has room for them."""
    off = "" if row.enabled else t("list.off")
    mode = t(f"list.mode.{row.mode}") if row.mode is not None else ""
    if not width:
        return ""
    return f"{off} {mode}".strip() if width > _FLAG else off or mode


def _put_name(row: Row, width: int, style: Style, hits: Collection[int], palette: Palette, put: _Put) -> None:
    """On `width` cells the name and, where there is room, why the block needs a look or is not sent, or
    else its first words.
    """
    if not width:
        return
    size = cell_len(visible(row.name))
    room = width - size - 2
    behind = of_engine(row.note) if row.note and room >= _NOTE_MINIMUM else _words(row, room)
    _put_found(fit(row.name, size + 2 if behind else width), style, hits, put)
    if behind:
        put(fit(behind, room), palette.warning if row.warning else palette.note)


def _put_found(text: str, style: Style, hits: Collection[int], put: _Put) -> None:
    """A text with the graphemes underlined that hold one of the characters at `hits`."""
    if not hits:
        put(text, style)
        return
    for start, end, _ in split_graphemes(text)[0]:
        found = any(index in hits for index in range(start, end)) and not text[start:end].isspace()
        put(text[start:end], style, _UNDERLINE if found else _NO_STYLE)


def _name_room(row: Row, columns: _Columns) -> int:
    """The cells there are for the name and what is behind it: also those of columns that are empty."""
    if _flags(row, columns.flags):
        return columns.name
    return columns.name + columns.flags + (0 if row.type in _KINDS else columns.kind)


def words_shown(row: Row, width: int) -> str:
    """The first words of the block that a line of `width` cells shows, cut or not; empty when it shows none."""
    columns = _columns(width)
    return _words(row, _name_room(row, columns) - cell_len(visible(row.name)) - 2)


def _words(row: Row, room: int) -> str:
    if row.note or not row.content or room < _WORDS_MINIMUM:
        return ""
    return " ".join(row.content[:_WORDS_FROM].split())
