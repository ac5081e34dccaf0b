"""`Tool`: something an agent may do in the middle of a run, and how a call of it is carried out.

Nothing a model sends raises: a mistake is a result `{"error": …}` in one line, for the model to read.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from engine.agents.tools import describe
from engine.disk import compact_json
from engine.errors import Problem, StonehandError
from engine.models.wire import parts as wire
from engine.models.wire.base import ChatMessage
from engine.models.wire.parts import ToolCall
from engine.text import Phrase
from engine.tools.schema import ToolInput, WrongCall, checked_input, parsed_arguments, schema_of

if TYPE_CHECKING:
    from engine.tools.host import Host

InputT = TypeVar("InputT", bound=ToolInput)

RESULT_LIMIT: Final = 200_000
"""Characters of JSON a result may have: what every step of a run is sent again."""


def logged_arguments(call: ToolCall) -> Any:
    """The arguments of a call as a log has them (spec, section 1.10): an object, or the text that is none."""
    try:
        return parsed_arguments(call.arguments)
    except WrongCall:
        return call.arguments


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave, a JSON object; `ends`: with it the agent has done what it was asked for (spec, 10.3)."""

    value: Mapping[str, Any]
    ends: bool = False

    @property
    def failed(self) -> bool:
        """Whether nothing came of the call."""
        return "error" in self.value

    @property
    def text(self) -> str:
        """The result as the model is sent it."""
        # Half a character, as a model can send one, is escaped: it could not be sent back.
        text = compact_json(self.value).encode("utf-8", "backslashreplace").decode("utf-8")
        if len(text) > RESULT_LIMIT:
            told = f"the result is {len(text)} characters long, more than the {RESULT_LIMIT} there is room for"
            return compact_json({"error": f"{told}; ask for less"})
        return text

    def message(self, call: ToolCall) -> ChatMessage:
        """The message that answers a call."""
        return ChatMessage("tool", self.text, call_id=call.id)


def failure(reason: str | Problem) -> ToolResult:
    """The result of a call that came to nothing."""
    return ToolResult({"error": told(reason) if isinstance(reason, Problem) else " ".join(reason.split())})


def told(problem: Problem) -> str:
    """A problem as a model is told it: a file is what is in it, by the id the model knows; names and places of files
    are none of its concern, and neither is how a person mends one.
    """
    text = problem.message
    if isinstance(text, Phrase):
        values = {key: value.name if isinstance(value, Path) else value for key, value in text.values.items()}
        text = text.template.format_map(values)
    if problem.file is not None:
        text = f"{_contents(problem.file)}: {text}"
    elif problem.repair:
        text = f"{text} — {problem.repair}"
    return " ".join(text.split())


_CONTENTS: Final = {
    "meta.json": "the story's settings",
    "branches.json": "the story's branches",
    "prose-chain.json": "the order of the story's prose",
}


def _contents(file: Path) -> str:
    """What a file of a story holds."""
    kind = {"fragments": "fragment", "generation-logs": "run"}.get(file.parent.name)
    return f"{kind} {file.stem}" if kind is not None else _CONTENTS.get(file.name, "the story's files")


Handler = Callable[[InputT, "Host"], ToolResult | Awaitable[ToolResult]]


@dataclass(frozen=True)
class Tool(Generic[InputT]):
    """One tool: `name`, `description` (a sentence for author and model), what it takes, and what carries it out.

    A handler that is no coroutine runs on a thread of its own, so that reading ten thousand files holds up no stream.
    """

    name: str
    input: type[InputT]
    handle: Handler[InputT] = field(repr=False)
    description: str = ""

    def __post_init__(self) -> None:
        if not self.description:
            object.__setattr__(self, "description", describe(self.name))

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of its input, the same for both wires."""
        return schema_of(self.input)

    @property
    def declared(self) -> wire.Tool:
        """The tool as a request offers it."""
        return wire.Tool(self.name, self.description, self.schema)

    async def run(self, call: ToolCall, host: Host) -> ToolResult:
        """Carry out a call. Raises nothing but `CancelledError`."""
        try:
            given = checked_input(self.input, call.arguments)
            if inspect.iscoroutinefunction(self.handle):
                result = await self.handle(given, host)
            else:
                result = await asyncio.to_thread(self.handle, given, host)
        except WrongCall as error:
            return failure(str(error))
        except StonehandError as error:
            return failure(error.problem)
        except Exception as error:  # a fault of a tool, a plugin's for one, must not end the run
            said: object = error
            if isinstance(error, OSError) and error.filename is not None:  # where the user keeps it
                said = error.strerror
            return failure(f"{self.name} failed: {type(error).__name__}: {said}")
        if not isinstance(result, ToolResult):
            return failure(f"{self.name} gave no result")
        return result


async def run_call(call: ToolCall, tools: tuple[Tool[Any], ...], host: Host) -> ToolResult:
    """Carry out a call of one of the tools an agent was offered; of another one, say so."""
    for tool in tools:
        if tool.name == call.name:
            return await tool.run(call, host)
    names = ", ".join(tool.name for tool in tools) or "none"
    return failure(f"there is no tool {call.name[:100]}; tools: {names}")
