"""What the filter of the block list lets through, how well it matches, and where.

A filter is words with spaces between; a row must meet them all. `is:off`, `role:user` and the like ask for a state;
`=` and all that follows it is looked for in the block's text; any other word is looked for in the name, the id and the
note. In the name and the id its characters need only follow each other in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tui.language import of_engine
from tui.safe_text import visible

if TYPE_CHECKING:
    from engine.blocks.rows import Row

_STATES: Final[Mapping[str, Callable[[Row], bool]]] = {
    "is:off": lambda row: not row.enabled,
    "is:custom": lambda row: row.custom,
    "is:script": lambda row: row.type == "script",
    "is:changed": lambda row: row.mode is not None or row.pinned or not row.enabled,
    "is:pinned": lambda row: row.pinned,
    "is:absent": lambda row: row.state == "absent",
    "is:warning": lambda row: row.warning,
    "role:system": lambda row: row.role == "system",
    "role:user": lambda row: row.role == "user",
}
STATE_WORDS: Final = tuple(_STATES)
"""The words that ask for a state of a block."""

_IN_ID, _IN_NOTE = 200, 100


@dataclass(frozen=True, slots=True)
class Match:
    """How well a row meets a filter: `score` is larger where it does better, `hits` are indices in its visible name."""

    score: int = 0
    hits: frozenset[int] = frozenset()


class RowFilter:
    """A filter as it was typed. `ranks` tells whether it looks for a name, so that one row can match best."""

    def __init__(self, text: str) -> None:
        plain, equals, wanted = text.partition("=")
        self._wanted = _fold(wanted.strip()) if equals else ""
        self._states: list[Callable[[Row], bool]] = []
        self._words: list[str] = []
        for word in _fold(plain).split():
            if word in _STATES:
                self._states.append(_STATES[word])
            elif not any(state.startswith(word) for state in STATE_WORDS) or ":" not in word:
                # The beginning of such a word is on its way to become one, and hides nothing meanwhile.
                self._words.append(word)

    def __bool__(self) -> bool:
        return bool(self._states or self._words or self._wanted)

    @property
    def ranks(self) -> bool:
        return bool(self._words)

    def match(self, row: Row, text_of: Callable[[Row], str]) -> Match | None:
        """How a row meets the filter, None when it does not. `text_of` gives the text that is stored of a block."""
        if not all(state(row) for state in self._states):
            return None
        if self._wanted and not any(
            self._wanted in _fold(text) for text in (row.content, row.default, text_of(row)) if text
        ):
            return None
        return self._match_words(row.name, row.id, of_engine(row.note))

    def match_left(self, block_id: str) -> Match | None:
        """As `match`, for the id of something that is left over: that has no state, and its text is not looked at."""
        return None if self._states or self._wanted else self._match_words(block_id, "", "")

    def _match_words(self, name: str, block_id: str, note: str) -> Match | None:
        score, hits = 0, frozenset[int]()
        for word in self._words:
            found = find(word, visible(name))
            if found is None:
                if block_id and find(word, block_id) is not None:
                    found = Match(_IN_ID)
                elif word in _fold(note):
                    found = Match(_IN_NOTE)
                else:
                    return None
            score += found.score
            hits |= found.hits
        return Match(score, hits)


def find(word: str, text: str) -> Match | None:
    """Where a word, in lower case, is in a text: whole if it is there whole, else its characters in order, as close
    together as they are behind their first place. Time grows with the length of the text alone.
    """
    folded = _fold(text)
    at = folded.find(word)
    if at >= 0:
        start = next((i for i in _places(folded, word) if _begins_word(folded, i)), at)
        whole = 100 if len(word) == len(folded) else 0
        return Match(
            1000 + whole + (200 if _begins_word(folded, start) else 0) - min(start, 99),
            frozenset(range(start, start + len(word))),
        )
    end = -1
    for char in word:
        end = folded.find(char, end + 1)
        if end < 0:
            return None
    hits = []
    place = end + 1
    for char in reversed(word):
        place = folded.rfind(char, 0, place)
        hits.append(place)
    begins = sum(_begins_word(folded, hit) for hit in hits)
    return Match(600 + 20 * begins - min(end - place, 300) - min(place, 99), frozenset(hits))


def _places(text: str, word: str) -> list[int]:
    places: list[int] = []
    at = text.find(word)
    while at >= 0 and len(places) < 20:
        places.append(at)
        at = text.find(word, at + 1)
    return places


def _begins_word(text: str, at: int) -> bool:
    return at == 0 or not text[at - 1].isalnum()


def _fold(text: str) -> str:
    """Lower case, with as many characters as there were."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)
