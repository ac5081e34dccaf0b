"""Whole configs on their way: exported, imported, copied, reset, and all of that taken back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.blocks.config import EMPTY
from engine.document.state import SaveState
from engine.errors import Conflict, InvalidFile, StonehandError
from tui.language import of_engine, of_error, t
from tui.screens.desk_part import DeskPart

if TYPE_CHECKING:
    from engine.session import Session
    from engine.workspace.exchange import AgentImport, Import, LeftAlone, TakingBack
    from tui.screens.bundle_file import BundleFileDialog

TOLD_SECONDS = 12.0
"""How long a message stands that names a file."""


class ExchangeActions(DeskPart):
    """What is done to configs as a whole. Every change is one undo step of each agent it touches, and on record."""

    _exchange_folder: Path | None = None
    """Where the last file was exported to or imported from."""

    # -- export

    def action_export(self) -> None:
        self.begin(self._export, "exchange", exclusive=True)

    async def _export(self) -> None:
        from tui.screens.bundle_file import BundleFileDialog
        from tui.widgets.path_input import full_path, short_path

        session = self.session
        if session is None:
            self.say(t("exchange.nothing-open"), warning=True)
            return
        agent = of_engine(self.workspace.agent(session.agent).display_name)
        names = {True: f"{session.story}-{session.agent}.json", False: f"{session.story}-{session.branch}-configs.json"}
        offered = self._offered(names[True])
        values, fault = BundleFileDialog.Values(one=True, clipboard=False, path=offered), ""
        while True:
            asked = BundleFileDialog("export", agent, values, fault)
            answer = await self.app.push_screen_wait(asked)
            if answer is None:
                return
            if not answer.one and answer.path == offered:
                answer = replace(answer, path=self._offered(names[False]))
            values = answer
            self.collect()
            try:
                bundle = await self._bundle(session, values.one)
                if values.clipboard:
                    self._to_clipboard(bundle)
                    return
                file = full_path(values.path)
                if file.is_dir():
                    file = file / names[values.one]
                if await self._write(bundle, file):
                    self._exchange_folder = file.parent
                    self.stonehand.notify(
                        t("exchange.exported", file=short_path(file)), timeout=TOLD_SECONDS, markup=False
                    )
                    return
                fault = ""
            except StonehandError as error:
                fault = of_error(error)

    def _offered(self, name: str) -> str:
        from tui.widgets.path_input import short_path

        return short_path((self._exchange_folder or Path.cwd()) / name)

    async def _bundle(self, session: Session, one: bool) -> dict[str, object]:
        exchange, story, branch = self.workspace.exchange, session.story, session.branch
        if one:
            return await self.wait(lambda: exchange.export_agent(story, session.agent, branch))
        for unknown in await self.wait(lambda: exchange.unknown_configs(story, branch)):
            self.say(t("exchange.export-left-out", name=unknown.stem), warning=True)
        exported = await self.wait(lambda: exchange.export_story(story, branch))
        for problem in exported.left_out:
            self.stonehand.notify(
                t("exchange.export-invalid", problem=problem),
                severity="warning",
                timeout=TOLD_SECONDS,
                markup=False,
            )
        return exported.bundle

    def _to_clipboard(self, bundle: dict[str, object]) -> None:
        from tui.clipboard import copy

        self.say(copy(self.app, self.workspace.exchange.text(bundle)).message)

    async def _write(self, bundle: dict[str, object], file: Path) -> bool:
        """Write a bundle; False when there is such a file already, which is to stay. Raises `StonehandError`."""
        from tui.screens.choice import ChoiceDialog
        from tui.widgets.path_input import short_path

        exchange = self.workspace.exchange
        try:
            await self.wait(lambda: exchange.write_file(bundle, file, replacing=False))
        except Conflict:
            title = t("exchange.exists", file=short_path(file))
            choices = [("r", t("exchange.overwrite")), ("escape", t("exchange.cancel"))]
            dialog = ChoiceDialog(title, t("exchange.overwrite-text"), choices)
            if await self.app.push_screen_wait(dialog) != "r":
                return False
            await self.wait(lambda: exchange.write_file(bundle, file, replacing=True))
        return True

    # -- import

    def action_import(self) -> None:
        self.begin(self._import, "exchange", exclusive=True)

    async def _import(self) -> None:
        from tui.screens.bundle_file import BundleFileDialog
        from tui.widgets.path_input import full_path

        session = self.session
        if session is None:
            self.say(t("exchange.nothing-open"), warning=True)
            return
        values = BundleFileDialog.Values(one=False, clipboard=False, path=self._offered(""))
        fault = ""
        while True:
            name = of_engine(self.workspace.agent(session.agent).display_name)
            answer = await self.app.push_screen_wait(BundleFileDialog("import", name, values, fault))
            if answer is None:
                return
            values = answer
            file = Path(t("exchange.pasted")) if values.clipboard else full_path(values.path)
            try:
                plan = await self._plan_import(session, file, values)
                break
            except StonehandError as error:
                fault = of_error(error)
        if not values.clipboard:
            self._exchange_folder = file.parent
        if await self._carry_out(
            plan,
            t("exchange.import-title"),
            t("exchange.do-import"),
            [t("exchange.replaces")],
            lambda agent: t("exchange.import-label", agent=agent),
        ):
            self.say(t("exchange.imported", agent=of_engine(self.workspace.agent(session.agent).display_name)))

    async def _plan_import(self, session: Session, file: Path, values: BundleFileDialog.Values) -> Import:
        exchange = self.workspace.exchange
        agent = session.agent if values.one else None
        if values.clipboard:
            data = values.text.encode("utf-8", "surrogatepass")
        else:
            data = await self.wait(lambda: exchange.read_file(file))
        await self.settle_branch(session.story, session.branch)
        return await self.wait(lambda: exchange.plan_import(session.story, data, file, agent, session.branch))

    # -- copy

    def action_copy_config(self) -> None:
        self.begin(self._copy_config, "exchange", exclusive=True)

    async def _copy_config(self) -> None:
        from tui.screens.target import TargetDialog

        session = self.session
        if session is None:
            self.say(t("exchange.nothing-open"), warning=True)
            return
        name = of_engine(self.workspace.agent(session.agent).display_name)
        targets = await self._targets(session)
        dialog = TargetDialog(
            t("exchange.copy-title", agent=name),
            [label for label, *_ in targets],
            wanted=t("exchange.copy-wanted"),
            none=t("exchange.copy-none"),
            hint=t("exchange.copy-hint"),
        )
        chosen = await self.app.push_screen_wait(dialog)
        if chosen is None:
            return
        label, story, branch, agent = targets[chosen]
        source = (session.story, session.branch, session.agent)
        try:
            await self.settle_branch(session.story, session.branch)
            await self.settle_branch(story, branch)
            plan = await self.wait(lambda: self.workspace.exchange.plan_copy(source, story, agent, branch))
        except StonehandError as error:
            self.report(error)
            return
        title = t("exchange.copy-title", agent=name)
        step = t("exchange.copy-label", agent=session.agent)
        if await self._carry_out(plan, title, t("exchange.do-copy"), [label], lambda _: step):
            self.say(t("exchange.copied", place=label))

    async def _targets(self, session: Session) -> list[tuple[str, str, str, str]]:
        """Everything the config of a session can be copied to: label, story, branch, agent; the nearest first."""
        from tui.screens.story import branch_label

        here: list[tuple[str, str, str, str]] = []
        near: list[tuple[str, str, str, str]] = []
        far: list[tuple[str, str, str, str]] = []
        for story in await self.wait(self.workspace.stories):
            names = Counter(branch.name.casefold() for branch in story.branches)
            for branch in story.branches if story.problem is None else ():
                alone = names[branch.name.casefold()] == 1
                called = branch.name if alone else branch_label(branch.name, branch.id)
                for definition in self.workspace.definitions():
                    name = of_engine(definition.display_name)
                    place = (story.id, branch.id, definition.name)
                    same_agent = definition.name == session.agent
                    if place[:2] == (session.story, session.branch):
                        if not same_agent:
                            here.append((t("exchange.copy-other-agent", agent=name), *place))
                    elif story.id == session.story and same_agent:
                        here.append((t("exchange.copy-here", branch=called), *place))
                    else:
                        text = "exchange.copy-branch" if story.id == session.story else "exchange.copy-other"
                        label = t(text, agent=name, branch=called, story=story.name)
                        (near if same_agent else far).append((label, *place))
        return [*here, *near, *far]

    # -- reset

    def reset_agent(self) -> None:
        self.begin(self._reset_agent, "exchange", exclusive=True)

    async def _reset_agent(self) -> None:
        session = self.session
        if session is None:
            return
        try:
            await self.settle_branch(session.story, session.branch)
            plan = await self.wait(
                lambda: self.workspace.exchange.plan_reset(session.story, session.agent, session.branch)
            )
            if await self._replace(plan, lambda agent: t("exchange.reset-label", agent=agent)):
                self.say(t("exchange.reset-done", agents=session.agent))
        except StonehandError as error:
            self.report(error)

    def reset_branch(self) -> None:
        self.begin(self._reset_branch, "exchange", exclusive=True)

    async def _reset_branch(self) -> None:
        session = self.session
        if session is None:
            return
        try:
            await self.settle_branch(session.story, session.branch)
            plan = await self.wait(lambda: self.workspace.exchange.plan_reset(session.story, None, session.branch))
        except StonehandError as error:
            self.report(error)
            return
        title, verb = t("exchange.reset-title"), t("exchange.do-reset")
        if await self._carry_out(plan, title, verb, [], lambda agent: t("exchange.reset-label", agent=agent)):
            self.say(t("exchange.reset-all-done"))

    def reset_invalid(self) -> None:
        self.begin(self._reset_invalid, "exchange", exclusive=True)

    async def _reset_invalid(self) -> None:
        session = self.session
        if session is None:
            return
        exchange, replacing = self.workspace.exchange, {session.agent: EMPTY}
        try:
            await self.wait(lambda: exchange.remember(session.story, session.branch, replacing))
        except StonehandError as error:
            self.report(error)
            return
        if session is self.session and session.document.state is SaveState.INVALID:
            self.do(lambda session: t("exchange.reset-invalid", file=session.document.reset_invalid().name))

    # -- taking back

    def action_undo_import(self) -> None:
        self.begin(self._undo_import, "exchange", exclusive=True)

    async def _undo_import(self) -> None:
        from tui.screens.report import ReportDialog

        session = self.session
        if session is None:
            self.say(t("exchange.nothing-open"), warning=True)
            return
        exchange = self.workspace.exchange
        try:
            await self.settle_branch(session.story, session.branch)
            plan = await self.wait(lambda: exchange.plan_take_back(session.story, session.branch))
        except StonehandError as error:
            self.say(of_error(error), warning=True)
            return
        lines = list(_told((item.agent, item.changes) for item in plan.agents))
        lines += [t("exchange.changed-since", agent=item.agent) for item in plan.changed]
        choices = [("y", t("exchange.do-undo")), ("escape", t("exchange.cancel"))]
        if await self.app.push_screen_wait(ReportDialog(t("exchange.take-back-title"), lines, choices)) != "y":
            return
        try:
            left = await self._take_back(plan)
        except StonehandError as error:
            self.report(error)
            return
        self._tell_left(left)
        names = [item.agent for item in plan.agents if item.agent not in {other.agent for other in left}]
        if names:
            self.say(t("exchange.put-back", agents=", ".join(names)))

    async def _take_back(self, plan: TakingBack) -> Sequence[LeftAlone]:
        """Put the configs back: as a step of their documents, so that they can be undone too. A file that was no valid
        config becomes that again on disk alone.
        """
        touched: list[Session] = []
        invalid = []
        for item in plan.agents:
            session = await self._saved_session(plan.story, item.agent, plan.branch)
            try:
                session.document.restore(item.before, t("exchange.take-back-label"))
                touched.append(session)
            except InvalidFile:
                invalid.append(item)
        self.show_rows()
        await self.save_all(touched)
        for session in touched:
            self._check_saved(session)
        exchange, rest = self.workspace.exchange, replace(plan, agents=tuple(invalid))
        left = await self.wait(lambda: exchange.take_back(rest))
        await self._show_agents()
        return left

    def _tell_left(self, left: Iterable[LeftAlone]) -> None:
        for item in left:
            text = (
                t("exchange.kept-earlier-default", agent=item.agent)
                if item.copy is None
                else t("exchange.kept-earlier", agent=item.agent, file=item.copy)
            )
            self.stonehand.notify(text, severity="warning", timeout=TOLD_SECONDS * 2, markup=False)

    # -- what they share

    async def _saved_session(self, story: str, agent: str, branch: str) -> Session:
        """An agent with nothing left to be saved. Raises `Conflict` for one that can't be brought to that."""
        session = await self.open_session(story, agent, branch)
        await self.save_all([session])
        self._check_saved(session)
        return session

    def _check_saved(self, session: Session) -> None:
        if session.document.state is not SaveState.SAVED:
            raise Conflict(t("exchange.not-saved", agent=session.agent))

    async def _carry_out(
        self, plan: Import, title: str, verb: str, first: Sequence[str], label: Callable[[str], str]
    ) -> bool:
        """Show what a plan changes, ask, and do it; whether anything was done."""
        from tui.screens.report import ReportDialog

        lines = [*first, ""] if plan.changed else [t("exchange.no-changes")]
        lines += [*map(of_engine, plan.notes), *([""] if plan.notes else [])]
        lines += _told((item.agent, (*item.changes, *_scripts_off(item))) for item in plan.changed)
        choices = [("y", verb)] if plan.changed else []
        where = t("exchange.asks", title=title, story=plan.story, branch=plan.branch)
        dialog = ReportDialog(where, lines, [*choices, ("escape", t("exchange.cancel"))])
        if await self.app.push_screen_wait(dialog) != "y":
            return False
        try:
            return await self._replace(plan, label)
        except StonehandError as error:
            self.report(error)
            return False

    async def _replace(self, plan: Import, label: Callable[[str], str]) -> bool:
        """Replace the configs of a plan, as one undo step of each. Raises `StonehandError`, with nothing replaced."""
        from engine.workspace.exchange import check_unchanged

        sessions = [
            await self._saved_session(plan.story, item.agent, plan.branch)
            if item.invalid is None
            else await self.open_session(plan.story, item.agent, plan.branch)
            for item in plan.changed
        ]
        exchange = self.workspace.exchange
        replacing = {item.agent: item.after for item in plan.changed}
        if not replacing:
            self.say(t("exchange.no-changes"))
            return False
        kept = await self.wait(lambda: exchange.remember(plan.story, plan.branch, replacing))
        for session, item in zip(sessions, plan.changed, strict=True):
            try:
                check_unchanged(session.document, item)
            except Conflict:
                raise Conflict(t("exchange.changed-while-asking", agent=item.agent)) from None
        for session, item in zip(sessions, plan.changed, strict=True):
            if item.invalid is not None:
                session.document.reset_invalid()
            session.replace(item.after, label(item.agent))
        self.show_rows()
        await self.save_all(sessions)
        await self._show_agents()
        if kept:
            self.stonehand.notify(
                t("exchange.before-kept", folder=next(iter(kept.values())).parent), timeout=TOLD_SECONDS, markup=False
            )
        return True

    async def _show_agents(self) -> None:
        """The list of agents again: which are customised may have changed."""
        from tui.widgets.agent_list import AgentList

        session = self.session
        if session is not None:
            with suppress(StonehandError):
                found = await self.wait(lambda: self.workspace.agents(session.story, session.branch))
                self.query_one("#agents", AgentList).show(found, session.agent)


def _told(agents: Iterable[tuple[str, Iterable[str]]]) -> Iterator[str]:
    for agent, changes in agents:
        yield agent
        yield from (f"  {of_engine(change)}" for change in changes)


def _scripts_off(item: AgentImport) -> Iterator[str]:
    if item.disarmed:
        yield t("exchange.off", names=", ".join(item.disarmed))
