"""Text handed out at a reading pace, for the wires that have all of it from the start."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import AsyncIterator, Iterable

from engine.errors import WrongInput
from engine.text import Phrase

WORDS_PER_SECOND = 12.0

_PIECE = re.compile(r"\s*\S{1,12}|\s+")


def checked_pace(words_per_second: float) -> float:
    """The pace as given; 0 and infinity mean at once. Raises `WrongInput` for one that means nothing."""
    if math.isnan(words_per_second) or words_per_second < 0:
        raise WrongInput(
            Phrase("words per second is {words_per_second}, which is no pace", words_per_second=words_per_second),
            repair="give 0 (at once) or more",
        )
    return words_per_second


def pieces_of(text: str) -> list[str]:
    """`text` cut into pieces of about a word; joined they are the text, character for character."""
    return _PIECE.findall(text)


async def paced(pieces: Iterable[str], words_per_second: float) -> AsyncIterator[str]:
    """`pieces` one by one, each that holds a letter or digit taking a word's time; at 0 or infinity all at once.

    The loop gets its turn before every piece, whatever the pace.
    """
    seconds = 1 / words_per_second if words_per_second else 0.0
    for piece in pieces:
        await asyncio.sleep(seconds if any(map(str.isalnum, piece)) else 0)
        yield piece
