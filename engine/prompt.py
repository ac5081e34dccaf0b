"""The pipeline: agent, story, input and config to a `Prompt`. Preview and generation run this same code.

    snapshot → context state → (beforeContext) → default blocks → apply config → (beforeBlocks) → compile, fragment tags
      expanded → (beforeGeneration)

`Base` is all of it that the config does not touch, so the editor rebuilds a list or a prompt from it at once after an
edit. Scripts are evaluated between the two, by the script engine, and come in as results. Without hooks, the steps in
brackets are not there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal

from engine.addresses import UNUSED, address_keys
from engine.agents import AgentDefinition, AgentInput, Sources
from engine.agents.instructions import DEFAULTS, Instructions
from engine.agents.older_layout import old_block_warnings, renamed_block
from engine.agents.script import agent_script_fields
from engine.agents.sources import NO_SOURCES
from engine.blocks.apply import CUT_SHORT, ENGINE_MISSING, ScriptResult, apply_config, is_enabled, is_evaluated
from engine.blocks.block import ROLES, ContextBlock, Number, Role
from engine.blocks.compile import Message, Span, compile_blocks
from engine.blocks.config import BlockConfig, CustomBlock, unknown_keys
from engine.blocks.rows import BlockSlot, Row, RowMemo, arrange
from engine.blocks.tags import TAG, Resolver, expand_tags
from engine.context import ContextState, ScriptField, ScriptFunction, build_context, resolver
from engine.errors import Problem, StonehandError
from engine.hooks import NO_HOOKS, HookChain, HookContext
from engine.json_text import dotted
from engine.models.tokens import estimate_tokens
from engine.scripts import PROMPT_SECONDS, RUN_LIMITS, Limits, Outcome, ScriptEngine
from engine.story import StorySnapshot
from engine.text import Phrase

_TOO_LONG = Phrase("not run: the scripts of this prompt took {seconds:g} s together", seconds=PROMPT_SECONDS)
OUT_OF_TIME = ScriptResult(error=_TOO_LONG, kind="timeout", described=_TOO_LONG)
"""The result of a script that the ones before it left no time for."""

ONLY_BRIEFED: Final = "only when the story is in prewriter mode"
ONLY_UNBRIEFED: Final = "only when the story is not in prewriter mode"
ONLY_WITH_BRIEF: Final = "only when the prewriter gives a brief"


@dataclass(frozen=True, slots=True)
class Base:
    """Everything a prompt is made of except the block config: one agent, one story state, one author input."""

    agent: AgentDefinition
    given: AgentInput
    blocks: tuple[ContextBlock, ...]
    slots: tuple[BlockSlot, ...]
    resolve: Resolver
    known_ids: frozenset[str] = frozenset()
    """Ids of every block the agent can have, in whatever mode the story is."""
    other_mode: tuple[BlockSlot, ...] = ()
    """Every default block of the agent in the story's other mode, if those are others than in this one."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with the files it was built from, and hooks that were skipped."""
    author_input: str = ""
    """As the author gave it; a hook may have changed that of `state`."""
    hooks: HookChain = NO_HOOKS

    @property
    def snapshot(self) -> StorySnapshot:
        return self.given.snapshot

    @property
    def state(self) -> ContextState:
        return self.given.state

    @property
    def disabled_tools(self) -> tuple[str, ...]:
        """The tools the config took away when this was built, by the names they have now."""
        return self.given.disabled_tools

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools the agent has, in the order it declares them."""
        return self.given.enabled_tools

    def script_fields(self) -> tuple[dict[str, ScriptField], dict[str, ScriptFunction]]:
        """What a script block of this prompt finds in `ctx`."""
        return agent_script_fields(self.given)

    @property
    def hook_context(self) -> HookContext:
        """Where the hooks of this prompt run."""
        return HookContext(self.snapshot.story_id, self.snapshot.branch, self.agent.name)

    def expand(self, text: str) -> str:
        """`text` with its fragment tags replaced."""
        return expand_tags(text, self.resolve)

    def count(self, text: str) -> int:
        """Estimated tokens of a text as it is sent."""
        return estimate_tokens(self.expand(text))


@dataclass(frozen=True)
class PromptBlock:
    """A block as it was sent: a span of a message."""

    message: Message = field(repr=False)
    span: Span

    @property
    def id(self) -> str:
        return self.span.block.id

    @property
    def name(self) -> str:
        return self.span.block.name or self.span.block.id

    @property
    def role(self) -> Role:
        return self.span.block.role

    @property
    def order(self) -> Number:
        return self.span.block.order

    @property
    def source(self) -> str:
        return self.span.block.source

    @property
    def content(self) -> str:
        """Its text without the marker line, fragment tags expanded."""
        return self.message.content[self.span.content_start : self.span.content_end]

    @cached_property
    def tokens(self) -> int:
        """Estimated tokens, marker line included; worked out when first asked for."""
        return estimate_tokens(self.message.content[self.span.start : self.span.content_end])


@dataclass(frozen=True, slots=True)
class Tokens:
    """Estimated tokens of a prompt, by role."""

    system: int
    user: int

    @property
    def total(self) -> int:
        return self.system + self.user


@dataclass(frozen=True)
class Prompt:
    """What an agent is sent, exactly."""

    agent: str
    story: str
    branch: str
    input: str
    messages: tuple[Message, ...]
    tools: tuple[str, ...]
    warnings: tuple[str, ...]
    context_ids: tuple[str, ...] = ()
    """Ids of the fragments the agent has in full, as a generation records them (spec, section 3.6)."""
    hooks: HookChain = field(default=NO_HOOKS, repr=False, compare=False)
    """Those it was made with, which also see what comes of it."""
    disabled_tools: tuple[str, ...] = ()
    """The tools that the config takes away, those that only some runs have among them."""

    @property
    def hook_context(self) -> HookContext:
        """Where its hooks run."""
        return HookContext(self.story, self.branch, self.agent)

    @cached_property
    def blocks(self) -> tuple[PromptBlock, ...]:
        """The blocks in the order they are sent."""
        return tuple(PromptBlock(message, span) for message in self.messages for span in message.spans)

    @cached_property
    def tokens(self) -> Tokens:
        """The sum over the blocks; worked out when first asked for, since a prompt that is only sent needs none."""
        sums = {role: sum(block.tokens for block in self.blocks if block.role == role) for role in ROLES}
        return Tokens(sums["system"], sums["user"])


def build_base(
    agent: AgentDefinition,
    snapshot: StorySnapshot,
    author_input: str,
    config: BlockConfig,
    *,
    sources: Sources = NO_SOURCES,
    writer_config: BlockConfig | None = None,
    model: str | None = None,
    instruction: Instructions = DEFAULTS,
    problems: tuple[Problem, ...] = (),
    hooks: HookChain = NO_HOOKS,
) -> Base:
    """The default blocks of an agent for a state of a story. Of its own config only the disabled tools matter.

    `sources` is what a run is about, nothing for a preview; `writer_config` the writer's config, for an agent that is
    shown the writer's context; `model` the id of the model that is asked, where it is known, and `instruction` the
    fixed texts made for it; `problems` what is wrong with the files behind all these.

    Raises `StonehandError` when a hook stops it.
    """
    state = build_context(snapshot, author_input, agent.context(snapshot, sources))
    if hooks:
        state, skipped = hooks.before_context(state, HookContext(snapshot.story_id, snapshot.branch, agent.name))
        problems += skipped
    disabled = config.disabled_tools
    given = AgentInput(
        snapshot=snapshot,
        state=state,
        disabled_tools=disabled,
        enabled_tools=tuple(tool for tool in agent.tools if tool not in disabled),
        sources=sources,
        writer_config=writer_config if agent.reads_writer else None,
        instruction=instruction,
        model=model,
    )
    blocks, slots = tuple(agent.build(given)), agent.slots(given)
    others = other_slots(agent, given)
    mine = {slot.id for slot in slots}
    if mine.issuperset(slot.id for slot in others):
        other_mode: tuple[BlockSlot, ...] = ()
    else:
        other_mode = tuple(slot if slot.id in mine else replace(slot, reason=_elsewhere(given)) for slot in others)
    known = frozenset(slot.id for slot in (*slots, *others)) | {block.id for block in blocks}
    problems = (*snapshot.problems, *instruction.problems, *problems)
    return Base(agent, given, blocks, slots, resolver(snapshot), known, other_mode, problems, author_input, hooks)


def known_ids(agent: AgentDefinition, given: AgentInput) -> frozenset[str]:
    """Ids of the default blocks an agent can have in any of the story's modes, so that configuring a block of the other
    mode is no mistake.
    """
    return frozenset(slot.id for slot in (*agent.slots(given), *other_slots(agent, given)))


def other_slots(agent: AgentDefinition, given: AgentInput) -> tuple[BlockSlot, ...]:
    """Every default block the agent has in the generation mode that the story is not in (spec, section 1.4).

    Where the prewriter gave no brief, the writer has those already; the others are then the ones with a brief.
    """
    if _lacks_brief(given):
        return agent.slots(replace(given, sources=replace(given.sources, brief=None)))
    story = given.state.story
    story = replace(story, settings=replace(story.settings, generation_mode=_other_mode(given)))
    return agent.slots(replace(given, state=replace(given.state, story=story)))


def _other_mode(given: AgentInput) -> Literal["standard", "prewriter"]:
    return "standard" if given.state.story.settings.generation_mode == "prewriter" else "prewriter"


def _lacks_brief(given: AgentInput) -> bool:
    """Whether the story's passages are planned, and this one is written from the whole context all the same."""
    return given.state.story.settings.generation_mode == "prewriter" and given.sources.brief == ""


