"""The open block config of one agent: edits with undo, saving that loses nothing, a journal of what is not saved."""

from typing import TYPE_CHECKING

from engine.lazy import names_of

if TYPE_CHECKING:
    from engine.document.document import Change, Document, Pending, read_config
    from engine.document.journal import Journal
    from engine.document.merge import merge_configs
    from engine.document.state import SaveState

__all__ = ["Change", "Document", "Journal", "Pending", "SaveState", "merge_configs", "read_config"]

__getattr__ = names_of(
    __name__,
    {
        "document": ("Change", "Document", "Pending", "read_config"),
        "journal": ("Journal",),
        "merge": ("merge_configs",),
        "state": ("SaveState",),
    },
)
