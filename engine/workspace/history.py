"""The runs of a branch to look back on: list, whole logs, comparisons, what was used. It writes nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.agents import WRITER, agents
from engine.comparison import Comparison, Sent, SentBlock, compare
from engine.errors import InvalidFile, NotFound, StonehandError
from engine.models.tokens import estimate_tokens
from engine.runs.details import RunDetail
from engine.runs.filtering import RunFilter
from engine.runs.records import RunList, RunRecords, record_of
from engine.runs.used import UsageTotals, read_usage
from engine.session import Session
from engine.text import Phrase

if TYPE_CHECKING:
    from engine.runs.run import Mode
    from engine.workspace import Workspace

_ANSWER = "assistant"
"""The role of what agents wrote, in a comparison."""


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Two runs compared: what they were sent, and what they gave (brief, reasoning, answer; of role `assistant`). None
    where nothing was given yet.
    """

    prompt: Comparison
    answer: Comparison | None


class RunHistory:
    """The generation logs of a workspace's stories. Everything waits; a branch that is None is the active one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._lock = threading.Lock()
        self._records: dict[Path, RunRecords] = {}

    def all(self, story: str, branch: str | None = None) -> RunList:
        """The runs of a branch, newest first. Logs are read once, then those that changed."""
        return self._of(story, branch).all()

    def newest(self, story: str, branch: str | None, count: int) -> RunList:
        """About the newest `count` runs, for which no other log is read."""
        return self._of(story, branch).newest(count)

    def filtered(self, story: str, branch: str | None, wanted: RunFilter) -> RunList:
        """The runs that meet a filter, newest first."""
        records = self._of(story, branch)
        found = records.all()
        return replace(found, runs=tuple(wanted.through(found.runs, records.read))) if wanted else found

    def find(self, story: str, branch: str | None, given: str) -> str:
        """The id that is meant by the beginning of one, or by `last`. Raises `NotFound` and `WrongInput`."""
        return self._of(story, branch).find(given)

    def detail(self, story: str, branch: str | None, run_id: str) -> RunDetail:
        """A run, whole. Raises `NotFound` and `InvalidFile`."""
        log = self.log(story, branch, run_id)
        return RunDetail(record_of(run_id, log), log)

    def log(self, story: str, branch: str | None, run_id: str) -> Mapping[str, Any]:
        """The log of a run as it is on disk. Raises `NotFound` and `InvalidFile`."""
        return self._of(story, branch).read(run_id)

    def last_log(self, story: str, branch: str | None, agent: str) -> Mapping[str, Any] | None:
        """The newest log of what an agent was sent, whole; None where it was sent nothing yet."""
        records = self._of(story, branch)
        for run in records.all().runs:
            if run.agent == agent:
                with suppress(NotFound, InvalidFile):  # it was deleted or damaged meanwhile
                    if (log := records.read(run.id)).get("messages"):
                        return log
        return None

    def compare(self, before: RunDetail, after: RunDetail) -> RunComparison:
        """Two runs: their prompts by block, or by message where one log does not say its blocks, and their answers."""
        by_message = not (before.by_block and after.by_block)
        one, two = (Sent.of_log(detail.log, by_message=by_message) for detail in (before, after))
        return RunComparison(compare(one, two), compare(_given(before), _given(after)))

    def compare_with_now(self, story: str, branch: str | None, detail: RunDetail) -> RunComparison:
        """What a run was sent, and the prompt for the same input as it is now: of the story, and of the config with the
        edits that are open; about the same passage, where it was to write another version of one, and from the same
        brief, where it had one. Raises `StonehandError` for one that can't be built, as when its passage is gone.
        """
        session = self.session_like(story, branch, detail)
        mode = self.mode_of(detail)
        fragment = detail.target if mode != "generate" else None
        prompt = session.prompt()
        if session.agent == WRITER or fragment is not None:
            prompt = self._workspace.generation.prompt_like(session, mode=mode, fragment=fragment, brief=detail.brief)
        sent = Sent.of_log(detail.log)
        return RunComparison(compare(sent, Sent.of_prompt(prompt, by_message=sent.by_message)), None)

    def session_like(self, story: str, branch: str | None, detail: RunDetail, *, model: str | None = None) -> Session:
        """The agent of a run with its input, loaded, as its config is now; for `model`, or the one it resolves to.

        Raises `StonehandError`.
        """
        name = detail.record.agent
        if name not in {definition.name for definition in agents()}:
            raise StonehandError(
                Phrase("the run {id} is of {name}, which is no agent here", id=detail.record.id, name=name)
            )
        target = None if self.mode_of(detail) != "generate" else detail.target or None
        branch_id = self._workspace.story(story).branch(branch).id
        session = self._workspace.session(story, name, branch_id, model=model, target=target)
        if (fault := session.document.fault) is not None:
            raise InvalidFile.of(fault)
        session.author_input = detail.input
        session.install(session.load())
        return session

    def mode_of(self, detail: RunDetail) -> Mode:
        """What a run was to write. One that does not name its passage, as in an older log, continued the story."""
        modes: dict[str, Mode] = {"regenerate": "regenerate", "refine": "refine"} if detail.target else {}
        return modes.get(detail.mode, "generate")

    def usage(self, story: str) -> UsageTotals:
        """What the agents of a story have used, on all branches. Raises `InvalidFile`."""
        return read_usage(self._workspace.story(story).path)

    def _of(self, story: str, branch: str | None) -> RunRecords:
        folder = self._workspace.story(story)
        root = folder.content_root(folder.branch(branch).id)
        with self._lock:
            return self._records.setdefault(root, RunRecords(root))


def _given(detail: RunDetail) -> Sent:
    """What came of a run, by kind."""
    texts = {
        "brief-reasoning": detail.brief_reasoning,
        "brief": detail.brief,
        "reasoning": detail.reasoning,
        "answer": detail.answer,
    }
    blocks = (SentBlock(name, name, _ANSWER, text, estimate_tokens(text)) for name, text in texts.items() if text)
    return Sent(tuple(blocks), at=detail.record.created_at)