def _elsewhere(given: AgentInput) -> str:
    """Why a block that only the other mode has is not there."""
    if _lacks_brief(given):
        return ONLY_WITH_BRIEF
    return ONLY_BRIEFED if _other_mode(given) == "prewriter" else ONLY_UNBRIEFED


def block_ids(agent: AgentDefinition, snapshot: StorySnapshot) -> frozenset[str]:
    """`known_ids` of an agent in a story that nothing else is known of."""
    return known_ids(agent, AgentInput(snapshot, build_context(snapshot, ""), (), agent.tools))


def list_rows(
    base: Base, config: BlockConfig, scripts: Mapping[str, ScriptResult], memo: RowMemo | None = None
) -> tuple[Row, ...]:
    """The block list the editor shows, from the same parts as the prompt. `memo` is for one base only."""
    return arrange(base.slots, base.blocks, config, scripts, base.count, memo, base.other_mode)


def unevaluated(config: BlockConfig, scripts: Mapping[str, ScriptResult]) -> list[CustomBlock]:
    """Script blocks that take part and have no result yet, in config order, each body once."""
    bodies: dict[str, CustomBlock] = {}
    for block in config.customBlocks:
        if block.type == "script" and block.content not in scripts and is_enabled(block, config):
            bodies.setdefault(block.content, block)
    return list(bodies.values())


