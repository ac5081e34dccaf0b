"""From the main screen to a conversation with its agent."""

from __future__ import annotations

from tui.language import of_engine, t
from tui.screens.desk_part import DeskPart


class ChatActions(DeskPart):
    """Talking with the agent that is open."""

    def action_chat(self) -> None:
        self.begin(self._chat, "go", exclusive=True)

    async def _chat(self) -> None:
        session = self.session
        if session is None or session.base is None:
            return
        talked_with = await self.wait(lambda: self.workspace.conversations.agents)
        if session.agent not in talked_with:
            names = ", ".join(of_engine(self.workspace.agent(name).display_name) for name in talked_with)
            self.say(t("chat.not-talked-with", names=names), warning=True)
            return
        from tui.screens.chat import ChatScreen

        self.collect()
        await self.save_now()
        if await self.load():
            self.app.push_screen(ChatScreen(session))
