"""The tools that end a planning run: directions for the author to choose from, and questions to the author.

Source: spec, sections 10.3, 10.5 and 10.7.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import Field, create_model

from engine.tools.analyzing import ITEM_LIMIT, ProposedDirection
from engine.tools.collected import Direction, Option, Question
from engine.tools.host import Host
from engine.tools.schema import FROM_TEXT, ToolInput
from engine.tools.tool import Tool, ToolResult

PREWRITER_DIRECTIONS: Final = 3
DIRECTIONS_LIMIT: Final = 12
"""How many directions can be asked for."""


class PacedDirection(ProposedDirection):
    pacing: Literal["linger", "continue", "end"] = Field(
        description="Whether it stays with the scene, goes on, or brings the scene to its end."
    )


class OptionInput(ToolInput):
    label: str = Field(min_length=1, max_length=100, description="The answer, in a few words.")
    description: str = Field("", max_length=500, description="What choosing it means.")


class QuestionInput(ToolInput):
    question: str = Field(min_length=1, max_length=ITEM_LIMIT, description="The question, about one decision.")
    header: str = Field(min_length=1, max_length=12, description="What it is about, in at most 12 characters.")
    multiSelect: bool = Field(False, description="Whether several of the answers may be chosen.")
    options: Annotated[list[OptionInput] | None, FROM_TEXT] = Field(
        None, min_length=2, max_length=4, description="Answers to choose from, where that helps."
    )


class AskClarifyingQuestions(ToolInput):
    questions: Annotated[list[QuestionInput], FROM_TEXT] = Field(
        min_length=1, max_length=4, description="The questions to the author."
    )


@cache
def directions_tool(count: int, *, paced: bool = False) -> Tool[Any]:
    """`proposeDirections` for exactly `count` directions (1 to 12), each with its pacing for the prewriter."""
    if not 1 <= count <= DIRECTIONS_LIMIT:
        raise ValueError(f"1 to {DIRECTIONS_LIMIT} directions can be asked for, not {count}")
    item = PacedDirection if paced else ProposedDirection
    told = f"Exactly {count}, unlike one another."
    model: type[ToolInput] = create_model(
        "ProposeDirections",
        __base__=ToolInput,
        directions=(_list_of(item), Field(min_length=count, max_length=count, description=told)),
    )
    return Tool("proposeDirections", model, _propose)


def _list_of(item: type[ToolInput]) -> Any:
    return Annotated[list[item], FROM_TEXT]  # type: ignore[valid-type]


def _propose(given: Any, host: Host) -> ToolResult:
    host.collected.directions = tuple(
        Direction(item.title, item.description, item.instruction, getattr(item, "pacing", ""))
        for item in given.directions
    )
    return ToolResult({"proposed": len(given.directions)}, ends=True)


def _ask(given: AskClarifyingQuestions, host: Host) -> ToolResult:
    host.collected.questions = tuple(
        Question(
            item.question,
            item.header,
            item.multiSelect,
            tuple(Option(option.label, option.description) for option in item.options or ()),
        )
        for item in given.questions
    )
    return ToolResult({"asked": len(given.questions)}, ends=True)


ASK_QUESTIONS: Final = Tool("askClarifyingQuestions", AskClarifyingQuestions, _ask)
