"""Killed while an answer streams: the program at each event, the server at each of its own. What is on disk holds
together, nothing is half there, and what had arrived can be found.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.chat import Conversation, ConversationStore, history
from engine.errors import StonehandError
from engine.models.wire.retry import retry_delay
from engine.runs import read_log
from engine.workspace import Workspace
from engine.workspace.conversations import INTERRUPTED
from tests.engine.conftest import STORY
from tests.engine.story_builder import tree
from tests.engine.test_providers_called import configure
from tests.mock_provider.scripts import COUNTED, DONE, call, chunk, plain
from tests.mock_provider.server import Close, Reply, Sleep, Step
from tests.mock_provider.serving import Serve
from tests.stories import DEFAULT_PROSE, make_story

ROOT = Path(__file__).parents[3]
LIBRARIAN = "librarian.chat"
PACES = ("linger", "continue", "end")
ANALYSIS = ("librarian/analyses/", "librarian/index.json", "librarian/state.json", "fragments/pr-aaaa01.json")
"""What an analysis is written to, in this order."""
TEXT = "Half a line."
WHOLE = f"{TEXT}\n\nDone."
ANSWER: list[Step] = [
    chunk({"reasoning_content": "Hm."}),
    chunk({"content": "Half "}),
    chunk({"content": "a line."}),
    call(0, "a", "readStorySummary", "{"),
    call(0, None, None, "}"),
    chunk({}, "tool_calls"),
    COUNTED,
    DONE,
]
EDIT = {"op": "replace_text", "fragmentId": "ch-bafego", "oldText": "everything twice", "newText": "once"}
EDITING: list[Step] = [*ANSWER[:3], call(0, "a", "editFragments", json.dumps({"operations": [EDIT]})), *ANSWER[5:]]
WAITING: list[Step] = [*ANSWER[:3], Sleep(60)]
BUSY: list[Step] = [Reply(503, {"error": {"message": "busy"}}, {"retry-after": "50"})]
ENDS = plain("Done.")


def calling(name: str, arguments: dict[str, Any]) -> list[Step]:
    """An answer with a call of one tool."""
    return [*ANSWER[:3], call(0, "a", name, json.dumps(arguments)), *ANSWER[5:]]


PLAIN = plain("Half ", "a line.")
BREAKS: list[Step] = [*ANSWER[:3], Close()]
MENTION = {"fragmentId": "ch-bafego", "text": "Ines"}
REPORTING = calling("reportAnalysis", {"summary": "She counts.", "mentions": [MENTION]})
PACED = [{"title": "T", "description": "D", "instruction": "I", "pacing": pacing} for pacing in PACES]
DIRECTING = calling("proposeDirections", {"directions": PACED})
CLARIFYING = calling("askClarifyingQuestions", {"questions": [{"question": "Who sees it?", "header": "Witness"}]})
MOMENTS: dict[str, list[list[Step]]] = {
    "talk reasoning": [ANSWER, ENDS],
    "talk text": [ANSWER, ENDS],
    "talk call begun": [ANSWER, ENDS],
    "talk tool-call": [ANSWER, ENDS],
    "talk tool-result": [ANSWER, ENDS],
    "talk retry": [BUSY],
    "talk asking": [EDITING],
    "talk finish": [ANSWER, ENDS],
    "talk saving": [ANSWER, ENDS],
    "talk saved": [ANSWER, ENDS],
    "write reasoning": [ANSWER, ENDS],
    "write text": [WAITING],
    "write tool-call": [ANSWER, ENDS],
    "write tool-result": [ANSWER, ENDS],
    "write retry": [BUSY],
    "write error": [BREAKS],
    "write finish": [ANSWER, ENDS],
    "plan phase": [PLAIN, ENDS],
    "plan prewriter-text": [ANSWER, ENDS],
    "plan prewriter-reset": [ANSWER, ENDS],
    "plan prewriter-directions": [DIRECTING, ENDS],
    "plan clarify-questions": [CLARIFYING],
    "plan text": [PLAIN, WAITING],
    "plan finish": [PLAIN, ENDS],
    "analyze reasoning": [REPORTING, ENDS],
    "analyze tool-call": [REPORTING, ENDS],
    "analyze tool-result": [REPORTING, ENDS],
    "analyze error": [REPORTING, BREAKS],
    "analyze finish": [REPORTING, ENDS],
    **{f"analyze write {number}": [REPORTING, ENDS] for number in range(1, len(ANALYSIS) + 1)},
}

PLANS = {"generationMode": "prewriter", "clarifyBeforeGenerate": True}

# One process that forks for each moment: starting an interpreter takes longer than all the rest.
SCRIPT = """
import json, os, shutil, signal, sys, time
from pathlib import Path
import httpx, filelock, engine.tools.tool
import engine.workspace.conversations, engine.workspace.generation, engine.workspace.passages
import engine.models.wire.http_wire
from engine import disk
from engine.workspace import Workspace

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def watched(moment):
    def event(told):
        told = told.as_json()
        if told["type"] == moment or (moment == "call begun" and told.get("phase") == "tool"):
            die()
    return event

