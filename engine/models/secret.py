"""A text that must not be seen: API keys and the values of headers."""

from __future__ import annotations

import hmac
from typing import Any, NoReturn, Self


class Secret:
    """Holds a text that nothing shows by accident: not `repr`, `str`, a format, a log line, JSON or a pickle.

    `reveal` gives it to the one place that needs it, the request.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself; never for a message, a log or a screen."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(…)"

    def __str__(self) -> str:
        return "••••"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        mine, theirs = (text.encode("utf-8", "surrogatepass") for text in (self._text, other._text))
        return hmac.compare_digest(mine, theirs)

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: dict[int, Any]) -> Self:
        return self

    def __reduce_ex__(self, _protocol: object) -> NoReturn:
        raise TypeError("a secret can't be pickled")
