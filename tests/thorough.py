"""How often a test tries again what it tries: as often as a run at hand can afford, or more often at night.

`STONEHAND_TESTS=thorough` in the environment makes random tests take many more examples, and the long ones their whole
length; without it they show the same on fewer.
"""

from __future__ import annotations

import os

THOROUGH = os.environ.get("STONEHAND_TESTS") == "thorough"


def times(usual: int, thorough: int) -> int:
    """A number of examples, turns or seeds: the first in a usual run, the second in a thorough one."""
    return thorough if THOROUGH else usual
