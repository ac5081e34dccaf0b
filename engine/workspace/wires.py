"""`workspace.wires`: what generates, by the name of its provider, and what it is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.models import REHEARSAL
from engine.models.wire.base import Wire
from engine.models.wire.pacing import WORDS_PER_SECOND
from engine.models.wire.rehearsal import RehearsalWire
from engine.models.wire.replay import ReplayWire
from engine.prompt import Prompt
from engine.runs import read_log
from engine.story import StoryFolder
from engine.workspace.models import Models
from engine.workspace.views import Replay, RequestBody

if TYPE_CHECKING:
    from engine.workspace.generation import Generation
    from engine.workspace.history import RunHistory


class Wires:
    """The rehearsal, replays of past `runs`, and the providers of `models`; `generation` says which tools are sent."""

    def __init__(
        self,
        story: Callable[[str], StoryFolder],
        models: Models,
        generation: Callable[[], Generation],
        runs: Callable[[], RunHistory],
    ) -> None:
        self._story = story
        self._models = models
        self._generation = generation
        self._runs = runs

    def names(self, story_id: str, branch: str | None = None) -> tuple[str, ...]:
        """Names that `of` takes: the rehearsal, the providers that can be called, and a replay of each generation
        log, newest first.
        """
        called = (found.id for found in self._models.providers().all if found.enabled and found.id != REHEARSAL)
        return (REHEARSAL, *called, *(replay.provider for replay in self.replays(story_id, branch)))

    def replays(self, story_id: str, branch: str | None = None) -> tuple[Replay, ...]:
        """The generation logs of a branch that can be replayed, newest first."""
        found = self._runs().all(story_id, branch).runs
        return tuple(Replay(f"replay:{run.id}", run.created_at, run.input) for run in found)

    def of(
        self,
        prompt: Prompt,
        provider: str | None = REHEARSAL,
        *,
        model: str | None = None,
        words_per_second: float | None = None,
    ) -> Wire:
        """The wire of a provider's name: one of `names`, or the id of one of `models.providers`, with `model` in
        place of the one in force; None is what the prompt's agent resolves to.

        Raises `NotFound` for a provider that is not there, `WrongInput` for one that can't be called.
        """
        folder = self._story(prompt.story)
        if provider is None and not self._models.resolve(prompt.story, prompt.agent).configured:
            provider = REHEARSAL
        pace = WORDS_PER_SECOND if words_per_second is None else words_per_second
        if provider == REHEARSAL:
            prose = folder.snapshot(prompt.branch).of_type("prose")
            return RehearsalWire([fragment.content for fragment in prose], words_per_second=pace)
        if provider is not None and provider.startswith("replay:"):
            log = read_log(folder.content_root(prompt.branch), provider.removeprefix("replay:"))
            return ReplayWire(log, words_per_second=pace)
        return self._models.wire(prompt.story, prompt.agent, provider, model)

    def request_body(
        self,
        prompt: Prompt,
        provider: str | None = None,
        *,
        model: str | None = None,
        max_output_tokens: int | None = None,
    ) -> RequestBody | None:
        """What is sent first for a prompt, byte for byte, with its tools; `provider` and `model` as for `of`. None
        where nothing is: the rehearsal and replays send nothing. Raises as `of` does.
        """
        from engine.models.wire.http_wire import request_hash
        from engine.runs import request_of

        generation = self._generation()
        if provider is not None and (provider == REHEARSAL or provider.startswith("replay:")):
            return None
        if provider is None and not self._models.resolve(prompt.story, prompt.agent).configured:
            return None
        wire = self._models.wire(prompt.story, prompt.agent, provider, model)
        tools = tuple(tool.declared for tool in generation.tools_of(prompt))
        history = generation.opening(prompt)
        prepared = wire.prepared(request_of(prompt, wire.model, max_output_tokens, tools, history))
        warnings = tuple(warning.message for warning in prepared.warnings)
        return RequestBody(wire.address, prepared.body, request_hash(prepared.body), warnings)
