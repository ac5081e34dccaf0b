"""What holds for every agent, whatever the story and whatever the run is about."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.agents import AgentDefinition, Sources, agents
from engine.agents.sources import Persona, Planning, Selection, Signal
from engine.blocks.config import EMPTY
from tests.engine.agents.making import input_of
from tests.engine.story_builder import StoryBuilder

TYPES = ("guideline", "knowledge", "character", "place", "prose", "summary", "marker", "image")
FRAGMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(TYPES),
            "sticky": st.booleans(),
            "placement": st.sampled_from(["system", "user", "nowhere"]),
            "content": st.sampled_from(["", "Text.", "\n## Heading\n\n\n\nText.\n", "x" * 700]),
            "archived": st.booleans(),
        }
    ),
    max_size=12,
)
SETTINGS = st.fixed_dictionaries(
    {
        "generationMode": st.sampled_from(["standard", "prewriter"]),
        "clarifyBeforeGenerate": st.booleans(),
        "enableHierarchicalSummary": st.booleans(),
        "customFragmentTypes": st.just([{"type": "place", "name": "Places"}]),
    }
)


@st.composite
def sources(draw: st.DrawFn, ids: list[str]) -> dict[str, Any]:
    """Names of fragments stand for them; the test looks them up."""
    chosen = st.none() | st.sampled_from(ids) if ids else st.none()
    texts = st.sampled_from(["", " \n", "Some words."])
    return {
        "brief": draw(st.none() | texts),
        "planning": draw(st.builds(Planning, st.sampled_from(["generate", "refine"]), round=st.integers(0, 4))),
        "new_prose": draw(chosen),
        "target": draw(chosen),
        "character": draw(chosen),
        "instructions": draw(texts),
        "selection": draw(
            st.none() | st.builds(Selection, st.sampled_from(["rewrite", "custom"]), texts, texts, texts)
        ),
        "persona": draw(st.builds(Persona, st.sampled_from(["stranger", "character", "custom"]), texts, texts, texts)),
        "signals": tuple(
            Signal(item, "router") for item in draw(st.lists(st.sampled_from(ids), max_size=3) if ids else st.just([]))
        ),
    }


@pytest.mark.parametrize("definition", agents(), ids=lambda definition: definition.name)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_blocks_and_slots_agree(
    tmp_path_factory: pytest.TempPathFactory, definition: AgentDefinition, data: st.DataObject
) -> None:
    story = StoryBuilder(tmp_path_factory.mktemp("story") / "tide-house")
    story.meta(data.draw(SETTINGS))
    ids = []
    for number, fields in enumerate(data.draw(FRAGMENTS)):
        ids.append(f"fr-number{number:02}")
        story.add(ids[-1], fields.pop("type"), **fields)
    chained = [item for item in ids if data.draw(st.booleans())]
    if chained:
        story.chain(*chained)
    snapshot = story.snapshot()
    values = data.draw(sources(ids))
    for name in ("new_prose", "target", "character"):
        values[name] = snapshot.get(values[name]) if values[name] else None
    without = tuple(tool for tool in definition.tools if data.draw(st.booleans()))
    writer = data.draw(st.sampled_from([None, EMPTY]))
    made = input_of(
        story, definition, data.draw(st.sampled_from(["", "Go on."])), without=without, **values, writer_config=writer
    )

    blocks, slots = definition.build(made), definition.slots(made)
    assert definition.build(made) == blocks, "building is pure"
    assert len({block.id for block in blocks}) == len(blocks)
    assert len({slot.id for slot in slots}) == len(slots)
    present = {block.id for block in blocks}
    assert [(block.id, block.role, block.order) for block in blocks] == [
        (slot.id, slot.role, slot.order) for slot in slots if slot.id in present
    ]
    for slot in slots:
        assert slot.id in present or slot.reason, f"{slot.id} is absent without a reason"
    assert all(block.source == "builtin" and block.name is None for block in blocks)
    for block in blocks:
        assert block.content == block.content.strip("\n"), "no blank lines at a seam"
        assert not block.content.startswith("[@block=")
    hash(Sources(**values))  # the bases of prompts are kept by it
