"""What a script block finds in `ctx` for an agent: the context state, and what only agents have.

Source: seed, "AgentBlockContext"; spec, section 7. A field that the run has no source for is undefined, as there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any

from engine.agents import sections
from engine.agents.character_chat import persona_text
from engine.agents.definition import AgentInput
from engine.context import ScriptField, ScriptFunction, fragment_list, script_fields
from engine.disk import compact_json
from engine.story import Fragment
from engine.story.fragment import json_text


def agent_script_fields(given: AgentInput) -> tuple[dict[str, ScriptField], dict[str, ScriptFunction]]:
    """The fields and functions of `ctx`; nothing is made until a script asks for it, and then once."""
    fields, functions = script_fields(given.state, given.snapshot)
    snapshot, sources = given.snapshot, given.sources

    def listed(find: Callable[[], Iterable[Fragment]]) -> ScriptField:
        return cache(lambda: fragment_list(find()))

    def value(make: Callable[[], Any]) -> ScriptField:
        return cache(lambda: [compact_json(make())])

    fields |= {
        "systemPromptFragments": listed(lambda: sections.librarian_fragments(snapshot)),
        "allCharacters": listed(lambda: snapshot.of_type("character")),
        "allKnowledge": listed(lambda: snapshot.of_type("knowledge")),
        "disabledTools": value(lambda: list(given.disabled_tools)),
        "enabledTools": value(lambda: list(given.enabled_tools)),
    }
    if given.model is not None:
        fields["modelId"] = value(lambda: given.model)
    if (target := sources.target) is not None:
        fields["targetFragment"] = cache(lambda: [json_text(target)])
    if (character := sources.character) is not None:
        fields["character"] = cache(lambda: [json_text(character)])
        fields["personaDescription"] = value(lambda: persona_text(given))
    if (passage := sources.new_prose) is not None:
        fields["newProse"] = value(lambda: {"id": passage.id, "content": passage.content})
    if sources.instructions:
        fields["instructions"] = value(lambda: sources.instructions)
    if (span := sources.selection) is not None:
        texts = {
            "operation": span.operation,
            "guidance": span.guidance,
            "selectedText": span.text,
            "sourceContent": span.source,
            "contextBefore": span.before,
            "contextAfter": span.after,
        }
        fields |= {name: value(partial(str, text)) for name, text in texts.items()}
    return fields, functions
