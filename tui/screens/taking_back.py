"""Taking back what an agent changed in the story."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import NotFound, StonehandError
from tui.language import t

if TYPE_CHECKING:
    from tui.screens.base import WorkingScreen


async def take_back(screen: WorkingScreen[Any], story: str, branch: str, agent: str) -> bool:
    """Take back what an agent changed last on a branch, and say what that was; whether there was anything.

    Called in a worker of the screen that says it.
    """
    changes = screen.workspace.changes
    try:
        undone = await screen.wait(lambda: changes.take_back(story, branch, agent))
    except NotFound:
        screen.say(t("chat.nothing-to-take-back"), warning=True)
        return False
    except StonehandError as error:
        screen.report(error)
        return True
    for problem in undone.problems:
        screen.report(StonehandError.of(problem))
    written = [item.change for item in reversed(undone.written) if item.edit is not None]
    if written:
        names = (f"{(change.before or change.after).name} ({change.fragment_id})" for change in written)
        screen.say(t("chat.taken-back", what=", ".join(names)))
    return True
