"""From the main screen to its agents at work, and what is told of those that work by themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.message import Message

from engine.errors import StonehandError
from tui.language import of_engine, t
from tui.screens.desk_part import DeskPart

if TYPE_CHECKING:
    from engine.workspace.generation import AnalysisNotice


class AgentRunActions(DeskPart):
    """Running the agent that is open, or another one on a fragment."""

    @dataclass
    class Analyzed(Message):
        """An analysis that began by itself has ended, or can't be made. Posted from an engine thread."""

        notice: AnalysisNotice

    def action_generate(self) -> None:
        self.begin(self._run_agent, "go", exclusive=True)

    async def _run_agent(self) -> None:
        """Open the screen that fits the agent."""
        session = self.session
        if session is None or session.base is None:
            return
        talked_with = await self.wait(lambda: self.workspace.conversations.agents)
        if session.agent in talked_with:
            await self.run_action("chat")
        elif self.workspace.agent(session.agent).subject is not None:
            await self.work_on(session.agent, session.target)
        else:
            from tui.screens.passage import PassageScreen

            self.collect()
            await self.save_now()
            try:
                found = await self.wait(lambda: self.workspace.models.resolve(session.story, session.agent))
            except StonehandError as error:
                self.report(error)
                return
            as_set = " · ".join(filter(None, (found.provider.id, found.model)))
            if await self.load():
                self.app.push_screen(PassageScreen(session, provider=None, as_set=as_set))

    async def work_on(self, agent: str, fragment_id: str | None) -> None:
        """Open an agent of the branch on a fragment, or on one that is chosen there."""
        from tui.screens.agent_run import open_agent_run

        session = self.session
        if session is not None:
            self.collect()
            await self.save_now()
            await self.open_session(session.story, agent, session.branch)  # its config is followed from now on
            await open_agent_run(self, session.story, session.branch, agent, fragment_id)

    def action_hand_over(self) -> None:
        self.begin(self._hand_over, "go", exclusive=True)

    async def _hand_over(self) -> None:
        """Choose a fragment, and the agent that is to work on it."""
        from tui.screens.agent_run import ask_agent, ask_fragment

        session = self.session
        if session is None:
            return
        found = await self.wait(lambda: self.workspace.fragments(session.story, session.branch))
        fragment = await ask_fragment(self, found)
        if fragment is not None and (agent := await ask_agent(self, fragment)) is not None:
            await self.work_on(agent, fragment.id)

    def action_last_analysis(self) -> None:
        self.begin(self._last_analysis, "go", exclusive=True)

    async def _last_analysis(self) -> None:
        session = self.session
        if session is None:
            return
        found = await self.wait(lambda: self.workspace.analyses.latest(session.story, session.branch))
        if found is None:
            self.say(t("agent.none-analyzed"), warning=True)
        else:
            await self.work_on("librarian.analyze", found.fragment_id)

    # -- analyses that begin by themselves

    def on_engine_analysis(self, notice: AnalysisNotice) -> None:
        """Hear of an analysis on an engine thread, where nothing but posting may be done."""
        self.post_message(self.Analyzed(notice))

    @on(Analyzed)
    def _analyzed(self, message: Analyzed) -> None:
        self.begin(lambda: self._tell_of(message.notice), "analyzed")

    async def _tell_of(self, notice: AnalysisNotice) -> None:
        run, analyses = notice.run, self.workspace.analyses
        why = "" if notice.problem is None else of_engine(notice.problem.told())
        if run is not None and not run.analysis_id:
            view = run.view()
            why = of_engine(view.failure) or next(map(of_engine, view.warnings), t(f"passage.phase.{view.phase}"))
        if why:
            self.report(StonehandError(t("agent.not-analyzed", id=notice.fragment_id, why=why)))
        elif run is not None:
            found = await self.wait(lambda: analyses.read(notice.story, notice.branch, run.analysis_id))
            findings = found.findings
            counts = {
                "agent.analyzed.mentions": len(findings.mentions),
                "agent.analyzed.contradictions": len(findings.contradictions),
                "agent.analyzed.proposals": len(found.open_proposals),
            }
            said = t("agent.analyzed.between").join(t(key, count=count) for key, count in counts.items() if count)
            text = t("agent.analyzed-found" if said else "agent.analyzed", name=notice.fragment_id, found=said)
            self.stonehand.notify(text, markup=False)
