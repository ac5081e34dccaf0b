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
from tests.stories import make_story

ROOT = Path(__file__).parents[3]
LIBRARIAN = "librarian.chat"
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
    "write text": [WAITING],
    "write finish": [ANSWER, ENDS],
}

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
    told = watched(moment) if not (what == "write" and moment == "text") else None
    if what == "write":
        session = workspace.session("the-quay", "generation.writer")
        run = workspace.generation.prepare(session, on_event=told)
        workspace.generate(run)
        parts = data / "state" / "passages"
        until(lambda: any(part.read_text() == "Half a line." for part in parts.glob("*.part")))
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
        make_story(data)
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
        if what == "write":
            assert changed == beside, "no passage is in the story that was not kept"
            assert left == [TEXT] if moment == "text" else all(WHOLE.startswith(text) for text in left)
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
