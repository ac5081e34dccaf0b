"""How many tokens a text costs, estimated: no vocabulary, no network, the same figure on every machine.

The text is cut into pieces where a byte-pair tokenizer of the current generation cuts it (a word with the space before
it, up to three digits, a run of punctuation, white space), and each piece is costed by its class:

- Latin words by length, case and how usual their letter pairs and ending are; an English word is mostly one token, a
  Finnish one of the same length two or three;
- Cyrillic, Greek, Hebrew, Arabic and Devanagari words by their letters, words of other alphabets by their length;
- Han characters, kana and Hangul by the character; digits by threes; emoji and symbols by kind.

Measured against the o200k vocabulary on 68 texts written for the purpose (about 40 languages, dialogue, code, markup,
tables, identifiers, emoji): 3 % too low in total, each within 20 %; program sources and manuals are 0 to 10 % too high.
A text of one or two words can be off by a token or two. The margins that must hold are ±15 % in total and ±30 % a text,
on the reference cases (`tests/reference/test_tokens.py`). Other vocabularies differ by more than that in languages
other than English: an estimate is for planning, never for billing.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from functools import lru_cache

from engine.models.letters import ACCENTS, ENDINGS, LETTERS, PAIRS, decode
from engine.text import common_prefix

TOTAL_MARGIN = 0.15
TEXT_MARGIN = 0.30
"""The shares of the exact count by which the estimate of a whole prompt, and of one text, may differ from it."""

# Two caches by content, so that a few long texts can't push out the many short ones, nor many long ones pile up: at
# most 16 million characters in the first; the second holds what a prompt or two consist of. Pieces are the words of all
# texts, so a text seen for the first time costs little more than cutting it.
_SHORT = 2048
_SHORT_TEXTS = 8192
_LONG_TEXTS = 64
_PIECES = 65_536

# A long text that is being typed differs a little from one estimated just before: then only what is around the change
# is cut and costed, up to a place beside it, within reach, where every text is cut.
_EDITED = 16_384
_EDITED_TEXTS = 4
_REACH = 4096


def estimate_tokens(text: str) -> int:
    """The estimated number of tokens of `text`: 0 for the empty text, else at least 1.

    Pure, and cached by content. The estimate of two texts joined is about the sum of theirs.
    """
    return _estimate_short(text) if len(text) <= _SHORT else _estimate_long(text)


@lru_cache(_SHORT_TEXTS)
def _estimate_short(text: str) -> int:
    return max(1, round(_cost(text))) if text else 0


@lru_cache(_LONG_TEXTS)
def _estimate_long(text: str) -> int:
    global _edited
    if len(text) < _EDITED:
        return max(1, round(_cost(text)))
    # Other threads estimate too: what they put in meanwhile may be lost, and is costed again when it is needed.
    known = _edited
    cost = next((cost for before in known if (cost := _cost_of_edited(text, *before)) is not None), None)
    if cost is None:
        cost = _cost(text)
    _edited = ((text, cost), *known[: _EDITED_TEXTS - 1])
    return max(1, round(cost))


_edited: tuple[tuple[str, float], ...] = ()


def _cost(text: str) -> float:
    pieces = Counter(_PIECE.findall(text))
    return sum(_piece_cost(piece) * times for piece, times in pieces.items())


def _cost_of_edited(text: str, before: str, cost: float) -> float | None:
    """The cost of a text made from the one `before`, which costs `cost`; None when too much of it is another."""
    head = common_prefix(text, before)
    rest = min(len(text), len(before)) - head
    if max(len(text), len(before)) - head - rest > _REACH:
        return None
    tail = common_prefix(text[len(text) - rest :][::-1], before[len(before) - rest :][::-1])
    if max(len(text), len(before)) - head - tail > _REACH:
        return None
    start = 0
    if head > _REACH:
        cuts = [found.end() for found in _CUT.finditer(text, head - _REACH, head)]
        if not cuts:
            return None
        start = cuts[-1]
    behind = 0
    if tail > _REACH:
        found = _CUT.search(text, len(text) - tail, len(text) - tail + _REACH)
        if found is None:
            return None
        behind = len(text) - found.end()
    return cost - _cost(before[start : len(before) - behind]) + _cost(text[start : len(text) - behind])


# --- cutting -------------------------------------------------------------------------------------------------------

_LATIN = [chr(code) for block in ((0xC0, 0x300), (0x1E00, 0x1F00)) for code in range(*block)]
_UPPER = "A-Z" + "".join(char for char in _LATIN if char.isupper())
_LOWER = "a-zªº" + "".join(char for char in _LATIN if char.isalpha() and not char.isupper()) + "\u0300-\u036f"
_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u309f\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Other alphabets with their combining marks, which are no letters to `\w`; their punctuation and digits left out.
_OTHER = (
    "\u0370-\u037d\u037f-\u0386\u0388-\u0559\u0560-\u0588\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7-\u05f2"
    "\u0610-\u061a\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u0963\u0971-\u0e3e\u0e40-\u0e4e\u0e5a-\u10ff"
    "\u1200-\u1dff\u1f00-\u1fff\u2c00-\u2dff\ua000-\ua95f\ua980-\uabff\ufb00-\ufdff\ufe20-\ufe2f\ufe70-\ufefc"
    "\U00010000-\U0001cfff\U0001d400-\U0001d7ff\U0001e000-\U0001efff"
)
_LEAD = r"(?:[^\w\r\n]|_)?"
_CONTRACTION = "(?:'(?:[sStTmMdD]|[rR][eE]|[vV][eE]|[lL]{2}))?"

# Every run is bounded: costs add up, so cutting a long one changes little and keeps cached pieces short.
_PIECE = re.compile(
    "|".join(
        (
            rf"{_LEAD}[{_UPPER}]{{0,32}}[{_LOWER}]{{1,48}}{_CONTRACTION}",
            rf"{_LEAD}[{_UPPER}]{{1,32}}{_CONTRACTION}",
            rf"[{_HAN}]{{1,16}}",
            rf"[{_KANA}]{{1,16}}",
            rf" ?[{_HANGUL}]{{1,16}}",
            rf" ?[{_OTHER}]{{1,32}}",
            r"\d{1,3}|[^\W_]",
            r" ?(?:[^\w\s]|_){1,32}[\r\n/]{0,8}",
            r"\s{0,32}[\r\n]{1,32}",
            r"\s{1,64}(?!\S)",
            r"\s",
        )
    )
)

# Where any text is cut, whatever else is in it: each half is cut as it is in the whole. The characters on both sides
# are matched, for they have to be the same in two texts that are compared. Before a slash, or beside more white space,
# a line break is no such place: they can be cut as one piece.
_CUT = re.compile(rf"[A-Za-z](?= )|[^\s/]\n(?=[^\s/])|[。，；：？！](?=[{_HAN}])")


# --- costing -------------------------------------------------------------------------------------------------------


@lru_cache(_PIECES)
def _piece_cost(piece: str) -> float:
    # In binary fractions, whose sums are exact: the same in whatever order they are added up.
    return round(_raw_cost(piece) * 65_536) / 65_536


def _raw_cost(piece: str) -> float:
    char = piece[0] if len(piece) == 1 or piece[0].isalnum() else piece[1]
    if char.isspace():
        return 1.0 if piece.isspace() else _punctuation_cost(piece)
    if char < "\u0370" or "\u1e00" <= char < "\u1f00":
        if char.isalpha() or "\u0300" <= char < "\u0370":
            return _latin_cost(piece)
    elif char.isalpha() or (char < "\u1f00" and unicodedata.category(char)[0] == "M"):
        return _word_cost(piece)
    if char.isalnum():
        return 1.0 if piece.isascii() else float(len(piece))
    return _punctuation_cost(piece)


_LENGTH = (0.0, -1.42, -0.88, -0.51, -0.21, 0.21, 0.52, 0.84, 1.15, 1.44, 1.76, 2.04, 2.38, 2.72, 3.01)
_PER_LETTER_MORE = 0.39
_TITLE = 0.33
_CAPITALS = -0.14
_PER_CAPITAL = 0.16
_NO_SPACE = 0.39  # most words are in a vocabulary with the space before them only
_JOINED = {
    "_": 0.21, ".": 0.26, "(": 0.49, "-": 0.63, "/": 0.74, "\\": 0.75, "…": 0.77, ",": 0.9, "=": 0.97,
    '"': 1.0, "'": 1.0,
}  # fmt: skip
_APART = 0.25  # besides the cost of the mark before the word
_RARE_ACCENT = 0.8
_PHONETIC = 1.2
_CONTRACTED = 0.4

_PAIR = {
    first + second: decode(row[column])
    for first, row in PAIRS.items()
    for column, second in enumerate("abcdefghijklmnopqrstuvwxyz*$")
}
_ACCENT = {char: rate for rate, chars in ACCENTS.items() for char in chars}
_ENDING = {ending: rate for rate, endings in ENDINGS.items() for ending in endings.split()}


def _latin_cost(piece: str) -> float:
    lead = ""
    if not (piece[0].isalpha() or "\u0300" <= piece[0] <= "\u036f"):
        lead, piece = piece[0], piece[1:]
    word, _, contraction = piece.partition("'")
    length = len(word)
    lower = word.lower()
    cost = _LENGTH[length] if length < len(_LENGTH) else _LENGTH[-1] + _PER_LETTER_MORE * (length - len(_LENGTH) + 1)
    if not lead:
        cost += _NO_SPACE
    elif lead != " ":
        cost += _JOINED[lead] if lead in _JOINED else _APART + _punctuation_cost(lead)
    if length > 1 and word.isupper():
        cost += _CAPITALS + _PER_CAPITAL * length
    elif word[0] != lower[0] and lead == " ":
        cost += _TITLE
    if not lower.isascii():
        cost += sum(map(_accent_cost, lower))
        lower = "".join(map(_base_letter, lower))
    pair = _PAIR
    before = "^"
    for char in lower:
        cost += pair[before + char]
        before = char
    cost += pair[before + "$"]
    if length > 4:
        cost += _ENDING.get(lower[-3:], 0.0)
    return 1.0 + max(0.0, cost) + (_CONTRACTED if contraction else 0.0)


def _accent_cost(char: str) -> float:
    if char < "\x80":
        return 0.0
    return _PHONETIC if "\u0250" <= char < "\u0300" else _ACCENT.get(char, _RARE_ACCENT)


def _base_letter(char: str) -> str:
    base = unicodedata.normalize("NFD", char)[0]
    return base if "a" <= base <= "z" else "*"


_LETTER = {chr(first + place): decode(char) for first, row in LETTERS.items() for place, char in enumerate(row)}
# Where a script begins: what a word of it costs before its first letter, what each letter adds that has no rate of its
# own, and what a capital adds.
_SCRIPTS = (
    (0x0370, -0.77, 0.9, 0.71),  # Greek
    (0x0400, -0.6, 0.66, 0.7),  # Cyrillic
    (0x0530, -0.2, 0.19, 0.3),  # Armenian
    (0x0590, -0.93, 0.65, 0.0),  # Hebrew
    (0x0600, -0.82, 0.4, 0.0),  # Arabic
    (0x0700, -0.5, 1.9, 0.0),  # Syriac, Thaana, N'Ko
    (0x0900, -1.71, 0.85, 0.0),  # Devanagari
    (0x0980, -0.86, 0.36, 0.0),  # Bengali
    (0x0A00, -1.0, 0.68, 0.0),  # Gurmukhi
    (0x0A80, -0.84, 0.37, 0.0),  # Gujarati
    (0x0B00, -0.5, 1.2, 0.0),  # Oriya
    (0x0B80, -0.66, 0.33, 0.0),  # Tamil
    (0x0C00, -0.83, 0.49, 0.0),  # Telugu
    (0x0C80, -0.8, 0.4, 0.0),  # Kannada
    (0x0D00, -0.3, 0.3, 0.0),  # Malayalam
    (0x0D80, -0.7, 0.58, 0.0),  # Sinhala
    (0x0E00, -0.9, 0.42, 0.0),  # Thai
    (0x0E80, -0.3, 1.85, 0.0),  # Lao
    (0x0F00, 0.2, 1.47, 0.0),  # Tibetan
    (0x1000, -0.3, 0.5, 0.0),  # Burmese
    (0x10A0, -0.4, 0.26, 0.0),  # Georgian
    (0x1100, -0.87, 0.71, 0.0),  # Hangul letters
    (0x1200, -0.5, 2.0, 0.0),  # Ethiopic
    (0x13A0, -0.9, 3.0, 0.0),  # Cherokee, Canadian syllabics, Ogham, runes
    (0x1780, -0.6, 0.61, 0.0),  # Khmer
    (0x1800, -0.8, 3.0, 0.0),  # Mongolian and the small scripts after it
    (0x1F00, 0.0, 1.9, 0.3),  # Greek with breathings
    (0x2C00, -0.9, 3.0, 0.0),
    (0x2E80, -1.0, 0.87, 0.0),  # Han
    (0x3041, -0.8, 0.79, 0.0),  # kana
    (0x3130, -0.87, 0.71, 0.0),  # Hangul letters
    (0x31F0, -0.8, 2.0, 0.0),
    (0x3400, -1.0, 2.7, 0.0),  # rare Han
    (0x4E00, -1.0, 0.87, 0.0),  # Han
    (0xA000, -1.0, 3.0, 0.0),
    (0xAC00, -0.87, 0.71, 0.0),  # Hangul
    (0xD800, -1.0, 2.5, 0.0),
    (0xFB00, -1.0, 1.9, 0.0),  # presentation forms
    (0xFF66, -1.0, 1.4, 0.0),  # half-width kana
    (0x10000, -1.0, 3.5, 0.0),
)
_SCRIPT_STARTS = [script[0] for script in _SCRIPTS]


def _word_cost(piece: str) -> float:
    word = piece.lstrip(" ")
    lower = word.lower()
    _, cost, _, capital = _script(word[0])
    if word[0] != lower[0]:
        cost += capital
    return 1.0 + max(0.0, cost + sum(map(_letter_rate, lower)))


@lru_cache(_PIECES)
def _letter_rate(letter: str) -> float:
    rate = _LETTER.get(letter)
    return rate if rate is not None else _script(letter)[2]


def _script(letter: str) -> tuple[int, float, float, float]:
    return _SCRIPTS[max(0, bisect_right(_SCRIPT_STARTS, ord(letter)) - 1)]


# Symbols that are one token by themselves; every other one takes two or three.
_WHOLE = frozenset(
    "¡¢£¤¥¦§¨©«¬®¯°±´¶·¸»¿×÷˚˜˝΄՛՝՞։־׳״،؛؟٪٫٬۔۽۾।॥॰་၊။၍၏។៖‐‑–—―‘’‚“”„‟†‡•․…‰′″‹›※‼₪€₹℃№™←↑→↓⇒∀∆−∙√∞∨≈≤≥≫"
    "─━│┃├┣═║╗╝▀▄█▋░▒▓■□▪▫▬▲△▶▷►▼▽◆◇○◎●★☆☎☴☺♀♂♡♥♦♪♫✅✓✔✨❤➡⭐⭕、。〈〉《》「」『』【】〒〔〕〖〜"
    "！％＆（）＊＋，－．／：；＜＝＞？＠［＼］＾＿｀｜～｡｣､･￣￥🏻🏼👇👉👌👍👏💕🔥😀😁😂😉😊😍😘😭🙂🙏🤣"
)
_RUN_SHARE = 0.1  # of a symbol that repeats the one before it, after the first two of a run
_MIXED_SHARE = 0.45  # of a symbol that differs from the one before it, after the first two


def _punctuation_cost(piece: str) -> float:
    run = piece.strip()
    cost = 0.0
    whole = 0
    share = 0.0
    before = ""
    for char in run:
        if char < "\x80" or char in _WHOLE:
            whole += 1
            if whole > 2:
                share += _RUN_SHARE if char == before else _MIXED_SHARE
            elif whole == 2 and char >= "\x80" and char != before:
                share += 0.5
            before = char
        elif "\u200b" <= char <= "\u200f" or "\ufe00" <= char <= "\ufe0f":  # joiners, variation selectors
            cost += 0.8
        elif char < "\U0001fa00":
            cost += 2.1
        else:
            cost += 3.0
    if whole:
        cost += 1.0 + share
    return max(1.0, cost)
