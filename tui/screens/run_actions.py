"""The way from the main screen to the past runs of a branch."""

from __future__ import annotations

from tui.screens.desk_part import DeskPart


class RunActions(DeskPart):
    """Past runs."""

    def action_runs(self) -> None:
        self.begin(self._show_runs, "go", exclusive=True)

    async def _show_runs(self) -> None:
        from tui.screens.runs import RunsScreen

        session = self.session
        if session is not None:
            self.collect()  # a run may be compared with the prompt as it is now, or be made once more
            name = (await self.wait(self.workspace.story(session.story).meta)).name
            self.app.push_screen(RunsScreen(session.story, session.branch, name))
