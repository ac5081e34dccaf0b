"""Whom a character talks to, as a conversation keeps it: `{type: stranger | character | custom, …}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.agents.sources import Persona, PersonaKind
from engine.errors import NotFound, WrongInput
from engine.story import StorySnapshot
from engine.text import Phrase, is_blank


@dataclass(frozen=True, slots=True)
class PersonaChoice:
    """A stranger, the character with the id `character`, or whoever `prompt` describes."""

    kind: PersonaKind = "stranger"
    character: str = ""
    prompt: str = ""

    def persona(self, snapshot: StorySnapshot) -> Persona:
        """Who that is in the story as it is now. Raises `NotFound` for a character that is not there, `WrongInput` for
        a description that says nothing.
        """
        if self.kind == "custom":
            if is_blank(self.prompt):
                raise WrongInput("nothing is said of whom the character talks to", repair="describe them")
            return Persona("custom", prompt=self.prompt)
        if self.kind == "stranger":
            return Persona()
        fragment = snapshot.get(self.character)
        if fragment is None:
            raise NotFound(
                Phrase(
                    "the character {character} that you speak as is not in the story",
                    character=self.character or "(none)",
                ),
                repair="choose another persona",
            )
        return Persona("character", fragment.name, fragment.description)


STRANGER: Final = PersonaChoice()


def dump_persona(choice: PersonaChoice) -> dict[str, Any]:
    """A persona as the files of the reference have it."""
    if choice.kind == "character":
        return {"type": "character", "characterId": choice.character}
    if choice.kind == "custom":
        return {"type": "custom", "prompt": choice.prompt}
    return {"type": "stranger"}


def read_persona(value: Any) -> PersonaChoice:
    """The persona in a JSON value; a stranger where it says none."""
    if isinstance(value, Mapping):
        character, prompt = value.get("characterId"), value.get("prompt")
        if value.get("type") == "character" and isinstance(character, str):
            return PersonaChoice("character", character)
        if value.get("type") == "custom" and isinstance(prompt, str):
            return PersonaChoice("custom", prompt=prompt)
    return STRANGER