def until(condition):
    while not condition():
        time.sleep(0.002)
    die()

def child(data, what, moment):
    engine.workspace.passages.RECORDED_EVERY = 0.01
    workspace = Workspace(data, state=data / "state")
    told = watched(moment) if not (what in ("write", "plan") and moment == "text") else None
    if moment.startswith("write "):
        left, replace = int(moment[6:]), disk._replace
        def counting(one, two, *more):
            nonlocal left
            if "state" not in Path(two).relative_to(data).parts:
                if not left:
                    die()
                left -= 1
            replace(one, two, *more)
        disk._replace = counting
    if what != "talk":
        session = workspace.session("the-quay", "librarian.analyze" if what == "analyze" else "generation.writer")
        run = workspace.generation.prepare(session, on_event=told)
        workspace.generate(run)
        parts = data / "state" / "passages"
        written = lambda: any(part.read_text() == "Half a line." for part in parts.glob("*.part"))
        until(lambda: (moment == "text" and written()) or (moment == "retry" and run.view().retry))
    talk = workspace.conversations
    store = talk.store("the-quay", "librarian.chat")
    if moment in ("saving", "saved"):
        replace = disk._replace
        def dying(one, two, *more):
            answer = Path(two).name.startswith("chat-") and b"Done." in Path(one).read_bytes()
            if answer and moment == "saving":
                die()
            replace(one, two, *more)
            if answer:
                die()
        disk._replace = dying
    known = store.read(store.summaries()[0].id)
    turn = talk.ask(store, "the-quay", known, "And now?", on_event=told)
    until(lambda: (moment == "retry" and turn.view().retry) or (moment == "asking" and turn.waiting))

for name, data in json.loads(sys.argv[1]).items():
    pid = os.fork()
    if not pid:
        signal.alarm(30)
        child(Path(data), *name.split(" ", 1))
    status = os.waitpid(pid, 0)[1]
    print(name, os.waitstatus_to_exitcode(status), sep=":")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_at_each_event_everything_holds_together(tmp_path: Path, state: Path, serve: Serve) -> None:
    begun: dict[str, Path] = {}
    before: dict[str, dict[str, tuple[bytes, int]]] = {}
    for name, scripts in MOMENTS.items():
        data = begun[name] = tmp_path / name.replace(" ", "-")
        make_story(data, settings=PLANS if name.startswith("plan ") else None)
        configure(data, serve(*scripts).base_url)
        store = conversations(data, state)
        store.create(messages=said("Who?", "Ines."))
        before[name] = tree(data)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps({name: str(data) for name, data in begun.items()})],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{name}:-9" for name in MOMENTS], done.stdout + done.stderr
    for name, data in begun.items():
        check(name, data, before[name])


def said(question: str, answer: str) -> tuple[Any, ...]:
    from engine.chat.message import answer as answered
    from engine.chat.message import question as asked

    return asked(question), answered(answer)


def conversations(data: Path, state: Path) -> ConversationStore:
    workspace = Workspace(data, state=state, journal=False)
    try:
        return workspace.conversations.store(STORY, LIBRARIAN)
    finally:
        workspace.close()


def check(name: str, data: Path, before: dict[str, tuple[bytes, int]]) -> None:
    """What must hold after a program was killed at that moment."""
    what, moment = name.split(" ", 1)
    workspace = Workspace(data, state=data / "state")
    try:
        assert workspace.doctor() == [], name
        store = workspace.conversations.store(STORY, LIBRARIAN)
        (summary,) = store.summaries()
        known = store.read(summary.id)
        changed = {
            file for file, content in tree(data).items() if before.get(file) != content and not file.startswith("state")
        }
        beside = {file for file in changed if "generation-logs" in file or file.endswith("token-usage.json")}
        left = [file.read_text("utf-8") for file in workspace.passages.left()]
        if what == "analyze":
            assert left == []
            check_analysis(workspace, data, changed - beside, moment)
            return
        if what != "talk":
            assert changed == beside, "no passage is in the story that was not kept"
            # Of a passage that is planned, the brief is kept until there is a text.
            arrived = all(any(whole.startswith(text) for whole in (WHOLE, "Done.")) for text in left)
            assert left == [TEXT] if moment == "text" else arrived and len(left) <= 1, (name, left)
            return
        assert left == []
        names = {Path(file).name for file in changed - beside}
        unfinished = {file for file in names if moment == "saving" and file.startswith(f"{known.file.name}.tmp-")}
        assert names - unfinished == {known.file.name, "conversations.json"}
        assert len(unfinished) == (moment == "saving")
        assert_goes_on(known, answered=moment == "saved")
        assert all(json.loads((data / file).read_bytes()) for file in beside)
    finally:
        workspace.close()


