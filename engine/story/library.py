"""The stories of a data folder (spec, section 1.4)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from engine.errors import StonehandError
from engine.story.folder import StoryFolder
from engine.text import Phrase

STORIES: Final = "stories"


def list_stories(data: Path) -> tuple[StoryFolder, ...]:
    """Every folder of `data/stories` that has a `meta.json`, readable or not, sorted by folder name.

    Without a folder of stories there are none. Raises `StonehandError` when it can't be read.
    """
    folder = data / STORIES
    try:
        with os.scandir(folder) as entries:
            names = sorted((entry.name for entry in entries if entry.is_dir()), key=os.fsencode)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StonehandError(Phrase("can't be read: {strerror}", strerror=error.strerror), file=folder) from None
    return tuple(StoryFolder(folder / name) for name in names if (folder / name / "meta.json").exists())
