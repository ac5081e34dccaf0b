"""The rehearsal wire: always there, no model, no network; it imitates the story's own prose.

A Markov chain over the words of the prose (over the characters, where Chinese or Japanese prevails), seeded with the
prompt: the same prompt gives the same passage on every machine, and an edited prompt another. It shows what a
generation looks and feels like, and says on its label that it is none.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from engine.models.tokens import estimate_tokens
from engine.models.wire.base import ChatMessage, Request, Start, Stop, StopReason, Text, Usage
from engine.models.wire.pacing import WORDS_PER_SECOND, checked_pace, paced

if TYPE_CHECKING:
    from engine.models.wire.events import Event

NAME = "rehearsal"
LABEL = "rehearsal (not a model)"
MIN_WORDS = 120
MAX_WORDS = 220

# Enough to sound like the story; the chain of a whole long novel would take seconds to build.
_SOURCE_CHARACTERS = 200_000
_SOURCE_WORDS = 80  # below this many the chain could only recite

# What is imitated where there is no prose yet: it is about just that.
_EMPTY_STAGE = """
Nothing has been written here yet. The stage is bare, the lamps are lit, and somebody walks through the part with an
empty hand where the book will be. Lines are spoken only to hear how long they take. A chair stands for the harbour, and
a second chair stands for the ship.

"Is this the play?" asks the boy by the door.

"This is the rehearsal," says the woman with the lamp. "The play comes later, when somebody has written it."

So they walk the length of the stage again, and they count the steps, and they mark the places with chalk. The words are
borrowed. The order is made by chance. When a page is ready, it will be read from here, in this light, at this pace, and
the chairs will go back to being chairs.

"Then who is speaking now?"

