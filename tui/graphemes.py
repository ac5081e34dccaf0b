"""Where one user-perceived character ends and the next begins.

A cursor never stands inside of one, and backspace takes a whole one away: an accented letter in two code points, a
flag, a family emoji, a Hangul syllable in letters (Unicode Standard Annex 29, without the rules that need tables Python
lacks). What a joiner joins is one, as it is for Rich, which measures what is drawn.
"""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_JOINERS = "\u200c\u200d"
_PLAIN = "\u0300"
"""The first character that can belong to the one before it."""


def joins(text: str, index: int) -> bool:
    """Whether `text[index]` belongs to the same user-perceived character as what stands before it."""
    if not 0 < index < len(text):
        return False
    before, char = text[index - 1], text[index]
    if before == _JOINER:
        return char not in "\r\n\t"
    if char < _PLAIN:
        return before == "\r" and char == "\n"
    if _extends(char):
        return before not in "\r\n\t"
    if _is_flag_half(char):
        halves = 0
        while halves < index and _is_flag_half(text[index - 1 - halves]):
            halves += 1
        return halves % 2 == 1
    return _joins_hangul(before, char)


def next_boundary(text: str, index: int) -> int:
    """The end of the character that begins at `index`, or the end of the text."""
    index += 1
    while joins(text, index):
        index += 1
    return min(index, len(text))


def previous_boundary(text: str, index: int) -> int:
    """The start of the character that ends at `index`, or 0."""
    index -= 1
    while joins(text, index):
        index -= 1
    return max(index, 0)


def boundary(text: str, index: int) -> int:
    """`index`, or the end of the character it is inside of."""
    while joins(text, index):
        index += 1
    return index


def start_of_deletion(text: str, index: int) -> int:
    """From where backspace at `index` deletes: a character, but a joiner that joins nothing by itself."""
    if index > 1 and text[index - 1] in _JOINERS:
        return index - 1
    return previous_boundary(text, index)


def _extends(char: str) -> bool:
    code = ord(char)
    return (
        char in _JOINERS
        or 0x1F3FB <= code <= 0x1F3FF  # skin tones
        or 0xE0020 <= code <= 0xE007F  # tags, of which flags of regions are made
        or 0xFF9E <= code <= 0xFF9F  # halfwidth voiced sound marks
        or unicodedata.category(char) in ("Mn", "Me", "Mc")
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _joins_hangul(before: str, char: str) -> bool:
    kind_before, kind = _hangul(before), _hangul(char)
    return (
        (kind_before == "L" and kind in ("L", "V", "LV", "LVT"))
        or (kind_before in ("LV", "V") and kind in ("V", "T"))
        or (kind_before in ("LVT", "T") and kind == "T")
    )


def _hangul(char: str) -> str:
    """The kind of a letter or syllable of Hangul, empty for other characters."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    return ""
