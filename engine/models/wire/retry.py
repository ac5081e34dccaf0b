"""When a failed call is tried again, and after how long. Pure; chance comes in.

Source: spec provider-wire, C4: two retries, half a second doubled each time and capped, up to a quarter less by chance;
what the server asks for is honoured up to a minute; never after a piece of the answer was shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from engine.models.wire.base import Failure

RETRIES: Final = 2
BASE_SECONDS: Final = 0.5
CAP_SECONDS: Final = 8.0
JITTER: Final = 0.25
LONGEST_WAIT: Final = 60.0
_RETRYABLE: Final = ("throttled", "overloaded", "upstream", "network")


def retry_delay(
    failure: Failure, attempt: int, *, shown: bool, received: bool, chance: Callable[[], float]
) -> float | None:
    """Seconds to wait before another try; None when there is none.

    `attempt` is how often it was tried again already. `shown`: a piece of the answer was handed out; `received`: bytes
    of it had come, after which a broken connection is not tried again.
    """
    if shown or attempt >= RETRIES or failure.should_retry is False:
        return None
    if failure.kind == "network" and received:
        return None
    if failure.kind not in _RETRYABLE and failure.should_retry is not True:
        return None
    if failure.retry_after is not None:
        return failure.retry_after if failure.retry_after <= LONGEST_WAIT else None
    return min(BASE_SECONDS * 2.0**attempt, CAP_SECONDS) * (1 - JITTER * chance())