"Nobody," she says. "Only the room." And she turns the lamp a little, to see how the light will fall when the first line
is real. The boy sits down on the harbour. Outside, the street goes on with its own business, and the chalk marks wait
on the boards for the people who will stand on them.
"""


class RehearsalWire:
    """Passages made of `prose` (the story's, oldest first), at a pace of `words_per_second` (0: at once).

    A passage has 120 to 220 words and ends with a sentence, sooner at `max_output_tokens` (by estimate) or at a stop
    sequence. `default_tokens` is the maximum where the request names none.
    """

    name = NAME
    label = LABEL

    def __init__(
        self,
        prose: Sequence[str],
        *,
        words_per_second: float = WORDS_PER_SECOND,
        default_tokens: int | None = None,
    ) -> None:
        self._prose = tuple(prose)
        self._pace = checked_pace(words_per_second)
        self._default_tokens = default_tokens

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """The passage for `request` as events; its temperature and model are of no consequence."""
        yield Start(NAME)
        # In a thread, so that building the chain delays nothing else on the loop.
        passage = await asyncio.to_thread(compose, self._prose, prompt_key(request.messages))
        limit = request.max_output_tokens if request.max_output_tokens is not None else self._default_tokens
        pieces, reason = _cut(passage, limit, request.stop)
        async for piece in paced(pieces, self._pace):
            yield Text(piece)
        yield Usage(
            input_tokens=sum(estimate_tokens(message.content) for message in request.messages),
            output_tokens=estimate_tokens("".join(pieces)),
        )
        yield Stop(reason)


def prompt_key(messages: Iterable[ChatMessage]) -> int:
    """The seed a prompt stands for: equal for equal roles and contents, on every machine."""
    digest = hashlib.blake2b(digest_size=16)
    for message in messages:
        for part in (message.role, message.content):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest(), "big")


def compose(prose: Sequence[str], key: int, *, min_words: int = MIN_WORDS, max_words: int = MAX_WORDS) -> list[str]:
    """A passage in the manner of `prose`, in pieces that joined are the passage; pure, and never empty.

    It has between `min_words` and `max_words` words and then runs on to the end of its sentence (half as many words
    again at most). Too little prose is filled up with a text of our own.
    """
    # Only `random()` gives the same numbers in every version of Python.
    chance = random.Random(key).random
    source = _Source(prose)
    wanted = min_words + int(chance() * (max_words - min_words + 1))
    return [piece.translate(source.quotes) for piece in _walk(source, wanted, chance)]


def _cut(pieces: Sequence[str], limit: int | None, stops: Iterable[str]) -> tuple[list[str], StopReason]:
    """The pieces up to a stop sequence or `limit` tokens, whichever comes first, and why they end there."""
    kept = list(pieces)
    reason: StopReason = "end_turn"
    text = "".join(kept)
    ends = [found for stop in stops if stop and (found := text.find(stop)) >= 0]
    if ends:
        kept, reason = _first_characters(kept, min(ends)), "stop_sequence"
    if limit is not None and estimate_tokens("".join(kept)) > limit:
        reason = "max_tokens"
        low, high = 0, len(kept)
        while high - low > 1:
            middle = (low + high) // 2
            if estimate_tokens("".join(kept[:middle])) > limit:
                high = middle
            else:
                low = middle
        kept = kept[:low]
    return kept, reason


def _first_characters(pieces: Iterable[str], count: int) -> list[str]:
    kept = []
    for piece in pieces:
        if count <= 0:
            break
        kept.append(piece[:count])
        count -= len(piece)
    return kept


# --- the chain -----------------------------------------------------------------------------------------------------

_BREAK = "\n\n"
_MARKS = r"!-#%&(-,./:-@\[-\]^`{-~¡§«»¿‒-―“-‟…‹›、-〃〈-】！-／：-＠；？。।॥،؛؟۔"
_CJK = "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SPACE = r"[^\S\n]"
_TOKEN = re.compile(rf"\s*\n\s*|{_SPACE}?(?:[^\s{_MARKS}]+|\.{{2,}}|[{_MARKS}])|{_SPACE}")
_CJK_TOKEN = re.compile(rf"\s*\n\s*|{_SPACE}?(?:[{_CJK}]|[^\s{_MARKS}{_CJK}]+|—+|…+|[{_MARKS}])|{_SPACE}")
_CJK_CHARACTER = re.compile(f"[{_CJK}]")

_SENTENCE_ENDS = frozenset((".", "!", "?", "…", "...", "……", "。", "！", "？", "।", "॥", "؟", "۔"))
_DOUBLE_QUOTES = '"“”„‟'
_CLOSING = {"“": "”", "«": "»", "「": "」", "『": "』", "(": ")", "（": "）"}
_CLOSERS = frozenset(_CLOSING.values())
_PARAGRAPH_WORDS = 110
_LOOSE = 0.2  # how often an only continuation is passed over, so that the chain doesn't just recite


class _Source:
    """Prose as tokens, each with the space before it, and what follows each one and each two of them.

    Double quotes are read by turns, as “ and ”, so that opening and closing ones are told apart however the story
    writes them; `quotes` (for `str.translate`) turns them back. `full_stop` ends a sentence that found no end.
    """

    def __init__(self, prose: Sequence[str]) -> None:
        texts = _latest(prose)
        joined = "\n".join(texts)
        cjk = 2 * len(_CJK_CHARACTER.findall(joined)) > len("".join(joined.split()))
        self.full_stop = "。" if cjk else "."
        self.quotes = _quotes(joined)
        paragraphs = [tokens for text in texts for tokens in _paragraphs(text, _CJK_TOKEN if cjk else _TOKEN)]
        if sum(_is_word(token) for tokens in paragraphs for token in tokens) < _SOURCE_WORDS:
            for paragraph in _EMPTY_STAGE.strip().split("\n\n"):
                paragraphs += _paragraphs(paragraph.replace("\n", " "), _TOKEN)
        self.after_one: dict[str, list[str]] = {}
        self.after_two: dict[tuple[str, str], list[str]] = {}
        for tokens in paragraphs:
            run = [_BREAK, *tokens, _BREAK]
            for first, second in pairwise(run):
                self.after_one.setdefault(first, []).append(second)
            for first, second, third in zip(run, run[1:], run[2:], strict=False):
                self.after_two.setdefault((first, second), []).append(third)


def _latest(prose: Sequence[str]) -> list[str]:
    """The last texts of `prose`, as many as are worth imitating, in their order."""
    room = _SOURCE_CHARACTERS
    texts: list[str] = []
    for text in reversed(prose):
        if room <= 0:
            break
        texts.append(text[-room:])
        room -= len(text)
    return texts[::-1]


def _quotes(text: str) -> dict[int, str]:
    if text.count("„") > text.count('"'):
        pair = "„“"
    elif text.count("“") > text.count('"'):
        pair = "“”"
    else:
        pair = '""'
    return {ord("“"): pair[0], ord("”"): pair[1]}


def _paragraphs(text: str, token: re.Pattern[str]) -> list[list[str]]:
    """The tokens of each paragraph (line) of `text`, the first without space before it; emphasis marks are left out."""
    paragraphs: list[list[str]] = [[]]
    quoting = False
    space = ""
    for found in token.findall(text):
        if "\n" in found:
            paragraphs.append([])
            quoting = False
            space = ""
            continue
        mark = found.strip()
        if mark in ("", "*"):
            space = found.removesuffix("*") or space
            continue
        if mark in _DOUBLE_QUOTES:
            quoting = not quoting
            found = found.replace(mark, "“" if quoting else "”")
        if not found[0].isspace():
            found = space + found
        space = ""
        paragraphs[-1].append(found if paragraphs[-1] else found.strip())
    return [tokens for tokens in paragraphs if tokens]


def _is_word(token: str) -> bool:
    return any(map(str.isalnum, token))


def _walk(source: _Source, wanted: int, chance: Callable[[], float]) -> list[str]:
    """Tokens along the chain until a sentence ends after `wanted` words; what was opened is closed again."""
    pieces: list[str] = []
    closers: list[str] = []
    words = paragraph_words = 0
    before, last = "", _BREAK
    # A chain of punctuation alone would never reach its number of words.
    for _ in range(20 * wanted):
        mark = last.strip()
        ended = mark in _SENTENCE_ENDS
        if ended and (words >= wanted or (paragraph_words >= _PARAGRAPH_WORDS and not closers)):
            token = _BREAK
        else:
            token = _next(source, before, last, closers, chance)
        if token == _BREAK:
            if not ended and mark not in _CLOSERS:
                pieces.append(source.full_stop)
            pieces += reversed(closers)
            closers.clear()
            if words >= wanted:
                break
            paragraph_words = 0
        else:
            pieces.append(f"{_BREAK}{token}" if last == _BREAK and pieces else token)
            mark = token.strip()
            if mark in _CLOSING:
                closers.append(_CLOSING[mark])
            elif mark in _CLOSERS:
                closers.pop()
            elif _is_word(token):
                words += 1
                paragraph_words += 1
                if words >= wanted * 3 // 2:
                    pieces.append(source.full_stop)
                    pieces += reversed(closers)
                    break
        before, last = last, token
    return pieces


def _next(source: _Source, before: str, last: str, closers: Sequence[str], chance: Callable[[], float]) -> str:
    """A token seen after the last two, or after the last one; where none fits, the end of the paragraph."""
    ways = [source.after_one.get(last, [])]
    pair = source.after_two.get((before, last), [])
    if len(set(pair)) > 1 or chance() >= _LOOSE:
        ways.insert(0, pair)
    for options in ways:
        fitting = [token for token in options if _fits(token.strip(), closers)]
        if fitting:
            return fitting[int(chance() * len(fitting))]
    return _BREAK


def _fits(mark: str, closers: Sequence[str]) -> bool:
    """Whether `mark` may stand inside what is open: a closer must match, and nothing opens inside its own kind."""
    if mark in _CLOSERS:
        return bool(closers) and closers[-1] == mark
    return _CLOSING.get(mark) not in closers
