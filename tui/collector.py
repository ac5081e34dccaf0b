"""The garbage collector, held while the editor starts: what is loaded then stays, and searching it takes time."""

from __future__ import annotations

import gc


def hold() -> None:
    """Collect nothing until `release`."""
    gc.disable()


def release() -> None:
    """Collect again, passing over what the start has left. Does nothing when it was not held."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
