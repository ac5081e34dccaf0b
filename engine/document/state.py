"""How an open document stands to its file."""

from __future__ import annotations

from enum import Enum


class SaveState(Enum):
    """How the document stands to its file."""

    SAVED = "saved"
    UNSAVED = "unsaved"
    CONFLICT = "conflict"
    """Another program changed the file; nothing was overwritten and edits are kept until one side is chosen."""
    INVALID = "invalid"
    """The file can't be read as a config; it is left alone until it is repaired or reset."""
