"""Servers of models on this machine, looked for when asked: at their usual ports on loopback, nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine.models.wire.documents import read_json
from engine.models.wire.listing import ListedModel, listed_models, owners_of
from engine.models.wire.profiles import LocalServer, local_servers

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS: Final = 1.0
READ_SECONDS: Final = 3.0
LIST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answers: the preset it goes by, the base URL to add it with, and its models; none where it wants a
    key first.
    """

    preset: str
    base_url: str
    models: tuple[ListedModel, ...] = ()
    wants_key: bool = False


async def detect(servers: Sequence[LocalServer] | None = None) -> tuple[FoundServer, ...]:
    """The servers that answer on this machine, of those that are known or of `servers`."""
    import httpx

    known = local_servers()
    timeout = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False) as client:
        asked = known if servers is None else servers
        found = await asyncio.gather(*(_look(client, server, known) for server in asked))
    return tuple(server for server in found if server is not None)


async def _look(client: httpx.AsyncClient, server: LocalServer, known: Sequence[LocalServer]) -> FoundServer | None:
    import httpx

    base = f"http://127.0.0.1:{server.port}/v1"
    data = bytearray()
    try:
        async with client.stream("GET", f"{base}/models") as response:
            refused = response.status_code in (401, 403)
            if not (response.is_success or refused):
                return None
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > LIST_BYTES:
                    return None
        document = read_json(bytes(data))
    except (httpx.HTTPError, ValueError):
        return None
    if refused:
        return FoundServer(server.preset, base, wants_key=True) if _is_error(document) else None
    models = listed_models(document)
    if models is None:
        return None
    # Ports are taken by others, too; what a server says of itself counts.
    named = (other.preset for owner in owners_of(document) for other in known if owner in other.owner)
    return FoundServer(next(named, server.preset), base, models)


def _is_error(document: object) -> bool:
    """Whether a refusal is worded as servers of models do; other programs answer at these ports, too."""
    return isinstance(document, dict) and "error" in document
