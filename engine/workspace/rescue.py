"""`workspace.rescue`: edits and passages whose place in a story is gone, brought to files of the user's own."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from engine import disk
from engine.agents import agent
from engine.blocks.bundles import agent_bundle
from engine.document import Journal
from engine.errors import InvalidFile, StonehandError
from engine.runs import Run
from engine.session import Session
from engine.story import StoryFolder
from engine.story.branches import content_root
from engine.text import Phrase
from engine.workspace.views import LeftEdits

CONFIG_DEPTH = 5
"""Parts of a config's place below the stories: story, `branches`, branch, `agent-blocks`, file."""


class Rescue:
    """What would be lost with a branch or story that is gone; what programs now gone have left, if `journalled`."""

    def __init__(
        self,
        data: Path,
        state: Path,
        journal: Journal,
        story: Callable[[str], StoryFolder],
        *,
        journalled: bool,
    ) -> None:
        self._data = data
        self._state = state
        self._journal = journal
        self._story = story
        self._journalled = journalled

    def is_gone(self, session: Session) -> bool:
        """Whether the branch of a session was deleted, or its story, so that nothing can be saved there."""
        try:
            folder = self._story(session.story)
            return session.branch not in folder.branches().ids or not folder.content_root(session.branch).is_dir()
        except StonehandError:
            return False  # another trouble, which is told where it stands in the way

    def session(self, session: Session) -> Path:
        """Write the config of a session whose branch is gone to a file that can be imported, and give its edits up.

        Returns the file. Raises `StonehandError`; the edits stay unsaved then.
        """
        definition = agent(session.agent)
        bundle = agent_bundle(definition.name, definition.display_name, session.document.config)
        file = self._rescued(session.story, session.branch, f"{definition.name}.json", disk.dump_json(bundle))
        session.document.let_go()
        return file

    def left(self) -> list[LeftEdits]:
        """Edits that programs now gone have left of branches and stories that are gone, too. Waits."""
        if not self._journalled:
            return []
        found = []
        for document, journal in self._journal.left(lambda file: self._place_gone(file) is not None):
            if (place := self._place_gone(document)) is not None:
                found.append(LeftEdits(*place, journal))
        return found

    def _place_gone(self, document: Path) -> tuple[str, str, str] | None:
        """Story, branch and agent of a config of this data folder whose branch is gone, by what it is journalled under;
        else None.
        """
        stories, file = Path(os.path.realpath(self._data / "stories")), Path(os.path.realpath(document))
        parts = file.relative_to(stories).parts if file.is_relative_to(stories) else ()
        if len(parts) != CONFIG_DEPTH:
            return None
        story, _, branch, _, name = parts
        gone = not content_root(stories / story, branch).is_dir()
        return (story, branch, name.removesuffix(".json")) if gone else None

    def write_left(self, left: LeftEdits) -> Path:
        """Write a config with edits that were left to a file that can be imported, and forget them; returns the file.

        Raises `StonehandError`; the edits stay where they are then.
        """
        try:
            config = self._journal.read_left(left.journal)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise StonehandError(Phrase("can't be read: {reason}", reason=reason), file=left.journal) from None
        if config is None:
            raise InvalidFile("nothing can be made of these edits", file=left.journal, repair="drop them")
        definition = agent(left.agent)
        bundle = agent_bundle(definition.name, definition.display_name, config)
        file = self._rescued(left.story, left.branch, f"{definition.name}.json", disk.dump_json(bundle))
        self._journal.drop_left(left.journal)
        return file

    def drop_left(self, left: LeftEdits) -> None:
        """Forget edits that were left of a branch that is gone."""
        self._journal.drop_left(left.journal)

    def passage(self, run: Run) -> Path:
        """Write a passage that can't be kept to a text file, which is returned. Raises `StonehandError`."""
        text = run.view().text.encode("utf-8", "replace")
        return self._rescued(run.prompt.story, run.prompt.branch, "passage.txt", text)

    def _rescued(self, story_id: str, branch_id: str, name: str, data: bytes) -> Path:
        folder = self._state / "rescued"
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = disk.child(folder, f"{story_id}-{branch_id}-{datetime.now():%Y%m%d-%H%M%S}-{name}")
        disk.write_atomic(file, data)
        return file
