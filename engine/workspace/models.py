"""`workspace.models`: the providers there are, and the model each agent is run with."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING

from engine.agents import checked_role
from engine.folders import config_folder
from engine.models import REHEARSAL
from engine.runtime import Runtime
from engine.story import StoryFolder

if TYPE_CHECKING:
    from engine.budget import Budget
    from engine.models.choice import ModelChange
    from engine.models.provider_files import ProviderFiles
    from engine.models.providers import Providers
    from engine.models.resolution import Decision, Resolution
    from engine.models.wire.detection import FoundServer
    from engine.models.wire.http_wire import HttpWire
    from engine.models.wire.listing import ListedModel
    from engine.models.wire.trial import Trial

RESOLVED_FOR = 2.0
"""Seconds for which the model of an agent is not looked up again to build its prompt."""


class Models:
    """Providers, and which of them with which model runs an agent. `are_sets` says whether any model has instructions
    of its own.
    """

    def __init__(
        self, data: Path, runtime: Runtime, story: Callable[[str], StoryFolder], are_sets: Callable[[], bool]
    ) -> None:
        self._data = data
        self._runtime = runtime
        self._story = story
        self._are_sets = are_sets
        self._lock = threading.RLock()
        self._provider_files: ProviderFiles | None = None
        self._resolved: dict[tuple[str, str], tuple[float, str | None]] = {}
        # With what closes each; the loop itself keeps no hold of a task that waits.
        self._wires: list[tuple[HttpWire, concurrent.futures.Future[None]]] = []

    @property
    def provider_files(self) -> ProviderFiles:
        """The files that providers are defined in: to add one to the user's own, or take one out."""
        from engine.models.provider_files import ProviderFiles

        with self._lock:
            if self._provider_files is None:
                self._provider_files = ProviderFiles(self._data, config_folder())
            return self._provider_files

    def providers(self) -> Providers:
        """Every provider a story can name, with what is wrong with their files; not the rehearsal and replays."""
        return self.provider_files.load()

    def resolve(self, story_id: str, role: str) -> Resolution:
        """What an agent, or a role such as `librarian`, is run with, in every branch. Raises `NotFound`."""
        from engine.models.choice import resolve_in

        return resolve_in(self._story(story_id), self.providers(), checked_role(role))

    def line_of(self, decision: Decision) -> int | None:
        """The line of the field that decided a value, in its file as it is now. Waits."""
        from engine.models.providers import line_of_field

        return None if decision.file is None else line_of_field(decision.file, decision.field)

    def budget(
        self,
        story_id: str,
        role: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        max_output_tokens: int | None = None,
    ) -> Budget:
        """What a prompt of an agent may cost: of `model` of a provider's, left out what it resolves to, with room for
        an answer of `max_output_tokens`, left out what the story allows one. Waits; raises `NotFound`.

        The rehearsal stands in for the model that is in force: what that one could not take is told of before.
        """
        from engine.budget import budget_of
        from engine.models.windows import window_of

        resolution = self.resolve(story_id, role)
        limit = self._story(story_id).meta().settings.max_output_tokens
        chosen = resolution.provider
        if provider is not None and provider != REHEARSAL:
            chosen, model = self.providers().find(provider), self.model_with(story_id, role, provider, model)
        window = window_of(chosen, model or resolution.model)
        return budget_of(window, limit, asked=max_output_tokens)

    def choose(
        self,
        story_id: str,
        role: str,
        *,
        provider: str | EllipsisType | None = ...,
        model: str | EllipsisType | None = ...,
        temperature: float | EllipsisType | None = ...,
    ) -> ModelChange | None:
        """Choose what an agent or role is run with: None inherits again, what is left out stays (see `choice`)."""
        from engine.models import choice

        folder, providers, role = self._story(story_id), self.providers(), checked_role(role)
        self._resolved.clear()
        return choice.choose(folder, providers, role, provider=provider, model=model, temperature=temperature)

    def clear(self, story_id: str, role: str) -> ModelChange | None:
        """Have an agent or role inherit everything again; None when it did already."""
        from engine.models import choice

        self._resolved.clear()
        return choice.clear(self._story(story_id), checked_role(role))

    def undo(self, change: ModelChange) -> ModelChange:
        """Take back what one of the two above changed; returns what does it again. Raises `Conflict`."""
        from engine.models.choice import undo_choice

        self._resolved.clear()
        return undo_choice(self._story(change.story), change)

    def model_with(self, story_id: str, role: str, provider: str, model: str | None = None) -> str:
        """The model an agent is run with when it is this provider that is called: `model`, else the one it resolves to
        with it, else the provider's default one. Raises `NotFound` and `WrongInput`.
        """
        return self.wire(story_id, role, provider, model).model

    def test(self, provider: str, model: str | None = None) -> concurrent.futures.Future[Trial]:
        """Ask a provider for a word, which costs a few tokens. Raises `NotFound` and `WrongInput`; a call that fails is
        told of in the trial.
        """
        from engine.models.wire.trial import try_wire

        return self._runtime.submit(try_wire(self._kept_wire(self._provider_wire(provider, model))))

    def listed(self, provider: str) -> concurrent.futures.Future[tuple[ListedModel, ...]]:
        """The models a provider lists. Raises `NotFound` and `WrongInput`, and from the future a `StonehandError`."""
        return self._runtime.submit(self._kept_wire(self._provider_wire(provider)).models())

    def detect(self) -> concurrent.futures.Future[tuple[FoundServer, ...]]:
        """The servers of models that answer on this machine, at their usual ports."""
        from engine.models.wire.detection import detect

        return self._runtime.submit(detect())

    def wire(self, story_id: str, role: str, provider: str | None, model: str | None) -> HttpWire:
        from engine.models.wire.factory import wire_for

        resolution, providers = self.resolve(story_id, role), self.providers()
        return self._kept_wire(wire_for(resolution, providers, provider=provider, model=model))

    def _provider_wire(self, provider: str, model: str | None = None) -> HttpWire:
        from engine.models.wire.factory import usable
        from engine.models.wire.http_wire import HttpWire

        return HttpWire(usable(self.providers(), provider), model or "")

    def _kept_wire(self, wire: HttpWire) -> HttpWire:
        """A wire that does the same, if there is one: its connections are open, and it knows what its model refuses."""
        with self._lock:
            for known, _ in self._wires:
                if known.does_as(wire):
                    return known
            self._wires.append((wire, self._runtime.submit(_closed_at_the_end(wire))))
            return wire

    def resolved(self, story_id: str, agent_name: str) -> str | None:
        """The model an agent resolves to, as it was at most `RESOLVED_FOR` seconds ago; None where no model has
        instructions of its own, for then it makes no difference.
        """
        now = time.monotonic()
        with self._lock:
            known = self._resolved.get((story_id, agent_name))
        if known is not None and now - known[0] < RESOLVED_FOR:
            return known[1]
        model = self.resolve(story_id, agent_name).model if self._are_sets() else None
        with self._lock:
            self._resolved[story_id, agent_name] = (now, model)
        return model


async def _closed_at_the_end(wire: HttpWire) -> None:
    """Wait until the engine's loop ends, which cancels what runs on it, and close a wire's connections then."""
    try:
        await asyncio.Event().wait()
    finally:
        await wire.aclose()
