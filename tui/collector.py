"""The garbage collector, so that it does not stop the editor.

It is held while the editor starts: what is loaded then stays, and searching it takes time. A story stays as well once
it is open; to search one of 10,000 fragments for garbage takes a tenth of a second and more.
"""

from __future__ import annotations

import gc

_YOUNG = 5_000
"""How many objects come into being before the young ones are searched. Python's 700 are made by a key or two."""

_ours = False


def hold() -> None:
    """Collect nothing until `release`."""
    global _ours
    _ours = True
    gc.disable()


def release() -> None:
    """Collect again, passing over what the start has left. Does nothing when it was not held."""
    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(_YOUNG)
        gc.enable()


def keep() -> None:
    """Pass over all that there is now: a story was opened. Does nothing in a process where it was never held."""
    if _ours and gc.isenabled():
        gc.collect(1)  # what is garbage already would be kept too
        gc.freeze()
