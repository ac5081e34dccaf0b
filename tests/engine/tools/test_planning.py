"""Directions and questions: exactly as many, and the run ends with them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.tools import Direction, Host, Option, Question, Tool
from engine.tools.planning import ASK_QUESTIONS, directions_tool
from tests.engine.tools.conftest import tool_call

DIRECTION = {"title": "Wait", "description": "Nobody comes.", "instruction": "Let it get dark."}


def run(tool: Tool[Any], host: Host, **arguments: Any) -> Any:
    return asyncio.run(tool.run(tool_call("1", tool.name, arguments), host))


def test_the_prewriter_gives_exactly_three_with_their_pacing(host: Host) -> None:
    tool = directions_tool(3, paced=True)
    paced = [{**DIRECTION, "pacing": pacing} for pacing in ("linger", "continue", "end")]
    result = run(tool, host, directions=paced)
    assert (result.value, result.ends) == ({"proposed": 3}, True)
    assert host.collected.directions[2] == Direction("Wait", "Nobody comes.", "Let it get dark.", "end")
    assert host.collected.directions[0].document() == {"pacing": "linger", **DIRECTION}
    for wrong, error in (
        (paced[:2], "directions: has 2 items; at least 3 are needed"),
        (paced * 2, "directions: has 6 items; at most 3 are taken"),
        ([DIRECTION] * 3, "directions[0].pacing: is missing; directions[1].pacing: is missing;"),
        ([{**DIRECTION, "pacing": "hurry"}] * 3, "directions[0].pacing: must be one of 'linger', 'continue' or 'end'"),
    ):
        result = run(tool, host, directions=wrong)
        assert result.value["error"].startswith(error)
        assert not result.ends
    assert tool.schema["properties"]["directions"]["minItems"] == 3
    assert tool.schema["properties"]["directions"]["items"]["properties"]["pacing"]["enum"] == [
        *("linger", "continue", "end")
    ]


def test_the_directions_agent_gives_as_many_as_asked_for(host: Host) -> None:
    result = run(directions_tool(5), host, directions=[DIRECTION] * 5)
    assert result.value == {"proposed": 5}
    assert host.collected.directions[0].document() == DIRECTION
    with pytest.raises(ValueError, match="not 0"):
        directions_tool(0)


def test_questions_to_the_author(host: Host) -> None:
    result = run(
        ASK_QUESTIONS,
        host,
        questions=[
            {
                "question": "Whose eyes?",
                "header": "View",
                "options": [{"label": "Ines"}, {"label": "Tom", "description": "new"}],
            },
            {"question": "How far?", "header": "123456789012", "multiSelect": True},
        ],
    )
    assert (result.value, result.ends) == ({"asked": 2}, True)
    assert host.collected.questions == (
        Question("Whose eyes?", "View", False, (Option("Ines"), Option("Tom", "new"))),
        Question("How far?", "123456789012", True),
    )
    assert [question.document() for question in host.collected.questions] == [
        {
            "question": "Whose eyes?",
            "header": "View",
            "multiSelect": False,
            "options": [{"label": "Ines"}, {"label": "Tom", "description": "new"}],
        },
        {"question": "How far?", "header": "123456789012", "multiSelect": True},
    ]


@pytest.mark.parametrize(
    ("questions", "error"),
    [
        ([], "questions: has 0 items; at least 1 are needed"),
        ([{"question": "a", "header": "b"}] * 5, "questions: has 5 items; at most 4 are taken"),
        ([{"question": "a", "header": "1234567890123"}], "questions[0].header: must have at most 12 characters"),
        ([{"question": "", "header": "b"}], "questions[0].question: must not be empty"),
        (
            [{"question": "a", "header": "b", "options": [{"label": "c"}]}],
            "questions[0].options: has 1 items; at least 2 are needed",
        ),
        (
            [{"question": "a", "header": "b", "options": [{"label": "c"}] * 5}],
            "questions[0].options: has 5 items; at most 4 are taken",
        ),
    ],
)
def test_questions_that_are_none(host: Host, questions: list[Any], error: str) -> None:
    assert run(ASK_QUESTIONS, host, questions=questions).value == {"error": error}
    assert host.collected.questions == ()
