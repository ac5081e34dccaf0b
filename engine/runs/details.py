"""One run, whole: what was sent by block, what the agents thought, called and wrote (spec context-blocks, 1.10).

Everything in a log is data and may be anything: what is of a wrong type is passed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from engine.blocks.block import ContextBlock
from engine.blocks.compile import Message, Span
from engine.models.tokens import estimate_tokens
from engine.runs.log import logged_spans
from engine.runs.records import RunRecord, error_in, number_in, own_part, own_parts, text_in
from engine.tools.older import current_name, describe_call

_RESULT_LINES: Final = 2_000
"""Lines of one call's arguments or result that are told."""
_DEEPEST: Final = 40
"""Spaces of indentation, behind which nothing more is told."""


@dataclass(frozen=True, slots=True)
class LoggedCall:
    """A call of a tool: `name` as tools are called now, `logged_name` as the log has it; `line` says what it did."""

    name: str
    logged_name: str
    line: str
    arguments: Any
    result: Any
    failed: bool
    planning: bool = False
    """Whether the prewriter called it."""


@dataclass(frozen=True)
class RunDetail:
    """A run with its log."""

    record: RunRecord
    log: Mapping[str, Any]

    @property
    def answer(self) -> str:
        return text_in(self.log, "generatedText")

    @property
    def reasoning(self) -> str:
        return text_in(self.log, "reasoning")

    @property
    def input(self) -> str:
        """What was asked for, whole."""
        return text_in(self.log, "input")

    @property
    def brief(self) -> str:
        """The prewriter's plan; empty when it made none."""
        return text_in(self.log, "prewriterBrief")

    @property
    def brief_reasoning(self) -> str:
        return text_in(self.log, "prewriterReasoning")

    @property
    def error(self) -> Mapping[str, Any]:
        """What went wrong: `message` in a line, and what else is told of it; empty when nothing did."""
        return error_in(self.log)

    @property
    def clarify(self) -> Mapping[str, Any]:
        """What the prewriter asked the author, its `questions` and their `round`; empty when it asked nothing."""
        found = own_part(self.log).get("clarify")
        return {key: found[key] for key in ("questions", "round") if key in found} if isinstance(found, Mapping) else {}

    @property
    def request_hashes(self) -> tuple[str, ...]:
        """The hashes of the bodies that were sent, the prewriter's first."""
        return tuple(
            item for part in own_parts(self.log) for item in _items(part.get("requestHashes")) if isinstance(item, str)
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the provider and the wire warned of."""
        return tuple(item for item in _items(own_part(self.log).get("warnings")) if isinstance(item, str))

    @property
    def retries(self) -> tuple[str, ...]:
        """Why a request was sent again, each time."""
        given = [item for part in own_parts(self.log) for item in _items(part.get("retries"))]
        return tuple(text_in(item, "reason") for item in given if isinstance(item, Mapping))

    @property
    def mode(self) -> str:
        """Whether it continued the story, or regenerated or refined a passage; empty where it is not known."""
        return text_in(own_part(self.log), "mode")

    @property
    def target(self) -> str:
        """The id of the fragment it was about, as the passage it wrote another version of; else empty."""
        return text_in(own_part(self.log), "target")

    @property
    def estimated(self) -> bool:
        """Whether the tokens are estimated, for the provider told none."""
        return own_part(self.log).get("estimated") is True

    @property
    def reasoning_tokens(self) -> int | None:
        """Tokens of the answer that were reasoning, where the provider told."""
        found = number_in(self._usage.get("reasoningTokens"))
        return None if found is None else int(found)

    @property
    def cost(self) -> float | None:
        """What the provider charged, in US dollars, where it told."""
        return number_in(self._usage.get("cost"))

    @property
    def _usage(self) -> Mapping[str, Any]:
        usage = own_part(self.log).get("usage")
        return usage if isinstance(usage, Mapping) else {}

    @property
    def directions(self) -> tuple[tuple[str, str], ...]:
        """The prewriter's proposals for what comes next: title and instruction."""
        given = _items(self.log.get("prewriterDirections"))
        return tuple(
            (text_in(item, "title"), text_in(item, "instruction") or text_in(item, "description"))
            for item in given
            if isinstance(item, Mapping)
        )

    @cached_property
    def calls(self) -> tuple[LoggedCall, ...]:
        """Every call of a tool, those of the prewriter first."""
        found = [
            _call(item, planning)
            for key, planning in (("prewriterToolCalls", True), ("toolCalls", False))
            for item in _items(self.log.get(key))
            if isinstance(item, Mapping)
        ]
        return tuple(found)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The prompt that was sent, with the blocks it was made of where the log says them: see `by_block`."""
        return logged_messages(self.log)

    @cached_property
    def planning_messages(self) -> tuple[Message, ...]:
        """The prompt of the prewriter, where there was one; its blocks are never known."""
        return _plain_messages(self.log.get("prewriterMessages"))

    @property
    def by_block(self) -> bool:
        """Whether the log says what its messages were made of; those of the reference don't."""
        return any(message.spans for message in self.messages)

    @cached_property
    def prompt(self) -> tuple[Message, ...]:
        """The messages to be read by block; each is one block, called by its role, where nothing more is known."""
        return self.messages if self.by_block else tuple(map(_whole, self.messages))

    @cached_property
    def block_tokens(self) -> Mapping[str, int]:
        """Estimated tokens of each block of `prompt` with its marker, by its id, with `#2` … behind a repeated one."""
        counts: dict[str, int] = {}
        found: dict[str, int] = {}
        for message in self.prompt:
            for span in message.spans:
                count = counts[span.block.id] = counts.get(span.block.id, 0) + 1
                key = span.block.id if count == 1 else f"{span.block.id}#{count}"
                found[key] = estimate_tokens(message.content[span.start : span.content_end])
        return found


def logged_messages(log: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a log, with the spans of its blocks where it says them."""
    plain = _plain_messages(log.get("messages"))
    spans = logged_spans(log)
    if spans is None:
        return plain
    return tuple(
        Message(
            message.role,
            message.content,
            tuple(
                Span(_block(span.id, span.name, message, span.content_start, span.content_end), *span.places)
                for span in blocks
            ),
        )
        for message, blocks in zip(plain, spans, strict=True)
    )


def _whole(message: Message) -> Message:
    end = len(message.content)
    return Message(
        message.role, message.content, (Span(_block(message.role, message.role, message, 0, end), 0, 0, end, end),)
    )


def _block(block_id: str, name: str, message: Message, start: int, end: int) -> ContextBlock:
    return ContextBlock(block_id, message.role, message.content[start:end], 0, name=name)


def _plain_messages(value: Any) -> tuple[Message, ...]:
    given = [item for item in _items(value) if isinstance(item, Mapping)]
    texts = [(item.get("role"), item.get("content")) for item in given]
    # Roles other than those of compiled prompts are in logs of conversations.
    return tuple(
        Message(role, content, ())  # type: ignore[arg-type]
        for role, content in texts
        if isinstance(role, str) and isinstance(content, str)
    )


def _call(item: Mapping[str, Any], planning: bool) -> LoggedCall:
    name, arguments, result = text_in(item, "toolName"), item.get("args"), item.get("result")
    failed = isinstance(result, Mapping) and isinstance(result.get("error"), str)
    return LoggedCall(
        current_name(name), name, describe_call(name, arguments, result), arguments, result, failed, planning
    )


def value_lines(value: Any) -> str:
    """Arguments or a result as a person reads them: `key: value` a line, texts as they are, what is inside indented.

    None is the empty text. Very long values are cut, and the last line says so.
    """
    lines: list[str] = []
    _tell(value, "", lines)
    if len(lines) > _RESULT_LINES:
        return "\n".join([*lines[:_RESULT_LINES], "…"])
    return "\n".join(lines)


def _tell(value: Any, indent: str, lines: list[str], key: str | None = None) -> None:
    if len(lines) > _RESULT_LINES:
        return
    if len(indent) > _DEEPEST:
        lines.append(f"{indent}…")
        return
    head = indent if key is None else f"{indent}{key}:"
    if isinstance(value, Mapping) or (isinstance(value, list) and value):
        pairs = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
        if key is not None:
            lines.append(head)
        inner = indent if key is None else f"{indent}  "
        for name, item in pairs:
            if name is None and isinstance(item, Mapping | list):
                lines.append(f"{inner}-")
                _tell(item, f"{inner}  ", lines)
            elif name is None:
                _tell(item, f"{inner}- ", lines)
            else:
                _tell(item, inner, lines, str(name))
        return
    text = _scalar(value)
    if "\n" in text and key is not None:
        lines.append(head)
        lines.extend(f"{indent}  {line}" for line in text.split("\n"))
    elif text or key is not None:
        gap = " " if key is not None and text else ""
        lines.extend(f"{head}{gap}{text}".split("\n"))


def _scalar(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return "[]"
    return str(value)


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()
