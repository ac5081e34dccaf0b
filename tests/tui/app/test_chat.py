"""Talking with an agent: sending, stopping, retrying, and looking after conversations."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.budget import OverBudget
from engine.chat import Conversation
from engine.models.wire.base import Failure
from engine.workspace.conversations import Conversations
from engine.workspace.wires import Wires
from tests.chatting import RENAMING, Scripted
from tests.tui.app.providers import write_providers
from tests.tui.conftest import Open
from tests.tui.editor import Editor, control_characters
from tui.screens.chat import ChatScreen
from tui.screens.choice import ChoiceDialog
from tui.screens.conversations import ConversationsDialog, TitleDialog
from tui.screens.name import NameDialog
from tui.screens.pick import PickDialog
from tui.screens.plan import PlanDialog
from tui.screens.prompt import PromptScreen
from tui.widgets.bars import KeyBar

LIBRARIAN = "librarian.chat"
CHARACTER = "character-chat.chat"


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(*scripts: list[Any]) -> None:
        wire = Scripted(*scripts)
        monkeypatch.setattr(Wires, "of", lambda *_, **__: wire)

    return use


def screen(ed: Editor) -> ChatScreen:
    front = ed.app.screen
    assert isinstance(front, ChatScreen)
    return front


def conversations(ed: Editor, agent: str = LIBRARIAN) -> list[Conversation]:
    store = ed.workspace.conversations.store("the-quay", agent)
    return [store.read(item.id) for item in store.summaries()]


async def talking(ed: Editor, agent: str = LIBRARIAN) -> ChatScreen:
    await ed.desk.open_story("the-quay", None, agent)
    await ed.until(lambda: ed.desk.session is not None and ed.session.agent == agent and ed.session.rows)
    await ed.press("c")
    await ed.until(lambda: isinstance(ed.app.screen, ChatScreen | PickDialog), "the conversation")
    found = next(item for item in ed.app.screen_stack if isinstance(item, ChatScreen))
    await ed.until(lambda: found._model, "the conversations")
    return found


async def answered(ed: Editor) -> None:
    await ed.until(lambda: screen(ed)._known is not None and screen(ed)._turn is None, "the answer")


async def test_sent_answered_and_back(editor: Open, scripted: Callable[..., None]) -> None:
    scripted(["There are \x1b[31mnine.\n", "船と九"])
    async with editor(size=(80, 24)) as ed:
        await talking(ed)
        assert ed.focus == "message" and ed.shows("Nothing was said yet.")
        await ed.type("How many")
        await ed.press("ctrl+j")
        await ed.type("boats?")
        await ed.press("enter")
        await answered(ed)
        assert ed.shows("How many") and ed.shows("nine.") and ed.shows("船と九") and ed.shows("done")
        assert not control_characters(ed.lines()) and screen(ed).input.value == ""
        (known,) = conversations(ed)
        assert [item.content for item in known.messages] == ["How many\nboats?", "There are \x1b[31mnine.\n船と九"]
        await ed.press("escape", "p")
        await ed.until(lambda: isinstance(ed.app.screen, PromptScreen))
        await ed.press("escape")
        await ed.until(lambda: isinstance(ed.app.screen, ChatScreen))
        await ed.press("escape")
        await ed.until(lambda: ed.app.screen is ed.desk)


async def test_other_agents_say_who_can_be_talked_with(editor: Open) -> None:
    async with editor() as ed:
        await ed.press("c")
        await ed.until(lambda: "not talked with; these are: Librarian Chat, Character Chat" in ed.said)


async def test_stopped_left_and_gone_on_with(editor: Open, scripted: Callable[..., None]) -> None:
    scripted(["Nine", ...], ["Ten", ...])
    async with editor() as ed:
        await talking(ed)
        await ed.type("How many?")
        await ed.press("enter")
        await ed.until(lambda: ed.shows("Nine"))
        await ed.type("And")
        await ed.press("enter")
        await ed.until(lambda: "stop it first" in ed.said)
        bar = ed.app.screen.query_one(KeyBar)
        bar.say("")
        at = next(start for start, _, _, action in bar._placed() if action.id == "stop-answer")
        await ed.pilot.click(KeyBar, offset=(at + 1, 0))
        await answered(ed)
        assert ed.shows("broke off: stopped") and screen(ed).input.value == "And"
        await ed.press("ctrl+r")
        await ed.until(lambda: ed.shows("Ten"))
        await ed.press("escape", "escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        again = await talking(ed)
        assert again.input.value == "And" and again.answering, "what was being written, and the answer, go on"
        await ed.press("ctrl+x")
        await answered(ed)
        assert [item.interrupted for item in conversations(ed)[0].messages] == ["", "stopped", "", "stopped"]


async def test_a_refused_question_is_told_whole_and_sent_again(editor: Open, scripted: Callable[..., None]) -> None:
    scripted([Failure("bad_request", "mine: HTTP 400 [bold]too odd")], ["Nine."])
    async with editor() as ed:
        await talking(ed)
        await ed.type("How many?")
        await ed.press("enter")
        await answered(ed)
        assert ed.shows("not sent: mine: HTTP 400 [bold]too odd")
        await ed.until(lambda: ed.toasts and "[bold]too odd" in ed.toasts[-1], "the notice")
        await ed.press("ctrl+r")
        await ed.until(lambda: ed.shows("Nine."))
        await answered(ed)
        assert not ed.shows("not sent") and len(conversations(ed)[0].messages) == 2


async def test_changes_are_shown_and_accepted(editor: Open, scripted: Callable[..., None]) -> None:
    scripted(RENAMING, ["Done so."])
    async with editor(size=(80, 24)) as ed:
        await talking(ed)
        await ed.press("f8")
        await ed.until(lambda: ed.said == "no changes wait")
        await ed.type("She counts once.")
        await ed.press("enter")
        await ed.until(lambda: ed.shows("one change to the story waits"))
        await ed.press("f8")
        await ed.until(lambda: isinstance(ed.app.screen, PlanDialog))
        await ed.until(lambda: ed.shows("+ Harbour clerk. Counts.") and ed.shows("She said so."))
        await ed.press("a")
        await ed.until(lambda: isinstance(ed.app.screen, ChatScreen))
        await answered(ed)
        assert ed.shows("Done so.") and ed.shows("▸ ")
        file = ed.workspace.data / "stories/the-quay/branches/main/fragments/ch-bafego.json"
        assert json.loads(file.read_bytes())["content"] == "Harbour clerk. Counts."
        ed.app.screen.query_one(KeyBar).say("")
        await ed.until(lambda: ed.shows("f7 take back"))
        await ed.press("f7")
        await ed.until(lambda: ed.said == "taken back: Ines (ch-bafego)")
        assert json.loads(file.read_bytes())["content"] == "Harbour clerk. Counts everything twice."
        await ed.until(lambda: not ed.app.screen.check_action("chat_take_back", ()))


async def test_conversations_are_looked_after(editor: Open, scripted: Callable[..., None]) -> None:
    scripted(["One."], ["Two."])
    async with editor(size=(80, 24)) as ed:
        await talking(ed)
        for text in ("First", "Second"):
            await ed.press("ctrl+n")
            await ed.until(lambda: screen(ed)._known is None)
            await ed.type(text)
            await ed.press("enter")
            await answered(ed)
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog))
        await ed.press("down", "r")
        await ed.until(lambda: isinstance(ed.app.screen, TitleDialog))
        await ed.type("!")
        await ed.press("enter")
        await ed.until(lambda: {item.title for item in conversations(ed)} == {"First!", "Second"})
        await ed.until(lambda: isinstance(ed.app.screen, ChatScreen))
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog))
        await ed.press("X")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("u")
        await ed.until(lambda: len(conversations(ed)) == 2)
        await ed.until(lambda: isinstance(ed.app.screen, ChatScreen))
        await ed.press("ctrl+o")
        await ed.until(lambda: isinstance(ed.app.screen, ConversationsDialog))
        await ed.pilot.click("#delete")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("escape")
        await ed.until(lambda: len(conversations(ed)) == 1)
        left = conversations(ed)[0].id
        await ed.until(lambda: screen(ed)._known is not None and screen(ed)._known.id == left)


async def test_a_character_is_chosen_and_a_persona(editor: Open, scripted: Callable[..., None]) -> None:
    scripted(["Good day."])
    async with editor(size=(40, 12)) as ed:
        await talking(ed, CHARACTER)
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, ChatScreen))
        await ed.type("Hello")
        await ed.press("enter")
        await answered(ed)
        assert ed.shows("Ines") and ed.shows("Good day.")
        await ed.press("escape", "w")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("end", "enter")
        await ed.until(lambda: isinstance(ed.app.screen, TitleDialog))
        await ed.type("An inspector")
        await ed.press("enter")
        await ed.until(lambda: conversations(ed, CHARACTER)[0].persona.prompt == "An inspector")
        await ed.until(lambda: ed.shows("speaking with An inspector"))


async def test_another_model_answers_until_the_program_ends(
    editor: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[object, object]] = []
    wire = Scripted(["Nine."])

    def of(_: Wires, __: object, provider: object = None, *, model: object = None, **___: object) -> Scripted:
        asked.append((provider, model))
        return wire

    monkeypatch.setattr(Wires, "of", of)
    write_providers(tmp_path / "config")
    async with editor(size=(120, 30)) as ed:
        shown = await talking(ed)
        assert "far · gpt-4" in ed.lines()[0]
        await ed.press("ctrl+t")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        assert ed.shows("as it is set now: far · gpt-4")
        await ed.press("down", "enter")
        await ed.until(lambda: isinstance(ed.app.screen, NameDialog))
        await ed.type("gpt-4o")
        await ed.press("enter")
        await ed.until(lambda: ed.app.screen is shown and "far · gpt-4o" in ed.lines()[0])
        await ed.type("How many?")
        await ed.press("enter")
        await answered(ed)
        assert set(asked) == {("far", "gpt-4o")}
        await ed.press("escape", "escape")
        await ed.until(lambda: ed.app.screen is ed.desk)
        await talking(ed)
        assert "far · gpt-4o" in ed.lines()[0]
        await ed.press("ctrl+t")
        await ed.until(lambda: isinstance(ed.app.screen, PickDialog))
        await ed.press("enter")
        await ed.until(lambda: ed.lines()[0].rstrip().endswith("far · gpt-4"))
        assert ed.app.run_with == {}


async def test_the_beginning_is_summarised_when_it_is_confirmed(
    editor: Open, scripted: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    long = "word " * 400
    scripted([long], ["Two."], [...], ["They counted."])
    async with editor(size=(80, 24)) as ed:
        await talking(ed)
        await ed.press("f2")
        await ed.until(lambda: "nothing is left to summarise" in ed.said)
        for text in ("one", "two"):
            await ed.type(text)
            await ed.press("enter")
            await answered(ed)
        await ed.press("f2")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog) and ed.shows("Have the beginning summarised?"))
        assert ed.shows("first 2 messages")
        await ed.press("enter")
        await ed.until(lambda: isinstance(ed.app.screen, ChatScreen))
        assert conversations(ed)[0].summary is None, "enter alone does nothing"
        await ed.press("f2")
        await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog))
        await ed.press("c")
        await ed.until(lambda: ed.shows("being summarised: ctrl+x stops"))
        await ed.press("ctrl+x")
        await ed.until(lambda: "the conversation is as it was" in ed.said)

        def over(*_: Any, **__: Any) -> None:
            raise OverBudget("not sent: it does not fit", repair="stonehand chat --compact")

        with monkeypatch.context() as patched:
            patched.setattr(Conversations, "_check_budget", over)
            await ed.type("three")
            await ed.press("enter")
            await ed.until(lambda: isinstance(ed.app.screen, ChoiceDialog) and ed.shows("f2 has its beginning"))
            assert not ed.shows("--compact")
            await ed.press("c")
            await ed.until(lambda: ed.shows("Have the beginning summarised?"))
        await ed.press("c")
        await ed.until(lambda: "are sent as a summary: ~" in ed.said)
        summary = conversations(ed)[0].summary
        assert summary is not None and (summary.text, summary.count) == ("They counted.", 2)
        assert ed.shows("Two.") and screen(ed).input.value == "three"
