"""`HttpWire`: a provider's model reached over HTTP. The thin part: sockets, timeouts, retries; the rest is pure.

What is sent is `body`, byte for byte: a preview and the call use the same function.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import random
import re
import time
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from engine.errors import StonehandError
from engine.models.providers import Provider
from engine.models.secret import Secret
from engine.models.tokens import estimate_tokens
from engine.models.windows import is_own_server
from engine.models.wire import anthropic_messages, openai_chat
from engine.models.wire.base import Failure, Request, Start, Stop, Text, Thinking, Usage, Warned
from engine.models.wire.documents import read_json
from engine.models.wire.events import Event, Opaque, Retry, Signature, ToolArgs, ToolEnd, ToolStart
from engine.models.wire.failures import (
    Caller,
    explained,
    failure_of_response,
    malformed,
    refused_field,
    truncated,
)
from engine.models.wire.listing import ListedModel, listed_models, next_page
from engine.models.wire.parameters import Prepared
from engine.models.wire.parsing import Parser
from engine.models.wire.profiles import Profile, profile_of, url_of
from engine.models.wire.retry import retry_delay
from engine.text import Phrase

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS: Final = 5.0
WRITE_SECONDS: Final = 60.0
LIST_SECONDS: Final = 20.0
LIST_PAGES: Final = 20
ERROR_BYTES: Final = 1 << 20
"""Bytes of an error's body that are read."""
FRONT_SHARE: Final = 0.7
FRONT_TOKENS: Final = 256
"""A server that reports less than this share of the estimate, and this many tokens less, has not read it all."""
FIXED: Final = frozenset(("model", "messages", "system", "tools", "stream"))
"""Fields that a refusal never has left out."""
REFUSALS: Final = 4
"""Fields that may be left out of one call, one after another."""

_SHOWN = (Text, Thinking, Signature, ToolStart, ToolArgs, ToolEnd, Opaque)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What a request leaves to the wire; `left_out` is told of what was chosen and is not among it."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    reasoning_off: bool = False
    left_out: tuple[Warned, ...] = ()


class CallFailed(StonehandError):
    """A call that has no stream to tell of its failure in; `failure` has the parts."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def payload(body: Mapping[str, Any]) -> bytes:
    """The bytes of a body, as they are sent."""
    return _dumped(body).encode("utf-8")


def request_hash(body: Mapping[str, Any]) -> str:
    """The SHA-256 of a body's bytes, in hexadecimal: equal for equal requests."""
    return hashlib.sha256(payload(body)).hexdigest()


