"""Which Textual is installed: what uses its private parts does so for exactly the version it was written for."""

from __future__ import annotations

from pathlib import Path

import textual


def is_textual(version: str) -> bool:
    """Whether this is the version of Textual that is loaded.

    Asked of its folder of metadata first, whose name holds it: reading the metadata takes a tenth of the time an app
    needs to appear.
    """
    folder = Path(textual.__file__).parent.with_name(f"textual-{version}.dist-info")
    return folder.is_dir() or textual.__version__ == version
