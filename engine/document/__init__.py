"""The open block config of one agent: edits with undo, saving that loses nothing, a journal of what is not saved."""

from engine.document.document import Change, Document, Pending, SaveState
from engine.document.journal import Journal
from engine.document.merge import merge_configs

__all__ = ["Change", "Document", "Journal", "Pending", "SaveState", "merge_configs"]