class HttpWire:
    """A provider's `model`, over the API its profile names.

    The address is the provider's base URL and nothing else; its key is looked up for each call and shown nowhere.
    One connection pool serves all calls; `aclose` closes it. `chance`, `now` and `sleep` are random numbers below 1,
    the time in seconds since 1970, and waiting.
    """

    def __init__(
        self,
        provider: Provider,
        model: str = "",
        *,
        defaults: Defaults | None = None,
        environ: Mapping[str, str] = os.environ,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep,
    ) -> None:
        self.model = model or provider.default_model
        self.name = provider.id
        self.label = f"{provider.name} · {self.model}"
        self._provider = provider
        self._defaults = defaults if defaults is not None else Defaults()
        self._environ = environ
        self._chance, self._now, self._sleep = chance, now, sleep
        self._local = is_own_server(provider.base_url)
        self._profiles: dict[str, Profile] = {}
        self._without: dict[str, frozenset[str]] = {}
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def address(self) -> str:
        """Where requests go, without secrets."""
        return url_of(self._provider.shown_url, self._profile(self.model).path)

    @property
    def max_output_tokens(self) -> int | None:
        """The limit of an answer where a request names none."""
        return self._defaults.max_output_tokens

    def does_as(self, other: HttpWire) -> bool:
        """Whether it would send the same to the same place."""
        mine = (self._provider, self.model, self._defaults)
        return mine == (other._provider, other.model, other._defaults)

    # -- what is sent

    def completed(self, request: Request) -> Request:
        """The request with the wire's choices where it leaves them to it."""
        mine = self._defaults
        return replace(
            request,
            model=self.model if request.model in ("", self.name) else request.model,
            max_output_tokens=request.max_output_tokens or mine.max_output_tokens,
            temperature=mine.temperature if request.temperature is None else request.temperature,
            reasoning="none" if request.reasoning is None and mine.reasoning_off else request.reasoning,
        )

    def body(self, request: Request) -> dict[str, Any]:
        """The body that is sent for a request, as it is now: fields the model was found to refuse are not in it."""
        return self.prepared(request).body

    def prepared(self, request: Request) -> Prepared:
        """The body, and the parameters that are not in it as they were asked for."""
        request = self.completed(request)
        profile = self._profile(request.model)
        prepared = _format(profile).build(request, profile, self._without.get(request.model, frozenset()))
        if self._defaults.left_out:
            prepared = Prepared(prepared.body, (*self._defaults.left_out, *prepared.warnings))
        try:
            payload(prepared.body)
        except UnicodeEncodeError:
            # Half a surrogate pair is no character and can't be sent.
            body = json.loads(_dumped(prepared.body).encode("utf-8", "replace"))
            told = Warned("characters that are none were replaced by question marks")
            return Prepared(body, (*prepared.warnings, told))
        return prepared

    # -- calling

    async def stream(self, request: Request) -> AsyncGenerator[Event, None]:
        """The answer as events. A call that fails before anything of it is shown may be tried again (see `retry`), and
        one that is refused for a field is, without it.
        """
        request = self.completed(request)
        told: set[Warned] = set()
        tries = refusals = 0
        usage: Usage | None = None
        while True:
            prepared = self.prepared(request)
            for warning in prepared.warnings:
                if warning not in told:
                    told.add(warning)
                    yield warning
            shown, failure = False, None
            call = _Call()
            async with aclosing(self._once(request.model, prepared.body, call)) as events:
                async for event in events:
                    if isinstance(event, Failure):
                        failure = event
                        break
                    if isinstance(event, Usage):
                        usage = event
                    elif isinstance(event, Stop) and (cut := self._front_cut(request, usage)) is not None:
                        yield cut
                    shown = shown or isinstance(event, _SHOWN)
                    yield event
            if failure is None:
                return
            if not shown and refusals < REFUSALS and (left_out := self._refused(request.model, failure, prepared)):
                refusals += 1
                told.add(left_out)
                yield left_out
                continue
            failure = explained(failure, self._caller(request.model))
            seconds = retry_delay(failure, tries, shown=shown, received=call.received, chance=self._chance)
            if seconds is None:
                yield failure
                return
            tries += 1
            yield Retry(failure, seconds, tries)
            await self._sleep(seconds)

    async def models(self) -> tuple[ListedModel, ...]:
        """The models the provider lists. Raises `CallFailed`."""
        import httpx

        profile = self._profile(self.model)
        caller = self._caller("")
        headers = self._headers(profile)
        if isinstance(headers, Failure):
            raise CallFailed(explained(headers, caller))
        found: list[ListedModel] = []
        after = ""
        for _ in range(LIST_PAGES):
            try:
                client = await self._connected()
                url = httpx.URL(self._url(profile.models_path))
                if after:
                    url = url.copy_merge_params({"after_id": after})
                response = await client.get(url, headers=headers, timeout=LIST_SECONDS)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise CallFailed(explained(self._network(error, _Call()), caller)) from None
            if not response.is_success:
                failure = failure_of_response(response.status_code, response.headers, response.content, self._now())
                raise CallFailed(explained(failure, caller))
            try:
                document = read_json(response.content)
            except ValueError:
                document = None
            page = listed_models(document)
            if page is None:
                raise CallFailed(explained(malformed(response.text), caller))
            found += page
            after = next_page(document)
            if not after:
                break
        return tuple({listed.id: listed for listed in found}.values())

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _once(self, model: str, body: Mapping[str, Any], call: _Call) -> AsyncGenerator[Event, None]:
        import httpx

        profile = self._profile(model)
        headers = self._headers(profile)
        if isinstance(headers, Failure):
            yield headers
            return
        parser: Parser | None = None
        content = payload(body)
        sent = hashlib.sha256(content).hexdigest()
        try:
            client = await self._connected()
            request = client.stream("POST", self._url(profile.path), content=content, headers=headers)
            async with request as response:
                call.request_id = response.headers.get("request-id") or response.headers.get("x-request-id") or ""
                if not response.is_success:
                    data = await _some(response)
                    yield failure_of_response(response.status_code, response.headers, data, self._now())
                    return
                parser = _format(profile).parser(profile)
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind in ("application/json", "text/html"):
                    for event in _whole(parser, await response.aread()):
                        yield self._completed(event, call, model, sent)
                    return
                async for chunk in response.aiter_bytes():
                    call.received = True
                    for event in parser.feed(chunk):
                        yield self._completed(event, call, model, sent)
                    if parser.done:
                        return
                for event in parser.end():
                    yield self._completed(event, call, model, sent)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            if parser is not None and parser.done:
                return
            ending = parser.end() if parser is not None else []
            for event in ending:
                if not isinstance(event, Failure):
                    yield self._completed(event, call, model, sent)
            # An answer that said why it ended is complete, however the connection did.
            if not (ending and isinstance(ending[-1], Stop)):
                yield self._completed(self._network(error, call), call, model, sent)

    def _completed(self, event: Event, call: _Call, model: str, sent: str) -> Event:
        """An event with what only the response knows."""
        if isinstance(event, Start):
            return replace(
                event,
                model=event.model or model,
                request_id=call.request_id or event.request_id,
                request_hash=sent,
            )
        if isinstance(event, Failure):
            return replace(event, request_id=event.request_id or call.request_id)
        return event

    def _network(self, error: Exception, call: _Call) -> Failure:
        """A connection that failed; the library's words are cited only where they can hold no header."""
        import httpx

        said = str(error) if isinstance(error, httpx.ConnectError) else ""
        if isinstance(error, httpx.ReadTimeout):
            cause = "nothing came for too long, so the call was given up"
            return Failure("network", "", cause=cause, truncated=call.received)
        if isinstance(error, httpx.TimeoutException):
            return Failure("network", "", cause="it could not be reached in time")
        if call.received:
            return truncated()
        if "CERTIFICATE" in said.upper():
            return Failure("network", "", said=said, cause="its certificate was not accepted", should_retry=False)
        if isinstance(error, httpx.ConnectError):
            advice = "start the server, or check its base_url" if self._local else ""
            return Failure("network", "", said=said, cause="it can't be reached", advice=advice)
        if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return Failure("bad_request", "", cause="its address or one of its headers can't be used")
        return Failure("network", "", cause="the connection broke off before an answer came")

    def _refused(self, model: str, failure: Failure, prepared: Prepared) -> Warned | None:
        """Have a field left out from now on that the model refuses; None when it names none, or none that may be."""
        profile = self._profile(model)
        limit = profile.name_of("max_output_tokens")
        fixed = FIXED | ({limit} if profile.max_output_default else set())
        name = refused_field(failure, prepared.body, [key for key in prepared.body if key not in fixed])
        if not name:
            return None
        said = explained(failure, self._caller(model)).said
        other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(name, "")
        if name == limit and other and other in failure.said:
            self._profiles[model] = replace(profile, names={**profile.names, "max_output_tokens": other})
            return Warned(
                Phrase("{name} is sent as {other} from now on: {said}", name=name, other=other, said=said), name
            )
        self._without[model] = self._without.get(model, frozenset()) | {name}
        return Warned(
            Phrase("{name} was left out, since {model} refuses it: {said}", name=name, model=model, said=said), name
        )

    def _front_cut(self, request: Request, usage: Usage | None) -> Warned | None:
        """Whether a server that drops the beginning of a long prompt without a word seems to have done it."""
        if usage is None or not self._profile(request.model).truncates_front:
            return None
        if not usage.input_tokens:  # older Ollamas count nothing where the prompt is in their cache
            return None
        estimate = sum(estimate_tokens(message.content) for message in request.messages)
        if usage.input_tokens >= estimate * FRONT_SHARE or estimate - usage.input_tokens < FRONT_TOKENS:
            return None
        return Warned(
            Phrase(
                "{name} read {input_tokens:,} tokens of about {estimate:,}: it seems to have cut off the beginning of "
                "the prompt — raise its context length (num_ctx), or shorten the prompt",
                name=self._provider.name,
                input_tokens=usage.input_tokens,
                estimate=estimate,
            )
        )

    # -- the connection

    async def _connected(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop or self._client.is_closed:
            # In a thread: loading the library and the certificates would hold up everything else on the loop.
            client = await asyncio.to_thread(self._make_client)
            if self._client is not None and self._loop is loop and not self._client.is_closed:
                await client.aclose()  # another call was first
            else:
                self._client, self._loop = client, loop
        return self._client

    def _make_client(self) -> httpx.AsyncClient:
        import httpx

        for name in ("httpx", "httpcore"):  # they log addresses, and a base URL may hold a key
            logging.getLogger(name).setLevel(logging.WARNING)
        idle = self._profile(self.model).idle_timeout
        timeout = httpx.Timeout(connect=CONNECT_SECONDS, read=idle, write=WRITE_SECONDS, pool=CONNECT_SECONDS)
        # A proxy of the environment is for the way out, not for a server on this machine.
        return httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=not self._local)

    def _url(self, path: str) -> str:
        base = self._provider.base_url
        if self._provider.key.value(self._environ) is not None:
            # A user and password in the address would replace the key.
            base = re.sub(r"^(\w+://)[^/@]*@", r"\1", base)
        return url_of(base, path)

    def _headers(self, profile: Profile) -> dict[str, str] | Failure:
        """The headers of a request, or what is wrong with the key or a header; never the value itself."""
        provider = self._provider
        headers = {"content-type": "application/json", "accept": "text/event-stream, application/json"}
        headers["user-agent"] = "stonehand"
        headers |= {name.lower(): value for name, value in profile.headers.items()}
        key = provider.key.value(self._environ)
        if key is None and provider.key.variable:
            cause = f"the environment variable {provider.key.variable}, which is to hold the key, is not set"
            return Failure("auth", "", cause=cause, advice="set it, and start again")
        if key is not None:
            name = "x-api-key" if profile.auth == "x-api-key" else "authorization"
            headers[name] = ("" if name == "x-api-key" else "Bearer ") + key.reveal().strip()
        for name, where in provider.headers.items():
            value = where.value(self._environ)
            if value is None and where.variable:
                cause = f"the environment variable {where.variable}, for the header {name}, is not set"
                return Failure("auth", "", cause=cause, advice="set it, and start again")
            headers[name.lower()] = "" if value is None else value.reveal().strip()
        for name, text in headers.items():
            if not re.fullmatch(r"[\x20-\x7e\t]*", text):
                what = "the key" if name in ("authorization", "x-api-key") else f"the header {name}"
                return Failure("auth", "", cause=f"{what} holds characters no header can have", advice="check it")
        return headers

    def _caller(self, model: str) -> Caller:
        provider = self._provider
        secrets = tuple(value for key in provider.secrets if (value := key.value(self._environ)) is not None)
        place = provider.key.variable or (f"{provider.file}: {provider.field}" if provider.key.literal else "")
        address = urlsplit(provider.base_url)
        for part in (unquote(address.password or ""), address.password, address.query):
            secrets += (Secret(part),) if part else ()
        return Caller(provider.name, provider.shown_url, model, place, self._local, secrets)

    def _profile(self, model: str) -> Profile:
        found = self._profiles.get(model)
        if found is None:
            found = self._profiles[model] = profile_of(self._provider, model)
        return found


