"""Hooks: functions of a plugin that take part in a prompt's making, and in a passage's.

    context state → beforeContext → default blocks → config → beforeBlocks → compile → fragment tags → beforeGeneration
      → request → stream → afterGeneration → save → afterSave

They run in the order their owners were added, for every agent, in preview and generation alike; each gets what the one
before returned (seed, "Hook execution order"; spec context-blocks, section 10.2). They may be plain functions or
coroutine functions.

What a failing hook does. The reference aborts the run; nothing in the seed needs that, so a hook that raises, returns
a value of another kind or makes one wait too long is reported with its owner's name and skipped: the prompt is as if it
were not there, the passage keeps its text, what is saved stays saved. A hook that must not be gone without stops
preview and request by raising `StopRun` in one of the three before-hooks.

With chance, time or the world outside in it a hook may say something else each time; a prompt that was previewed is
sent as it was previewed as long as nothing it is made of changes.
"""

from __future__ import annotations

import concurrent.futures
import math
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Any, Final, Literal, TypeVar

from engine.blocks.block import ROLES, ContextBlock
from engine.blocks.compile import Message
from engine.blocks.rewrite import rewrite_messages
from engine.context.state import ContextState
from engine.errors import Problem, StonehandError, WrongInput
from engine.models.wire.base import ChatMessage
from engine.story.fragment import Fragment
from engine.text import Phrase, collapse_space

T = TypeVar("T")

HookName = Literal["beforeContext", "beforeBlocks", "beforeGeneration", "afterGeneration", "afterSave"]
HOOK_SECONDS: Final = 10.0
"""Seconds that an awaitable hook may take. A plain function can't be stopped."""


class StopRun(StonehandError):
    """Raised by a before-hook: there is to be no prompt. Its text says why, in one line."""


@dataclass(frozen=True, slots=True)
class HookContext:
    """Where a hook runs."""

    story: str
    branch: str
    agent: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage that has arrived, whole or up to where it was stopped."""

    text: str
    input: str
    model: str
    finish: str


BeforeContext = Callable[[ContextState, HookContext], ContextState | Awaitable[ContextState]]
BeforeBlocks = Callable[[list[ContextBlock], HookContext], Sequence[ContextBlock] | Awaitable[Sequence[ContextBlock]]]
BeforeGeneration = Callable[[list[ChatMessage], HookContext], Sequence[ChatMessage] | Awaitable[Sequence[ChatMessage]]]
AfterGeneration = Callable[[Passage, HookContext], Passage | Awaitable[Passage]]
AfterSave = Callable[[Fragment, HookContext], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one owner (a plugin's name), each optional.

    before_context: the context state; fragments may be added or removed, the author's input changed. Skipped when it
    fails.
    before_blocks: the blocks with the user's config applied, before they are compiled. Skipped when it fails.
    before_generation: the messages as they are to be sent, fragment tags expanded; of the roles system and user.
    Skipped when it fails.
    after_generation: a passage that has arrived, also one that was stopped; its text is what is shown and saved. Not
    called for a run that failed or has no text. Skipped when it fails.
    after_save: the prose fragment that was saved. What it returns is of no consequence; a failure is reported, and the
    passage stays saved.
    """

    owner: str
    before_context: BeforeContext | None = None
    before_blocks: BeforeBlocks | None = None
    before_generation: BeforeGeneration | None = None
    after_generation: AfterGeneration | None = None
    after_save: AfterSave | None = None


Submit = Callable[[Coroutine[Any, Any, Any]], "concurrent.futures.Future[Any]"]
"""Runs a coroutine on an event loop of another thread."""


