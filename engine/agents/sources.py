"""What one run of an agent is about, beyond the story: the passage analysed, the fragment refined, the span selected …

A preview has what a run would take by itself, and what its author chooses. Of the rest, each agent says in its blocks
what will stand there, or leaves the block out and says why.

Source: seed, "AgentBlockContext"; spec, sections 4.3, 4.4 and 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from engine.context import newest_passage
from engine.story import Fragment, StorySnapshot
from engine.text import is_blank

PlanningMode = Literal["generate", "regenerate", "refine"]
Operation = Literal["rewrite", "expand", "compress", "custom"]
PersonaKind = Literal["stranger", "character", "custom"]
SignalSource = Literal["current-observation", "router", "writer-context"]

CLARIFYING_ROUNDS = 3
"""How often the prewriter may ask the author back for one passage (spec, section 10.5)."""


@dataclass(frozen=True, slots=True)
class Planning:
    """What the prewriter is to plan: a passage of its own, another version of one, or a revision.

    `clarifications` are the questions it has asked and the author's answers; `round` counts the times it has asked.
    """

    mode: PlanningMode = "generate"
    clarifications: tuple[tuple[str, str], ...] = ()
    round: int = 0


@dataclass(frozen=True, slots=True)
class Signal:
    """Why a fragment deserves attention in an analysis: it seems to occur, or the writer had it in context."""

    fragment_id: str
    source: SignalSource


@dataclass(frozen=True, slots=True)
class Selection:
    """A span of prose to transform. `source` is the whole section; `before` and `after` are what surrounds `text`."""

    operation: Operation
    text: str
    source: str = ""
    guidance: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Persona:
    """Whom a character talks to: a stranger, a character with `name` and `description`, or whoever `prompt` says."""

    kind: PersonaKind = "stranger"
    name: str = ""
    description: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """Everything a run can be about; an agent looks at what concerns it.

    `brief` is the prewriter's text for the writer; `planning` what the prewriter plans; `new_prose` the passage to be
    analysed and `signals` why fragments matter to it; `target` the fragment to refine or the character to optimize,
    with the author's `instructions`; `selection` the span to transform; `character` who is talked to, by `persona`;
    `replaced` the passage that another version is written of, which is not part of the context then;
    `story_point` the id of the last section that the character knows of, None for all of the story.
    """

    brief: str | None = None
    planning: Planning = Planning()
    new_prose: Fragment | None = None
    signals: tuple[Signal, ...] = ()
    target: Fragment | None = None
    instructions: str = ""
    selection: Selection | None = None
    character: Fragment | None = None
    persona: Persona = Persona()
    replaced: Fragment | None = None
    story_point: str | None = None


NO_SOURCES = Sources()


@dataclass(frozen=True, slots=True)
class Subject:
    """The fragment that a run of an agent is about: of one of `types` (none: of any), and `sources` is what the run is
    told when it is chosen, together with the author's words. `unchosen` is the one that it is where none is chosen, in
    a run as in a preview; None where one has to be chosen.
    """

    types: tuple[str, ...]
    sources: Callable[[Fragment, str], Sources]
    unchosen: Callable[[StorySnapshot], Fragment | None] | None = None


TARGET = Subject((), lambda fragment, said: Sources(target=fragment, instructions=said))
TARGET_CHARACTER = Subject(("character",), lambda fragment, said: Sources(target=fragment, instructions=said))
CHARACTER = Subject(("character",), lambda fragment, _said: Sources(character=fragment))
NEW_PROSE = Subject(("prose",), lambda fragment, _said: Sources(new_prose=fragment), newest_passage)
SECTION = Subject(
    ("prose",),
    lambda fragment, said: Sources(
        selection=Selection("rewrite" if is_blank(said) else "custom", fragment.content, fragment.content, said)
    ),
)
"""A whole section of prose as the span that is selected."""