class _Call:
    """One try of a call: the provider's name for it, and whether bytes of an answer came."""

    def __init__(self) -> None:
        self.request_id = ""
        self.received = False


@dataclass(frozen=True, slots=True)
class _Format:
    """An API: how a body is built and an answer read."""

    build: Callable[[Request, Profile, Collection[str]], Prepared]
    parser: Callable[[Profile], Parser]


def _format(profile: Profile) -> _Format:
    if profile.wire == "anthropic-messages":
        return _Format(anthropic_messages.build, anthropic_messages.MessagesParser)
    return _Format(openai_chat.build, openai_chat.ChatParser)


def _whole(parser: Parser, data: bytes) -> list[Event]:
    """The events of an answer in one piece: whole, or a stream of events whose type is misnamed."""
    text = data.decode("utf-8", "replace").strip()
    if text.startswith(("data:", "event:", ":")):
        events = parser.feed(data)
        return events if parser.done else events + parser.end()
    try:
        return parser.whole(read_json(text))
    except ValueError:
        return [malformed(text) if text else truncated()]


async def _some(response: httpx.Response) -> bytes:
    """The body of an error, as much of it as anybody reads."""
    data = bytearray()
    async for chunk in response.aiter_bytes():
        data += chunk
        if len(data) >= ERROR_BYTES:
            break
    return bytes(data)


def _dumped(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=dict)
