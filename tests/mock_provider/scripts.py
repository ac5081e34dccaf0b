"""The streams of the checklist (spec provider-wire, C5), for both APIs."""

from __future__ import annotations

from typing import Any

from tests.mock_provider.server import Raw, Script, Sse, Step

# --- chat completions


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> Sse:
    """A chunk of a chat completion; without a delta, it has no choices."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    document = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m-1"}
    return Sse({**document, "choices": choices, **more})


def call(index: int | None, identity: str | None, name: str | None, arguments: str | None) -> Sse:
    """A fragment of a tool call; None leaves a key out."""
    function = {"name": name, "arguments": arguments}
    fragment: dict[str, Any] = {"index": index, "id": identity, "type": "function"}
    fragment = {key: value for key, value in fragment.items() if value is not None}
    fragment["function"] = {key: value for key, value in function.items() if value is not None}
    return chunk({"tool_calls": [fragment]})


DONE = Sse("[DONE]")
USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 3,
    "total_tokens": 12,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 1},
}
COUNTED = chunk(None, usage=USAGE)


def plain(*pieces: str, finish: str = "stop") -> list[Step]:
    """A complete answer with its usage in a chunk of its own."""
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": piece}) for piece in pieces),
        chunk({}, finish),
        COUNTED,
        DONE,
    ]


# --- messages


def event(kind: str, **more: Any) -> Sse:
    return Sse({"type": kind, **more}, kind)


def begin(**usage: int) -> Sse:
    counted = {"input_tokens": 10, "output_tokens": 1, **usage}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": []}
    return event("message_start", message={**message, "stop_reason": None, "usage": counted})


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[Step]:
    return [
        event("content_block_start", index=index, content_block=start),
        *(event("content_block_delta", index=index, delta=delta) for delta in deltas),
        event("content_block_stop", index=index),
    ]


def text_block(index: int, *pieces: str) -> list[Step]:
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in pieces))


def end(reason: str = "end_turn", output_tokens: int = 42, **delta: Any) -> list[Step]:
    return [
        event(
            "message_delta",
            delta={"stop_reason": reason, "stop_sequence": None, **delta},
            usage={"output_tokens": output_tokens},
        ),
        event("message_stop"),
    ]


def plain_message(*pieces: str) -> list[Step]:
    return [begin(), event("ping"), *text_block(0, *pieces), *end()]


def bytes_of(script: Script) -> bytes:
    """The bytes a stream of these steps consists of."""
    return b"".join(
        step.encoded() if isinstance(step, Sse) else step.data for step in script if isinstance(step, Sse | Raw)
    )
