"""Errors of providers: what kind each is, what is likely behind it, and the one line a person reads. Pure.

Source: spec provider-wire, C4 (classes; credits are looked for before throttling) and C3 (types and their statuses).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from typing import Any, Final

from engine.models.secret import Secret
from engine.models.wire.base import Failure, FailureKind
from engine.models.wire.documents import read_json
from engine.text import Phrase, listed

SAID_LIMIT: Final = 500
"""Characters of a provider's message that are shown."""

_STATUS_OF_TYPE: Final[Mapping[str, int]] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "exceed_context_size_error": 400,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "not_supported_error": 501,
    "unavailable_error": 503,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_CREDITS: Final = re.compile(
    r"billing_error|insufficient_quota|insufficient_credits|credit_balance|billing_hard_limit|spend(?:ing)?[_ -]limit"
    r"|credit balance is too low|insufficient balance|insufficient credits|exceeded your current quota"
    r"|requires more credits",
    re.IGNORECASE,
)
_TOO_LARGE: Final = re.compile(
    r"context_length_exceeded|exceed_context_size|request_too_large|prompt is too long|maximum context length"
    r"|context (?:window|size|length)[^.]*exceed|exceed[^.]*context (?:window|size|length)"
    r"|longer than the model's context|input is too long",
    re.IGNORECASE,
)
_MODERATED: Final = re.compile(r"moderation|guardrail|flagged|content policy", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Caller:
    """Who was asked, for the line a person reads: the provider's label, its address, the model (empty: for its list of
    models), where its key is, and which secrets no message may show.
    """

    label: str
    address: str
    model: str
    key_place: str
    local: bool = False
    secrets: tuple[Secret, ...] = ()


def failure_of_response(status: int, headers: Mapping[str, str], body: bytes, now: float) -> Failure:
    """A response that is no answer: its error, from the body (JSON or a gateway's HTML) and the headers.

    `now` is the time in seconds since 1970, for a Retry-After that is a date.
    """
    text = body.decode("utf-8", "replace").strip()
    try:
        failure = failure_of_payload(read_json(text), status)
    except ValueError:
        said = _html_text(text) if "<" in text[:200] else text
        failure = Failure(kind_of(status, "", said), "", status, said=said)
    retry = headers.get("x-should-retry")
    return replace(
        failure,
        request_id=headers.get("request-id") or headers.get("x-request-id") or failure.request_id,
        retry_after=_retry_after(headers, now) if failure.retry_after is None else failure.retry_after,
        should_retry={"true": True, "false": False}.get(retry or ""),
        cause=_redirect(headers) if 300 <= status < 400 else failure.cause,
    )


def failure_of_payload(payload: Any, status: int | None = None) -> Failure:
    """An error as a provider writes it: `{"error": {...}}`, `{"error": "..."}`, or the error itself.

    Without a status, as inside a stream, it is derived from the error's type or code.
    """
    outer = payload if isinstance(payload, Mapping) else {}
    error = outer.get("error", payload)
    if isinstance(error, list) and error:
        error = error[0]
    if not isinstance(error, Mapping):
        said = error if isinstance(error, str) else "" if error is None else json.dumps(error, ensure_ascii=False)
        error = {"message": said}
    words = [error.get(key) for key in ("type", "code", "status")]
    code = next((word for word in words if isinstance(word, str) and word), "")
    codes = " ".join(word for word in words if isinstance(word, str))
    said = error.get("message") or error.get("detail") or outer.get("detail") or ""
    said = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
    metadata = error.get("metadata")
    if isinstance(metadata, Mapping):
        raw, name = metadata.get("raw"), metadata.get("provider_name")
        if isinstance(raw, str) and raw and raw not in said:
            said = f"{said}: {raw}"
        if isinstance(name, str) and name:
            said = f"{said} (from {name})"
    if status is None:
        numeric = error.get("code")
        if isinstance(numeric, int) and 400 <= numeric < 600:
            status = numeric
        else:
            status = next((_STATUS_OF_TYPE[w] for w in words if isinstance(w, str) and w in _STATUS_OF_TYPE), None)
    needed, room = error.get("n_prompt_tokens"), error.get("n_ctx")
    cause = ""
    if isinstance(needed, int) and isinstance(room, int):
        told = "the prompt has {needed:,} tokens and the server takes {room:,}"
        cause = Phrase(told, needed=needed, room=room)
    identity, blamed = outer.get("request_id"), error.get("param")
    return Failure(
        kind_of(status, codes, said),
        "",
        status,
        said=said,
        code=code,
        field=blamed if isinstance(blamed, str) else "",
        request_id=identity if isinstance(identity, str) else "",
        cause=cause,
    )


def kind_of(status: int | None, code: str, said: str) -> FailureKind:
    """The class of an error (spec, C4). Without a status, one that fits no class is the provider's own fault."""
    words = f"{code} {said}"
    if status == 402 or _CREDITS.search(words):
        return "credits"
    if status == 413 or _TOO_LARGE.search(words):
        return "too_large"
    if status in (401, 403):
        return "auth"
    if status == 404:
        return "not_found"
    if status == 429:
        return "throttled"
    if status in (503, 529):
        return "overloaded"
    if status is None or status >= 500 or status in (408, 409):
        return "upstream"
    return "bad_request"


def truncated() -> Failure:
    """An answer that broke off."""
    return Failure("network", "", cause="the answer broke off before its end", truncated=True)


def malformed(text: str) -> Failure:
    """What came where an answer was expected, and is none: it is cited."""
    said = _html_text(text) if text.lstrip().startswith("<") else text
    cause = "what it sent is no answer of this kind of API"
    return Failure("upstream", "", said=said, cause=cause, advice="check its base_url", should_retry=False)


def explained(failure: Failure, caller: Caller) -> Failure:
    """A failure with its likely cause, what to do, and the one line that says it all; without any secret."""
    said = _shortened(hide_secrets(failure.said, caller.secrets))
    cause = failure.cause or _cause(failure, caller)
    advice = failure.advice or _advice(failure, caller)
    facts: list[str] = [f"HTTP {failure.status}"] if failure.status is not None else []
    if failure.code and failure.code not in said:
        facts.append(failure.code)
    if failure.request_id:
        facts.append(Phrase("request {identity}", identity=failure.request_id))
    if failure.retry_after is not None:
        facts.append(Phrase("asks to wait {seconds:g} s", seconds=failure.retry_after))
    message = Phrase("{label}: {cause}", label=caller.label, cause=Phrase.of(cause or "the request failed"))
    if facts:
        message = Phrase("{message} ({facts})", message=message, facts=listed(facts))
    if said:
        message = Phrase("{message}: {said}", message=message, said=said)
    if advice:
        message = Phrase("{message} — {advice}", message=message, advice=Phrase.of(advice))
    shown = hide_secrets(message, caller.secrets)
    told = message if shown == message else shown
    return replace(failure, message=told, said=said, cause=cause, advice=advice)


def hide_secrets(text: str, secrets: Iterable[Secret] = ()) -> str:
    """`text` without the secrets given, and without what has the form of a key, since services cite the ones they
    refuse.
    """
    for secret in secrets:
        value = secret.reveal().strip()
        if len(value) >= 6:
            text = text.replace(value, str(secret))
    return _KEY.sub("••••", text)


_KEY: Final = re.compile(
    r"(?<![\w-])(?:(?:sk|pk|rk|gsk|xai|pplx|nvapi|csk|tgp|hf)[-_][\w*.•-]{6,}|AIza[\w-]{12,}|eyJ[\w.-]{12,}"
    r"|[Bb]earer +[\w.~+/=-]{8,})"
)


def refused_field(failure: Failure, body: Mapping[str, Any], droppable: Iterable[str]) -> str:
    """The field of a body, of those that can be left out, that a refusal names; the empty string when it names none."""
    if failure.kind != "bad_request" or failure.status not in (400, 422):
        return ""
    droppable = tuple(droppable)
    if (blamed := re.split(r"[.\[]", failure.field)[0]) in body and blamed in droppable:
        return blamed
    for name in sorted((name for name in droppable if name in body), key=len, reverse=True):
        edge = r"(?:^|[\s'\"`(\[.,])"
        if re.search(rf"{edge}{re.escape(name)}(?:['\"`\]:]|\.\w)", failure.said):
            return name
        if "_" in name and re.search(rf"\b{re.escape(name)}\b", failure.said):
            return name
    return ""


def _cause(failure: Failure, caller: Caller) -> str:
    if failure.truncated:
        return "the answer broke off before its end"
    if failure.kind == "auth":
        if failure.status == 403 and _MODERATED.search(failure.said):
            return "the prompt was refused by a filter of the provider"
        if not caller.key_place:
            return "it wants a key and none is set"
        return "the key was refused" if failure.status != 403 else "the key is not allowed to do this"
    # A server of one's own answers 503 while it loads a model (spec, C2.4); 529 is a service's word for too much to do.
    starting = caller.local and failure.status != 529 and failure.code != "overloaded_error"
    return {
        "credits": "there is no credit left with this provider, or a spending limit is reached",
        "throttled": "too many requests or tokens in a short time",
        "overloaded": "the server is starting, or loading the model" if starting else "the provider is overloaded",
        "upstream": "something failed on the provider's side",
        "network": "the connection failed",
        "too_large": "the prompt is longer than the model takes",
        "bad_request": "the request was not understood",
        "not_found": Phrase("there is no model {model!r} there, or the address is wrong", model=caller.model)
        if caller.model
        else "there is no list of models at this address",
        "abort": "stopped",
    }[failure.kind]


def _advice(failure: Failure, caller: Caller) -> str:
    if failure.truncated:
        return "the text so far stays; go on from there, or send it again"
    if failure.kind == "auth":
        if failure.status == 403 and _MODERATED.search(failure.said):
            return "change the prompt, or choose another model"
        if not caller.key_place:
            return "set api_key_env for it in providers.toml"
        return Phrase("check {key_place}", key_place=caller.key_place)
    if failure.status is not None and 300 <= failure.status < 400:
        return "write the final address as its base_url"
    return {
        "credits": "add credit or raise the limit with the provider, or choose another one",
        "throttled": "wait a little, or choose another model",
        "overloaded": "try again in a moment",
        "upstream": "try again, or choose another model",
        "network": Phrase("check that {address} can be reached", address=caller.address),
        "too_large": "switch blocks off or shorten them, or choose a model with a larger context",
        "bad_request": "",
        "not_found": "`stonehand providers models` lists what is there; check base_url"
        if caller.model
        else "check base_url; some services have no such list",
        "abort": "",
    }[failure.kind]


def _shortened(text: str) -> str:
    text = "".join(char if char.isprintable() else " " for char in text)
    text = " ".join(text.split())
    return text if len(text) <= SAID_LIMIT else text[: SAID_LIMIT - 1] + "…"


def _html_text(text: str) -> str:
    """What a page says: its title, else its words without tags."""
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title is not None and title[1].strip():
        return title[1].strip()
    text = re.sub(r"<(script|style)\b.*?</\1\s*>", " ", text, flags=re.IGNORECASE | re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", text).split())


def _retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds to wait: `retry-after-ms`, then `retry-after` as seconds or as a date."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,9}(?:\.\d+)?", value):
            return float(value) / scale
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None


def _redirect(headers: Mapping[str, str]) -> str:
    target = headers.get("location", "").partition("?")[0]
    if not target:
        return "it redirects to another address"
    return Phrase("it redirects to another address, {target}", target=target)
