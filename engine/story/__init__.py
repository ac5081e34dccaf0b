"""Stories on disk: meta, branches, fragments, prose chain, associations, and how a fragment renders."""

from engine.story.branches import Branch, Branches
from engine.story.chain import ChainEntry, ProseChain
from engine.story.folder import StoryFolder, StorySnapshot
from engine.story.fragment import Fragment
from engine.story.library import list_stories
from engine.story.meta import ContextCompact, CustomType, Settings, StoryMeta
from engine.story.saving import FileEdit

__all__ = [
    "Branch",
    "Branches",
    "ChainEntry",
    "ContextCompact",
    "CustomType",
    "FileEdit",
    "Fragment",
    "ProseChain",
    "Settings",
    "StoryFolder",
    "StoryMeta",
    "StorySnapshot",
    "list_stories",
]
