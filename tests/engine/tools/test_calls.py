"""What a model is told of a tool, and what it gets back for a call that is none."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import Problem
from engine.models.wire import anthropic_messages, openai_chat
from engine.models.wire.base import ChatMessage, Request
from engine.models.wire.parts import assistant_message
from engine.text import Phrase
from engine.tools import Host, Tool, ToolInput, ToolResult, logged_arguments, run_call
from engine.tools.offering import CORE
from engine.tools.planning import directions_tool
from engine.tools.schema import INPUT_LIMIT, WrongCall, checked_input
from engine.tools.tool import RESULT_LIMIT, told
from tests.engine.models.wire.making import profile
from tests.engine.story_builder import StoryBuilder
from tests.engine.tools.conftest import Call, tool_call

ALL = (*CORE.values(), directions_tool(3, paced=True))


def keys(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        inner = [keys(value) for key, value in schema.items() if key != "properties"]
        return set(schema).union(*inner, *map(keys, properties.values()))
    return set().union(*map(keys, schema)) if isinstance(schema, list) else set()


@pytest.mark.parametrize("tool", ALL, ids=lambda tool: tool.name)
def test_a_schema_is_plain(tool: Tool[Any]) -> None:
    schema = dict(tool.schema)
    assert schema["type"] == "object"
    assert set(schema["properties"]) == set(tool.input.model_fields)
    assert not keys(schema) & {"$ref", "$defs", "title", "anyOf", "oneOf", "const", "additionalProperties"}
    assert "null" not in json.dumps(schema)
    assert tool.description
    for name, field in schema["properties"].items():
        assert field.get("description"), name


def test_the_schema_of_an_edit() -> None:
    schema = CORE["editProse"].schema
    edits = schema["properties"]["edits"]
    assert schema["required"] == ["edits"]
    assert (edits["type"], edits["minItems"]) == ("array", 1)
    assert edits["items"]["required"] == ["oldText", "newText"]
    assert edits["items"]["properties"]["occurrence"]["type"] == "integer"
    assert edits["items"]["properties"]["replaceAll"]["default"] is True


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("readFragments", "", "fragmentIds: is missing"),
        ("readFragments", "{", "not valid JSON: expecting property name"),
        ("readFragments", "[1]", "the arguments must be a JSON object"),
        ("readFragments", "[" * 100_000, "nested too deeply"),
        ("readFragments", '{"fragmentIds": []}', "fragmentIds: has 0 items; at least 1 are needed"),
        ("readFragments", {"fragmentIds": ["x"] * 31}, "fragmentIds: has 31 items; at most 30 are taken"),
        ("readFragments", {"fragmentIds": "ch-bafego"}, "fragmentIds: must be a list"),
        ("readFragments", {"fragmentIds": [1]}, "fragmentIds[0]: must be a text"),
        ("readFragments", {"ids": ["a"]}, "ids: is no parameter of this tool; it takes fragmentIds"),
        ("findFragments", {"query": ""}, "query: must not be empty"),
        ("findFragments", {"query": "a", "limit": 101}, "limit: must be at most 100"),
        ("findFragments", {"query": "a", "limit": "many"}, "limit: must be a whole number"),
        ("findFragments", {"query": "a", "fields": ["meta"]}, "fields[0]: must be one of 'name', 'description' or"),
        ("editProse", {"edits": [{"oldText": "a"}]}, "edits[0].newText: is missing"),
        ("editProse", '{"edits": [{"oldText": "a", "newText": "\\ud83c"}]}', "edits[0].newText: holds half"),
        (
            "editFragments",
            {"operations": [{"op": "set_fields", "fragmentId": "x"}]},
            "operations[0]: baseHash is missing",
        ),
        ("editFragments", {"operations": [{"op": "burn"}]}, "operations[0].op: must be one of"),
        (
            "editFragments",
            {"operations": [{"op": "archive_fragment", "fragmentId": "x", "content": "y"}]},
            "operations[0]: archive_fragment takes no content; it takes fragmentId",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_the_field(call: Call, name: str, arguments: Any, error: str) -> None:
    result = call(name, arguments)
    assert result.failed
    assert error in result.value["error"]
    assert "\n" not in result.value["error"]
    assert json.loads(result.text) == result.value


def test_null_is_left_out_and_lists_may_come_as_text(call: Call) -> None:
    result = call("findFragments", '{"query": "light", "types": null, "fields": "[\\"name\\"]", "limit": "2"}')
    assert [item["id"] for item in result.value["matches"]] == ["kn-mirafa"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_nothing_a_model_sends_raises_anything_else(value: Any) -> None:
    for tool in ALL:
        for arguments in (value, json.dumps(value), dict.fromkeys(tool.input.model_fields, value)):
            try:
                checked_input(tool.input, arguments)
            except WrongCall as error:
                assert "\n" not in str(error)


def test_sizes_are_bounded(call: Call) -> None:
    result = call("findFragments", json.dumps({"query": "x" * INPUT_LIMIT}))
    assert "at most 1000000 are taken" in result.value["error"]
    assert ToolResult({"x": "y" * RESULT_LIMIT}).text.startswith('{"error":"the result is 200008 characters long')


class Any_(ToolInput):
    pass


def test_a_tool_that_is_broken_is_a_result(host: Host) -> None:
    def broken(given: Any_, host: Host) -> ToolResult:
        raise ZeroDivisionError("by\nzero")

    def odd(given: Any_, host: Host) -> Any:
        return {"a": 1}

    def run(handle: Any) -> Any:
        return asyncio.run(Tool("mine", Any_, handle, "Mine.").run(tool_call("1", "mine"), host)).value

    assert run(broken) == {"error": "mine failed: ZeroDivisionError: by zero"}
    assert run(odd) == {"error": "mine gave no result"}


def test_a_tool_that_was_not_offered(host: Host) -> None:
    offered = (CORE["readFragments"], CORE["listFragments"])
    result = asyncio.run(run_call(tool_call("1", "editProse", {}), offered, host))
    assert result.value == {"error": "there is no tool editProse; tools: readFragments, listFragments"}
    result = asyncio.run(run_call(tool_call("1", "listFragments"), offered, host))
    assert result.value["total"] == 9


def test_an_error_tells_no_path_of_the_machine(story: StoryBuilder, call: Call) -> None:
    (story.path / "meta.json").write_bytes(b"{")
    error = call("readStorySummary").value["error"]
    assert error.startswith("the story's settings: is not valid JSON")
    assert str(story.path) not in error and "text editor" not in error


def test_a_fragment_that_can_not_be_written_is_called_by_its_id(story: StoryBuilder, call: Call) -> None:
    file = story.add("kn-mirafa", "knowledge", content="The light.")
    twice = file.read_text("utf-8").replace('"meta": {}', '"note": 1,\n  "note": 2')
    file.write_text(twice, "utf-8")
    operation = {"op": "replace_text", "fragmentId": "kn-mirafa", "oldText": "light", "newText": "lamp"}
    (result,) = call("editFragments", operations=[operation]).value["results"]
    assert result["status"] == "failed"
    assert result["error"].startswith('fragment kn-mirafa: the key "note" stands in one object more than once')
    assert "text editor" not in result["error"] and file.read_text("utf-8") == twice
    problem = Problem(Phrase("leads out of {root} through a link", root=story.root), file, repair="put a copy there")
    assert told(problem) == "fragment kn-mirafa: leads out of main through a link"


def test_a_tool_without_its_file_names_no_place(host: Host) -> None:
    def missing(given: Any_, host: Host) -> ToolResult:
        Path("/nowhere/at/all").read_text("utf-8")
        raise AssertionError

    value = asyncio.run(Tool("mine", Any_, missing, "Mine.").run(tool_call("1", "mine"), host)).value
    assert value == {"error": "mine failed: FileNotFoundError: No such file or directory"}


def test_arguments_as_a_log_has_them() -> None:
    assert logged_arguments(tool_call("1", "a", '{"b": [1]}')) == {"b": [1]}
    assert logged_arguments(tool_call("1", "a")) == {}
    assert logged_arguments(tool_call("1", "a", "{")) == "{"


def test_both_wires_take_the_tools_and_their_results() -> None:
    call = tool_call("c1", "readFragments", {"fragmentIds": ["ch-bafego"]})
    messages = (
        ChatMessage("user", "go"),
        assistant_message((call,)),
        ToolResult({"fragments": []}).message(call),
    )
    request = Request(messages, "m", tools=tuple(tool.declared for tool in ALL))
    chat = openai_chat.build(request, profile("openai", "gpt-4.1")).body
    claude = anthropic_messages.build(request, profile("anthropic", "claude-sonnet-4-5")).body
    assert chat["messages"][-1] == {"role": "tool", "tool_call_id": "c1", "content": '{"fragments":[]}'}
    assert claude["messages"][-1]["content"][0]["tool_use_id"] == "c1"
    for tool, one, two in zip(ALL, chat["tools"], claude["tools"], strict=True):
        assert one["function"]["name"] == two["name"] == tool.name
        assert json.loads(json.dumps(one["function"]["parameters"])) == two["input_schema"] == tool.schema


def test_half_a_character_is_sent_escaped() -> None:
    text = ToolResult({"error": "\ud83c"}).text
    assert text == '{"error":"\\ud83c"}'
    assert json.loads(text.encode()) == {"error": "\ud83c"}
