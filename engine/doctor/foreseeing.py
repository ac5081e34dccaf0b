"""What comes to light by repairs, and would be repaired in turn: found on a copy, before anything is changed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from engine.doctor.finding import Finding, Repair
from engine.doctor.mending import repair
from engine.errors import StonehandError

ROUNDS: Final = 10
"""How often what comes to light by repairs is repaired in turn."""

Key = tuple[Path, str, str]


def _key(offered: Repair) -> Key:
    """What tells a repair from others, before and after the file was changed by those."""
    return offered.file, offered.kind.value, offered.description


def coming_to_light(
    story: Path, examine: Callable[[Path], Sequence[Finding]], asked: Callable[[Repair], bool]
) -> list[Finding]:
    """The findings of a story's folder whose repairs are asked for and only offered once other ones are done, in the
    order in which they are. They name the story's own files.

    `examine` gives what is wrong with a story's folder. All is done to a copy of it in a temporary folder. Raises
    `StonehandError` when it can't be copied.
    """
    with tempfile.TemporaryDirectory(prefix="stonehand-") as temporary:
        place = Path(temporary).resolve()
        copied = place / "stories" / story.name
        try:
            shutil.copytree(story, copied, symlinks=True)
        except OSError as error:  # also shutil.Error
            raise StonehandError(
                f"can't be copied, so what would come to light is not known: {error.strerror or error}", file=story
            ) from None
        found: list[Finding] = []
        done: set[Key] = set()
        failed: set[Path | None] = set()
        for number in range(ROUNDS):
            due = {
                _key(offered): finding
                for finding in examine(copied)
                if (offered := finding.offered) is not None
                and asked(offered)
                and offered.file not in failed
                # Behind a link there may be the file itself.
                and offered.file.resolve().is_relative_to(copied)
            }
            new = [finding for key, finding in due.items() if key not in done]
            if not new:
                break
            if number:
                found += new
            done |= due.keys()
            offers = [finding.offered for finding in new if finding.offered is not None]
            outcome = repair(offers, place / "backups", place, shared=False)
            failed |= {problem.file for problem in outcome.failed}
        return [_moved(finding, copied, story) for finding in found]


def _moved(finding: Finding, copied: Path, story: Path) -> Finding:
    """A finding of the copy as one of the story; its repair is to be told, not carried out."""

    def back(file: Path) -> Path:
        return story / file.relative_to(copied) if file.is_relative_to(copied) else file

    offered = finding.offered
    assert offered is not None
    told = replace(offered, file=back(offered.file), edit=None, act=None)
    return replace(finding, file=None if finding.file is None else back(finding.file), offered=told)