def script_result(outcome: Outcome) -> ScriptResult:
    """The sandbox's outcome as the block pipeline knows it."""
    return ScriptResult(
        text=outcome.text if outcome.kind == "ok" else None,
        error=None if outcome.kind in ("ok", "not_string") else outcome.message,
        kind=outcome.kind,
        line=outcome.line,
        milliseconds=outcome.milliseconds,
        console=outcome.console,
        described=outcome.describe(),
    )


def cut_short(result: ScriptResult, limits: Limits) -> ScriptResult:
    """The result of a preview that was stopped after the time of `limits`, if a prompt gives a script more than that:
    no failure of the script, and nothing that a prompt would hold.
    """
    if limits.seconds >= RUN_LIMITS.seconds:
        return result
    what = "stopped after {seconds:g} s: a prompt gives it up to {most:g} s"
    said = Phrase(what, seconds=limits.seconds, most=RUN_LIMITS.seconds)
    return replace(result, text=None, error=None, kind=CUT_SHORT, line=None, described=said)


def evaluate_scripts(
    engine: Callable[[], ScriptEngine],
    base: Base,
    config: BlockConfig,
    limits: Limits,
    known: Mapping[str, ScriptResult] | None = None,
) -> dict[str, ScriptResult]:
    """Results of every script block that takes part, by body; those in `known` are not run again.

    `engine` is called only if a script has to run. Blocks the calling thread. All blocks of one prompt share
    `PROMPT_SECONDS`; what is left when they are spent counts as timed out.
    """
    results = dict(known or {})
    todo = unevaluated(config, results)
    if not todo:
        return results
    fields, functions = base.script_fields()
    deadline = time.monotonic() + PROMPT_SECONDS
    for block in todo:
        left = deadline - time.monotonic()
        if left > 0:
            allowed = replace(limits, seconds=min(limits.seconds, left))
            results[block.content] = script_result(engine().evaluate(block.content, fields, functions, allowed))
        else:
            results[block.content] = OUT_OF_TIME
    return results


