"""Stories and branches: opening one, and making, naming, choosing and deleting branches."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from engine.document.state import SaveState
from engine.errors import StonehandError
from tui.language import of_error, t
from tui.screens.desk_part import DeskPart

if TYPE_CHECKING:
    from tui.screens.story import StoryScreen

DEFAULT_AGENT = "generation.writer"
TOLD_SECONDS = 30.0
"""How long a message stands that names a file with the user's own work."""


class StoryActions(DeskPart):
    """The story dialog: it stays until a branch is opened or it is left."""

    def action_story(self) -> None:
        if self.stonehand.opened:
            self.begin(self._choose_story, "story", exclusive=True)

    async def _choose_story(self) -> None:
        from tui.screens.story import StoryScreen

        at: tuple[str, str] | None = None
        fault = ""
        opened: tuple[str, str] | None = None
        session = self.session
        while opened is None:
            stories = await self.wait(self.workspace.stories)
            here = (session.story, session.branch) if session is not None else None
            chosen = await self.app.push_screen_wait(StoryScreen(stories, here, at=at, fault=fault))
            if chosen is None:
                return
            at, fault = (chosen.story, chosen.branch), ""
            try:
                opened = await self._act(chosen)
            except StonehandError as error:
                fault = of_error(error)
        story, branch = opened
        agent = session.agent if session is not None else DEFAULT_AGENT
        self.begin(lambda: self.open_story(story, branch, agent), "open", exclusive=True)

    async def _act(self, chosen: StoryScreen.Choice) -> tuple[str, str] | None:
        """Do what was chosen; the story and branch that are to be opened then, None to go on choosing.

        Raises `StonehandError`.
        """
        if chosen.act == "new":
            made = await self._new_branch(chosen.story, chosen.branch)
            return None if made is None else (chosen.story, made)
        if chosen.act == "rename":
            await self._rename_branch(chosen.story, chosen.branch)
            return None
        if chosen.act == "activate":
            folder = self.workspace.story(chosen.story)
            await self.wait(lambda: folder.switch_branch(chosen.branch))
            self.say(t("branches.active", branch=chosen.branch))
            return None
        if chosen.act == "delete":
            return await self._delete_branch(chosen.story, chosen.branch)
        return chosen.story, chosen.branch

    async def _new_branch(self, story: str, parent: str) -> str | None:
        """Copy a branch under a new name, up to a section if its author wants to; the id of the copy."""
        from tui.screens.branch_name import BranchNameDialog

        folder = self.workspace.story(story)
        name, fault = "", ""
        while True:
            dialog = BranchNameDialog(t("branches.new-title", branch=parent), name, fork=True, fault=fault)
            values = await self.app.push_screen_wait(dialog)
            if values is None:
                return None
            name, fault = values.name, ""
            last: int | None = None
            if values.cut:
                last = await self._pick_section(story, parent)
                if last is None:
                    continue
            await self.settle_branch(story, parent)  # the copy has what was just edited
            try:
                made = await self.wait(partial(folder.create_branch, values.name, parent, last))
            except StonehandError as error:
                fault = of_error(error)
                continue
            self.say(t("branches.made", name=made.name))
            return made.id

    async def _pick_section(self, story: str, branch: str) -> int | None:
        from tui.screens.target import TargetDialog

        sections = await self.wait(lambda: self.workspace.sections(story, branch))
        dialog = TargetDialog(
            t("branches.section-title"),
            [f"{number}  {start}" for number, start in enumerate(sections, 1)],
            wanted=t("branches.section-wanted"),
            none=t("branches.section-none"),
            hint=t("branches.section-hint"),
        )
        return await self.app.push_screen_wait(dialog)

    async def _rename_branch(self, story: str, branch: str) -> None:
        from tui.screens.branch_name import BranchNameDialog

        folder = self.workspace.story(story)
        name, fault = folder.branch(branch).name, ""
        while True:
            dialog = BranchNameDialog(t("branches.rename-title", branch=branch), name, fault=fault)
            values = await self.app.push_screen_wait(dialog)
            if values is None:
                return
            try:
                await self.wait(partial(folder.rename_branch, branch, values.name))
                if self.session is not None and self.session.story == story:
                    await self.name_branches(story)
                return
            except StonehandError as error:
                name, fault = values.name, of_error(error)

    async def _delete_branch(self, story: str, branch: str) -> tuple[str, str] | None:
        """Delete a branch, when its author says so, with its unsaved edits brought out of it; what is to be opened when
        it was the one that is open.
        """
        from engine.workspace import MAIN
        from tui.screens.report import ReportDialog

        if branch == MAIN:
            raise StonehandError(t("branches.main-stays"))
        folder = self.workspace.story(story)
        found = folder.branches().get(branch)
        open_here = self.session is not None and (self.session.story, self.session.branch) == (story, branch)
        await self.settle_branch(story, branch)
        held = await self.wait(lambda: self.workspace.belongings(story, branch))
        lines = [
            t("branches.goes-sections", count=held.sections),
            t("branches.goes-fragments", count=held.fragments),
            t("branches.goes-configs", count=held.configs),
            t("branches.goes-logs", count=held.logs),
        ]
        lines += [t("branches.goes-conversations", count=held.conversations)] if held.conversations else []
        lines += ["", t("branches.no-undo")]
        lines += [t("branches.main-opens")] if open_here else []
        choices = [("d", t("branches.do-delete")), ("escape", t("branches.keep"))]
        dialog = ReportDialog(t("branches.delete-title", branch=found.name), lines, choices)
        if await self.app.push_screen_wait(dialog) != "d":
            return None
        for session in await self.settle_branch(story, branch):
            if session.document.state is not SaveState.SAVED:
                file = await self.wait(partial(self.workspace.rescue.session, session))
                text = t("branches.rescued", agent=session.agent, file=file)
                self.stonehand.notify(text, timeout=TOLD_SECONDS, markup=False)
        await self.wait(lambda: folder.delete_branch(branch))
        self.forget_sessions(story, branch)
        self.say(t("branches.deleted", branch=found.name))
        if not open_here:
            return None
        self.session = None
        return story, folder.branches().active

    # -- edits of a branch that was deleted while no editor was open

    async def offer_left_edits(self) -> None:
        """Ask what becomes of unsaved edits that have no place to go to any more; until then they stay."""
        from tui.screens.choice import ChoiceDialog

        for left in await self.wait(self.workspace.rescue.left):
            choices = [
                ("w", t("branches.left-write")),
                ("d", t("branches.left-drop")),
                ("escape", t("branches.left-later")),
            ]
            dialog = ChoiceDialog(
                t("branches.left-title", branch=left.branch, story=left.story),
                t("branches.left-text", agent=left.agent),
                choices,
            )
            key = await self.app.push_screen_wait(dialog)
            try:
                if key == "w":
                    file = await self.wait(partial(self.workspace.rescue.write_left, left))
                    text = t("branches.rescued", agent=left.agent, file=file)
                    self.stonehand.notify(text, timeout=TOLD_SECONDS, markup=False)
                elif key == "d":
                    await self.wait(partial(self.workspace.rescue.drop_left, left))
            except StonehandError as error:
                self.report(error)
