"""What a script block finds in `ctx` beside the context state (seed, "AgentBlockContext"; spec, section 7)."""

from __future__ import annotations

import json
from typing import Any

from engine.agents import agent
from engine.agents.script import agent_script_fields
from engine.agents.sources import Persona, Selection
from tests.engine.agents.making import input_of
from tests.engine.story_builder import StoryBuilder


def fields_of(story: StoryBuilder, name: str, **values: Any) -> dict[str, Any]:
    fields, _ = agent_script_fields(input_of(story, agent(name), "Go on.", **values))
    return {key: json.loads("".join(field())) for key, field in fields.items()}


def test_every_agent_has_the_state_and_its_tools(story: StoryBuilder) -> None:
    story.add("ch-ines12", "character", sticky=True)
    story.add("kn-law123", "knowledge", archived=True)
    tagged = {"pass-to-librarian-system-prompt": ["kn-law123"]}
    story.write("branches/main/associations.json", {"tagIndex": tagged, "refIndex": {}})
    found = fields_of(story, "librarian.analyze", without=("readFragments",))
    assert (found["authorInput"], found["story"]["name"]) == ("Go on.", "Tide House")
    assert [item["id"] for item in found["stickyCharacters"]] == ["ch-ines12"]
    assert [item["id"] for item in found["allCharacters"]] == ["ch-ines12"]
    assert found["allKnowledge"] == []
    assert [item["id"] for item in found["systemPromptFragments"]] == ["kn-law123"]
    assert found["disabledTools"] == ["readFragments"]
    assert found["enabledTools"] == [tool for tool in agent("librarian.analyze").tools if tool != "readFragments"]
    absent = {"newProse", "targetFragment", "character", "personaDescription", "selectedText", "operation", "modelId"}
    assert not absent & set(found)


def test_what_a_run_is_about(story: StoryBuilder) -> None:
    story.add("ch-ines12", "character", name="Ines")
    story.add("pr-first1", "prose", content="First.")
    snapshot = story.snapshot()
    ines, passage = snapshot.get("ch-ines12"), snapshot.get("pr-first1")
    found = fields_of(story, "librarian.analyze", new_prose=passage, model="m-1")
    assert (found["newProse"], found["modelId"]) == ({"id": "pr-first1", "content": "First."}, "m-1")
    found = fields_of(story, "librarian.refine", target=ines, instructions="Older.")
    assert (found["targetFragment"]["name"], found["instructions"]) == ("Ines", "Older.")
    found = fields_of(story, "character-chat.chat", character=ines, persona=Persona("custom", prompt="The sea."))
    assert found["character"]["id"] == "ch-ines12"
    assert found["personaDescription"].endswith("The sea.")
    span = Selection("custom", "span", "source", "guidance", "before", "after")
    found = fields_of(story, "librarian.prose-transform", selection=span)
    assert {key: found[key] for key in ("operation", "selectedText", "sourceContent", "guidance")} == {
        "operation": "custom",
        "selectedText": "span",
        "sourceContent": "source",
        "guidance": "guidance",
    }
    assert (found["contextBefore"], found["contextAfter"]) == ("before", "after")