def assemble(base: Base, config: BlockConfig, scripts: Mapping[str, ScriptResult]) -> Prompt:
    """The prompt. Pure, if the base's hooks are: the same base, config and results give the same prompt.

    Waits for hooks that are awaitable. Raises `StonehandError` when a script block that takes part could not be
    evaluated at all, or a hook stops it.
    """
    _refuse_unevaluated(config, scripts)
    blocks = apply_config(base.blocks, config, scripts)
    problems = base.problems
    if base.hooks:
        blocks, skipped = base.hooks.before_blocks(blocks, base.hook_context)
        problems += skipped
    messages = compile_blocks(blocks, base.expand)
    if base.hooks:
        messages, skipped = base.hooks.before_generation(messages, base.hook_context)
        problems += skipped
    disabled = config.disabled_tools
    return Prompt(
        agent=base.agent.name,
        story=base.snapshot.story_id,
        branch=base.snapshot.branch,
        input=base.author_input,
        messages=messages,
        tools=tuple(tool for tool in base.agent.tools if tool not in disabled),
        warnings=(*(problem.told() for problem in problems), *_warnings(base, config, scripts, blocks)),
        context_ids=context_ids(base.state),
        hooks=base.hooks,
        disabled_tools=disabled,
    )


def context_ids(state: ContextState) -> tuple[str, ...]:
    """Ids of what the writer has in full, in the order the reference records them (spec, section 3.6)."""
    groups = (
        state.sticky_characters,
        state.recent_characters,
        state.sticky_knowledge,
        state.recent_knowledge,
        *(group.fragments for group in state.sticky_custom_fragments),
        *(group.fragments for group in state.recent_custom_fragments),
    )
    return tuple(dict.fromkeys(fragment.id for group in groups for fragment in group))


def _refuse_unevaluated(config: BlockConfig, scripts: Mapping[str, ScriptResult]) -> None:
    for block in config.customBlocks:
        if not is_evaluated(block, config):
            continue
        result = scripts.get(block.content)
        if result is None or result.kind == ENGINE_MISSING:
            reason = result.error if result is not None else Phrase("it has not run yet")
            raise StonehandError(
                Phrase(
                    "script block {name!r} ({id}) was not evaluated: {reason}",
                    name=block.name,
                    id=block.id,
                    reason=reason,
                ),
                repair="disable the block, or mend the cause",
            )


def _warnings(
    base: Base, config: BlockConfig, scripts: Mapping[str, ScriptResult], blocks: Iterable[ContextBlock]
) -> Iterable[str]:
    for block in config.customBlocks:
        result = scripts.get(block.content) if is_evaluated(block, config) else None
        if result is not None and result.error is not None:
            name, error = block.name, result.error
            if result.line is None:
                yield Phrase("script block {name!r} ({id}): {error}", name=name, id=block.id, error=error)
            else:
                at_line = "script block {name!r} ({id}, line {line}): {error}"
                yield Phrase(at_line, name=name, id=block.id, line=result.line, error=error)
    missing = dict.fromkeys(
        match[1] for block in blocks for match in TAG.finditer(block.content) if base.resolve(match[1], True) is None
    )
    yield from (Phrase("fragment tag <@{id}> names no fragment", id=fragment_id) for fragment_id in missing)
    known = base.known_ids | {block.id for block in config.customBlocks}
    yield from (
        Phrase("override for {id}: this agent has no such block", id=block_id)
        for block_id in config.overrides
        if block_id not in known and renamed_block(block_id, base.known_ids) is None
    )
    yield from (
        Phrase("the block config: {field} {unused}", field=dotted(path), unused=Phrase(UNUSED))
        for place, extra in unknown_keys(config)
        for path in address_keys(extra, place)
    )
    yield from old_block_warnings(base.snapshot.story_id, config, base.known_ids)