def check_analysis(workspace: Workspace, data: Path, changed: set[str], moment: str) -> None:
    """As many files of the analysis as were written are there, whole, in their order; the passage's text stands."""
    written = int(moment.removeprefix("write ")) if moment.startswith("write ") else 0
    root = "stories/the-quay/branches/main/"
    whole = sorted(file for file in changed if ".tmp-" not in file)
    places = [next(at for at, name in enumerate(ANALYSIS) if file.startswith(root + name)) for file in whole]
    assert sorted(places) == list(range(written)), moment
    assert all(json.loads((data / file).read_bytes()) for file in whole)
    passage = json.loads((data / root / ANALYSIS[3]).read_bytes())
    assert passage["content"] == DEFAULT_PROSE[1]
    found = workspace.analyses.latest(STORY, "main")
    assert (found is None) == (not written)
    assert found is None or (found.findings.summary, found.findings.mentions[0].text) == ("She counts.", "Ines")


def assert_goes_on(known: Conversation, *, answered: bool) -> None:
    """What was said before stands as it was; the question is there, its answer whole or not at all."""
    texts = [message.content for message in known.messages]
    assert texts[:3] == ["Who?", "Ines.", "And now?"]
    assert texts[3:] == ([WHOLE] if answered else [])
    assert (known.unanswered is None) == answered
    sent = history((*known.messages, *said("Again?", "")[:1]))
    assert [message.role for message in sent if message.role != "tool"][-1] == "user"
    if not answered:
        assert [message.content for message in sent[-3:]] == ["And now?", INTERRUPTED, "Again?"]


def test_the_server_gone_at_each_of_its_events(
    workspace: Workspace, data: Path, story: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(*given: Any, **named: Any) -> float | None:
        return None if retry_delay(*given, **named) is None else 0.0

    monkeypatch.setattr("engine.models.wire.http_wire.retry_delay", at_once)
    fragments = tree(story / "branches/main/fragments")
    talk = workspace.conversations
    store = talk.store(STORY, LIBRARIAN)
    for at in range(len(ANSWER)):
        # The second request, with what the tool gave, is one that breaks off as well.
        configure(data, serve([*ANSWER[:at], Close()], [chunk({"content": "Then"}), Close()]).base_url)
        saved = talk.ask(store, STORY, None, "And now?").saved.result(20)
        asked, answer = store.read(saved.id).messages
        arrived = "".join(("", "", "Half ", "a line.")[: min(at, 3) + 1])
        calls = at > 5
        assert (asked.content, asked.withdrawn) == ("And now?", "")
        if at:
            assert answer.content == (f"{arrived}\n\nThen" if calls else arrived or INTERRUPTED)
            assert "broke off" in answer.interrupted
            assert answer.reasoning == "Hm."
        else:
            # Before a byte it is tried again: the second script, which breaks off within the text.
            assert answer.content == "Then" and "broke off" in answer.interrupted
        assert [step.role for step in answer.steps] == (["assistant", "tool"] if calls else [])
        assert history((asked, answer))[-1].content == INTERRUPTED
        (log,) = [run for run in workspace.runs.all(STORY).runs if run.fragment_id == ""][:1]
        logged = read_log(story / "branches/main", log.id)
        assert log.failed and "broke off" in log.error and logged["generatedText"] in answer.content
    assert tree(story / "branches/main/fragments") == fragments
    assert [finding for finding in workspace.doctor() if "config.json" not in str(finding)] == []


@pytest.mark.parametrize("name", ["generation.writer", "librarian.analyze"])
def test_the_server_gone_while_a_passage_is_written_or_analyzed(
    workspace: Workspace, data: Path, story: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("engine.models.wire.http_wire.retry_delay", lambda *_, **__: None)
    answer = REPORTING if name == "librarian.analyze" else ANSWER
    fragments = tree(story / "branches/main/fragments")
    for at in range(len(answer) + 1):
        # Behind the finish it is an answer; the request after it, with what the tool gave, breaks off.
        called = at > len(answer) - 3
        configure(data, serve([*answer[:at], Close()], [Close()]).base_url)
        session = workspace.session(STORY, name)
        session.install(session.load())
        run = workspace.generation.prepare(session)
        view = workspace.generate(run).result(20)
        log = workspace.runs.log(STORY, "main", run.log_id)
        assert view.phase == "failed" and "broke off" in view.failure, at
        assert log["generatedText"] == "".join(("", "", "Half ", "a line.")[: min(at, 3) + 1])
        assert log["fragmentId"] is None
        assert "broke off" in log["stonehand"]["error"]["message"]
        assert [done["toolName"] for done in log["toolCalls"]] == [call.name for call in view.calls]
        assert len(view.calls) == called
        if name == "generation.writer":
            with pytest.raises(StonehandError, match="failed, so nothing was saved"):
                workspace.passages.keep(run)
            workspace.passages.discard(run)
        found = workspace.analyses.latest(STORY, "main")
        assert (found is not None) == (called and name == "librarian.analyze")
        assert found is None or found.findings.summary == "She counts."
    if name == "generation.writer":
        assert tree(story / "branches/main/fragments") == fragments
    assert workspace.passages.left() == []
    assert [finding for finding in workspace.doctor() if "config.json" not in str(finding)] == []