@dataclass(frozen=True, eq=False)
class HookChain:
    """The hooks there were at one moment, in order; false when there are none.

    Its methods return what the last hook gave, and a problem for each one that was skipped. They wait for awaitable
    hooks, so they must not be called on the loop that `submit` uses. `StopRun` is raised through the first three.
    """

    hooks: tuple[Hooks, ...] = ()
    submit: Submit | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return bool(self.hooks)

    def before_context(self, state: ContextState, context: HookContext) -> tuple[ContextState, tuple[Problem, ...]]:
        """The context state that default blocks and scripts are made from."""
        steps = ((hooks.owner, hooks.before_context) for hooks in self.hooks)
        return self._run("beforeContext", state, context, steps, _a_state)

    def before_blocks(
        self, blocks: Sequence[ContextBlock], context: HookContext
    ) -> tuple[list[ContextBlock], tuple[Problem, ...]]:
        """The blocks that are compiled."""
        steps = ((hooks.owner, _on_a_copy(hooks.before_blocks)) for hooks in self.hooks)
        return self._run("beforeBlocks", list(blocks), context, steps, _blocks)

    def before_generation(
        self, messages: tuple[Message, ...], context: HookContext
    ) -> tuple[tuple[Message, ...], tuple[Problem, ...]]:
        """The messages that are sent; what a hook wrote is the span of a block with its owner as source."""
        problems: list[Problem] = []
        for hooks in self.hooks:
            sent = [ChatMessage(message.role, message.content) for message in messages]
            step = (hooks.owner, _on_a_copy(hooks.before_generation))
            given, failed = self._run("beforeGeneration", sent, context, iter((step,)), _messages)
            problems += failed
            if given != sent:
                pairs = [(role, message.content) for message in given for role in ROLES if role == message.role]
                messages = rewrite_messages(messages, pairs, hooks.owner)
        return messages, tuple(problems)

    def after_generation(self, passage: Passage, context: HookContext) -> tuple[Passage, tuple[Problem, ...]]:
        """The passage that is shown and saved."""
        steps = ((hooks.owner, hooks.after_generation) for hooks in self.hooks)
        return self._run("afterGeneration", passage, context, steps, _a_passage, stops=False)

    def after_save(self, fragment: Fragment, context: HookContext) -> tuple[Problem, ...]:
        """Tell every hook of a fragment that was saved."""
        steps = ((hooks.owner, hooks.after_save) for hooks in self.hooks)
        return self._run("afterSave", fragment, context, steps, lambda _: fragment, stops=False)[1]

    def _run(
        self,
        name: HookName,
        value: T,
        context: HookContext,
        steps: Iterator[tuple[str, Callable[[T, HookContext], Any] | None]],
        check: Callable[[Any], T],
        *,
        stops: bool = True,
    ) -> tuple[T, tuple[Problem, ...]]:
        problems: list[Problem] = []
        for owner, hook in steps:
            if hook is None:
                continue
            try:
                result = hook(value, context)
                value = check(self._awaited(result) if isawaitable(result) else result)
            except StopRun as stop:
                if stops:
                    raise StopRun(
                        Phrase(
                            "{owner} ({name}) stops this: {message}",
                            owner=owner,
                            name=name,
                            message=Phrase.of(stop.problem.message),
                        )
                    ) from None
                problems.append(_failure(owner, name, stop))
            except Exception as error:
                problems.append(_failure(owner, name, error))
        return value, tuple(problems)

    def _awaited(self, awaitable: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await awaitable

        if self.submit is None:
            raise RuntimeError(Phrase("there is no event loop to await it on"))
        future = self.submit(wait())
        try:
            return future.result(HOOK_SECONDS)
        except TimeoutError:
            if future.done():
                raise  # its own
            future.cancel()
            raise TimeoutError(Phrase("it took longer than {seconds:g} s", seconds=HOOK_SECONDS)) from None


NO_HOOKS: Final = HookChain()


class HookRegistry:
    """Who has hooks, in order. Thread-safe; a prompt being made keeps to the chain it began with."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._lock = threading.Lock()
        self._chain = NO_HOOKS

    @property
    def current(self) -> HookChain:
        """The hooks there are now; the same object until one is added or removed."""
        return self._chain

    def add(self, hooks: Hooks) -> None:
        """Add an owner's hooks behind the others. Raises `WrongInput` for a blank owner or one that is there."""
        if not hooks.owner.strip():
            raise WrongInput("hooks need the name of their owner")
        with self._lock:
            if any(other.owner == hooks.owner for other in self._chain.hooks):
                raise WrongInput(
                    Phrase("the hooks of {owner!r} are there already", owner=hooks.owner), repair="remove them first"
                )
            self._chain = HookChain((*self._chain.hooks, hooks), self._submit)

    def remove(self, owner: str) -> bool:
        """Take an owner's hooks out; whether there were any."""
        with self._lock:
            left = tuple(hooks for hooks in self._chain.hooks if hooks.owner != owner)
            if len(left) == len(self._chain.hooks):
                return False
            self._chain = HookChain(left, self._submit) if left else NO_HOOKS
            return True


def _failure(owner: str, name: HookName, error: Exception) -> Problem:
    own = isinstance(error, StonehandError)
    text: object = error.problem.message if isinstance(error, StonehandError) else error.args[:1] and error.args[0]
    if not isinstance(text, Phrase):  # the words of a plugin, or of Python
        text = collapse_space(str(text if own else error)) or Phrase("no reason")
    return Problem(
        Phrase(
            "the hook {name} of {owner!r} failed and was skipped: {kind}{reason}",
            name=name,
            owner=owner,
            kind="" if own else f"{type(error).__name__}: ",
            reason=text,
        )
    )


def _on_a_copy(
    hook: Callable[[list[T], HookContext], Any] | None,
) -> Callable[[list[T], HookContext], Any] | None:
    """A hook that can change the list it is given without any harm when it fails afterwards."""
    return None if hook is None else lambda value, context: hook(list(value), context)


def _a_state(value: Any) -> ContextState:
    if not isinstance(value, ContextState):
        raise TypeError(Phrase("it returned {what}, not a ContextState", what=_kind(value)))
    if not isinstance(value.author_input, str):
        raise TypeError(Phrase("the author's input it returned is not a text"))
    return value


def _blocks(value: Any) -> list[ContextBlock]:
    for block in _listed(value):
        if not isinstance(block, ContextBlock):
            raise TypeError(Phrase("it returned {what} among the blocks", what=_kind(block)))
        order = block.order
        if not (isinstance(block.id, str) and isinstance(block.content, str) and block.role in ROLES):
            raise TypeError(Phrase("the block {id!r} it returned has no id, text or known role", id=block.id))
        if isinstance(order, bool) or not isinstance(order, int | float) or not math.isfinite(order):
            raise TypeError(Phrase("the order of the block {id!r} it returned is not a finite number", id=block.id))
    return list(value)


def _messages(value: Any) -> list[ChatMessage]:
    for message in _listed(value):
        if not isinstance(message, ChatMessage):
            raise TypeError(Phrase("it returned {what} among the messages", what=_kind(message)))
        if message.role not in ROLES or not isinstance(message.content, str):
            raise TypeError(Phrase("a message it returned has no text, or a role that is neither system nor user"))
    return list(value)


def _a_passage(value: Any) -> Passage:
    if not isinstance(value, Passage) or not isinstance(value.text, str):
        raise TypeError(Phrase("it returned {what}, not a Passage with a text", what=_kind(value)))
    return value


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise TypeError(Phrase("it returned {what}, not a list", what=_kind(value)))
    return value


def _kind(value: Any) -> Phrase:
    return Phrase("nothing") if value is None else Phrase("a {type}", type=type(value).__name__)
