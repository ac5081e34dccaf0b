"""`Session`: one agent of a story's branch, open for editing. What the editor's keys and `stonehand config` both do.

It belongs to the caller's thread and is instant, except `load`, which may wait for the disk and for scripts and may run
on any thread; its answer is handed back with `install`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from engine.agents.older_layout import old_block_warnings, renamed_block
from engine.blocks import edits
from engine.blocks.apply import ScriptResult
from engine.blocks.block import Number, Role
from engine.blocks.config import (
    LONGEST_NAME,
    RENAMED_TOOLS,
    BlockConfig,
    BlockType,
    ConfigFault,
    ContentMode,
    CustomBlock,
    checked,
)
from engine.blocks.leftovers import Leftover, drop_ids, find_leftovers, part_shared, rename_id
from engine.blocks.moves import gathered, shifted
from engine.blocks.rows import Row, RowMemo
from engine.document import Change, Document
from engine.errors import NotFound, StonehandError, WrongInput
from engine.hooks import NO_HOOKS, HookChain
from engine.prompt import Base, Prompt, assemble, list_rows, unevaluated
from engine.story.ids import new_block_id
from engine.text import Phrase, collapse_space, cut, did_you_mean, listed, utf16_length

if TYPE_CHECKING:
    from engine.why import BlockReasons, Explanation

ANALYZE = "librarian.analyze"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
ORDER_LIMIT = 2**53
"""The largest order, either way: beyond it the file's numbers skip some integers, so that another one is stored."""
_GIVEN_UP: Final = "{done}; the order counts now for what was pinned: {pinned}"
_MODE_LABELS: dict[ContentMode | None, str] = {
    None: "{name}: the default text",
    "prepend": "{name}: your text before the default",
    "append": "{name}: your text after the default",
    "override": "{name}: your text instead of the default",
}
KEYS_NAMED = 20
"""Blocks that a message names at most."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The story as it stands on disk for this agent, and what its scripts gave."""

    base: Base
    results: Mapping[str, ScriptResult]


class Session:
    """One open agent.

    Edits return the `Change` they made, or None when nothing changed. They raise `NotFound` for a block that is not
    there, `WrongInput` for a value that is not acceptable, and `InvalidFile` while the config's file is invalid.
    """

    def __init__(
        self,
        story: str,
        branch: str,
        agent: str,
        document: Document,
        build: Callable[[str, BlockConfig], Base],
        evaluate: Callable[[Base, BlockConfig], Mapping[str, ScriptResult]],
        hooks: Callable[[], HookChain] = lambda: NO_HOOKS,
        *,
        target: str | None = None,
    ) -> None:
        self.story = story
        self.branch = branch
        self.agent = agent
        self.document = document
        self.author_input = ""
        self.target = target
        """The id of the fragment that its prompt is about; None for a preview that is about none."""
        self._build = build
        self._evaluate = evaluate
        self._hooks = hooks
        self._loaded: Loaded | None = None
        self._rows: tuple[BlockConfig, Loaded, tuple[Row, ...]] | None = None
        self._prompt: tuple[BlockConfig, Loaded, Prompt] | None = None
        self._memo = RowMemo()
        self._cut_short: dict[str, ScriptResult] = {}
        self._leftovers: tuple[BlockConfig, Base, tuple[Leftover, ...]] | None = None

    # -- state

    def load(self, config: BlockConfig | None = None) -> Loaded:
        """Read the story and run the scripts that have not run yet. Waits; thread-safe. Raises `StonehandError`."""
        config = self.document.config if config is None else config
        base = self._build(self.author_input, config)
        return Loaded(base, self._evaluate(base, config))

    def install(self, loaded: Loaded) -> None:
        """Use what `load` gave."""
        if self.base is not loaded.base:
            self._memo = RowMemo()
            self._cut_short = {}
        self._loaded = loaded
        for body in self._cut_short.keys() & loaded.results.keys():
            del self._cut_short[body]

    def learn(self, base: Base, body: str, result: ScriptResult) -> ScriptResult:
        """Use the result of a script that was run for its author, unless the story has changed since; returns what is
        now known of the script.

        One that was stopped is not used for the prompt, which gives a script more time than a preview does: if it has
        run for a prompt, what it gave there stands.
        """
        loaded = self._loaded
        if result.kind in ("timeout", "cancelled") or loaded is None or loaded.base is not base:
            return result
        if not result.cut_short:
            self._loaded = Loaded(base, {**loaded.results, body: result})
        elif body not in loaded.results:
            self._cut_short[body] = result
            self._rows = None
        return self.result(body) or result

    def result(self, body: str) -> ScriptResult | None:
        """What a script gave for the prompt; else, of one whose preview was stopped, that; else None."""
        if self._loaded is not None and body in self._loaded.results:
            return self._loaded.results[body]
        return self._cut_short.get(body)

    @property
    def base(self) -> Base | None:
        """What the prompt is built from; None before the first `install`."""
        return self._loaded.base if self._loaded is not None else None

    @property
    def old_blocks(self) -> list[str]:
        """A warning for each id of the older layout in the config; none before the session was loaded."""
        return old_block_warnings(self.story, self.document.config, self.base.known_ids) if self.base else []

    @property
    def leftovers(self) -> tuple[Leftover, ...]:
        """What the config says of blocks that are not there; empty before the first `install`."""
        base, config = self.base, self.document.config
        if base is None:
            return ()
        if self._leftovers is None or self._leftovers[0] is not config or self._leftovers[1] is not base:
            found = find_leftovers(config, base.known_ids, lambda old: renamed_block(old, base.known_ids))
            self._leftovers = (config, base, found)
        return self._leftovers[2]

    @property
    def rows(self) -> tuple[Row, ...]:
        """The block list; empty before the first `install`."""
        loaded, config = self._loaded, self.document.config
        if loaded is None:
            return ()
        if self._rows is None or self._rows[0] is not config or self._rows[1] is not loaded:
            results = {**self._cut_short, **loaded.results} if self._cut_short else loaded.results
            self._rows = (config, loaded, list_rows(loaded.base, config, results, self._memo))
        return self._rows[2]

    @property
    def waiting(self) -> bool:
        """Whether a `load` is due: scripts that take part have not run yet, or the author's input, the disabled tools
        or the hooks are not those the base was built with.
        """
        loaded = self._loaded
        return (
            loaded is None
            or loaded.base.author_input != self.author_input
            or loaded.base.hooks is not self._hooks()
            or self._tools_differ(loaded.base)
            or bool(unevaluated(self.document.config, loaded.results))
        )

    def row(self, key: str) -> Row:
        """The row of this key. Raises `NotFound` naming the keys there are."""
        for row in self.rows:
            if row.key == key:
                return row
        if self.base is not None and (new := renamed_block(key, self.base.known_ids)) is not None:
            raise NotFound(
                Phrase("{agent} has no block {key!r}", agent=self.agent, key=key),
                repair=Phrase("it is called {new} now", new=new),
            )
        keys = [row.key for row in self.rows]
        known = ", ".join(keys[:KEYS_NAMED])
        if len(keys) > KEYS_NAMED:
            known = Phrase("{known} and {more} more", known=known, more=len(keys) - KEYS_NAMED)
        close = did_you_mean(key, {row.key: (row.name,) for row in self.rows})
        raise NotFound(
            Phrase("{agent} has no block {key!r}", agent=self.agent, key=key),
            repair=Phrase("{close}blocks: {known}", close=close, known=known or "none"),
        )

    def text(self, key: str) -> str:
        """The text that can be edited: the body of a custom block, the custom content of a built-in one."""
        return edits.text_of(self.document.config, key)

    def script_names(self) -> tuple[str, ...]:
        """The fields and functions a script of this agent finds in `ctx` now; empty before something is loaded."""
        if self.base is None:
            return ()
        fields, functions = self.base.script_fields()
        return (*fields, *functions)

    def prompt(self) -> Prompt:
        """The prompt of what is loaded; the same one while that and the config stay. Waits for hooks.

        Raises `StonehandError` when it can't be built yet, or a hook stops it.
        """
        return self.compiling()()

    def compiling(self) -> Callable[[], Prompt]:
        """`prompt` as it stands now, to be called on any thread: hooks may take their time. Raises as it does."""
        loaded, config = self._loaded, self.document.config
        if loaded is None:
            raise WrongInput("nothing is loaded yet")
        if self._tools_differ(loaded.base):
            raise StonehandError("the tools have changed since the blocks were built", repair="load them again")

        def compiled() -> Prompt:
            # Hooks run once for what is shown and sent, as scripts do.
            known = self._prompt
            if known is None or known[0] is not config or known[1] is not loaded:
                known = self._prompt = (config, loaded, assemble(loaded.base, config, loaded.results))
            return known[2]

        return compiled

    def compiling_with(self, config: BlockConfig) -> Callable[[], Prompt]:
        """As `compiling`, of another config on what is loaded now; it also waits for scripts that config alone has.

        Where the tools are the same, nothing but the config differs from `prompt`: neither the story nor what a script
        has given.
        """
        loaded = self._loaded
        if loaded is None:
            raise WrongInput("nothing is loaded yet")

        def compiled() -> Prompt:
            if config.disabled_tools != loaded.base.disabled_tools:
                other = self.load(config)
                return assemble(other.base, config, other.results)
            known = {**self._evaluate(loaded.base, config), **loaded.results}
            return assemble(loaded.base, config, known)

        return compiled

    def explaining(self) -> Callable[[], Explanation]:
        """Why the prompt, as it stands now, says what it says: to be called on any thread. Raises as `prompt`."""
        from engine.why import Explanation

        compiled, loaded, config = self.compiling(), self._loaded, self.document.config
        assert loaded is not None
        return lambda: Explanation(loaded.base, config, loaded.results, compiled())

    def why_block(self, key: str) -> BlockReasons:
        """Why a block of the list is as it is. Raises `NotFound`."""
        from engine.why import block_reasons

        if (base := self.base) is None:
            raise WrongInput("nothing is loaded yet")
        return block_reasons(base, self.document.config, self.rows, self.row(key))

    # -- edits

    def toggle(self, key: str, enabled: bool | None = None) -> Change | None:
        """Enable or disable a block; without `enabled`, the other of the two."""
        row = self.row(key)
        target = not row.enabled if enabled is None else enabled
        # Blocks that share an id share what is overridden, so that all of them are switched: each is named.
        twins = [other for other in self.rows if other.id == row.id and other.enabled != target]
        name = _each_named(twins) if len(twins) > 1 else row.name
        label = Phrase("enabled {name}" if target else "disabled {name}", name=name)
        return self._apply(label, lambda config: edits.set_enabled(config, row.id, target))

    def move(self, key: str, index: int) -> Change | None:
        """Put a block at `index` (from 0) among the rows of its role; a place outside is the nearest end."""
        row = self.row(key)
        section = [other.key for other in self.rows if other.role == row.role]
        if section.index(key) == max(0, min(index, len(section) - 1)):
            return None
        label = Phrase("moved {name}", name=row.name)
        return self._order(label, lambda config: edits.move_block(config, self.rows, key, index), {key})

    def set_mode(self, key: str, mode: ContentMode | None, text: str | None = None) -> Change | None:
        """Choose the content mode, and the text with it when one is given."""
        row = self.row(key)

        def change(config: BlockConfig) -> BlockConfig:
            config = edits.set_mode(config, row.id, mode, row.default or "")
            return config if text is None else _override_text(config, row.id, text)

        label = Phrase(_MODE_LABELS.get(mode, _MODE_LABELS[None]), name=row.name)  # another mode is refused below
        return self._apply(label, change)

    def set_text(self, key: str, text: str) -> Change | None:
        """Replace a block's text."""
        row = self.row(key)
        return self._apply(Phrase("edited {name}", name=row.name), lambda config: edits.set_text(config, row.key, text))

    def type_text(self, key: str, text: str) -> Change | None:
        """As `set_text`, for text as it is being typed: undone by stretches, journalled by its difference.

        The block need not be in the list: what is being typed is kept when the list has changed meanwhile.
        """
        return self.document.type_text(key, text)

    def add(self, name: str, role: Role, type: BlockType, text: str = "", *, after: str | None = None) -> str:
        """Add a custom block behind row `after`, or last in its role; returns its id."""
        block = self._new(name=name, role=role, type=type, content=text)
        anchor = self.row(after).key if after is not None else None
        label = Phrase("added {name}", name=block.name)
        self._order(label, lambda config: edits.add_block(config, self.rows, block, anchor))
        return block.id

    def duplicate(self, key: str) -> str:
        """Add a copy behind a block: of a custom one the same, of a built-in one its text as a simple block; the
        copy of one that is off is off.
        """
        return self.duplicate_all([key])[0]

    def change(
        self,
        key: str,
        *,
        name: str | None = None,
        role: Role | None = None,
        type: BlockType | None = None,
        order: Number | None = None,
    ) -> Change | None:
        """Rename a custom block, or change its role, type or own order, which takes the place of a pinned one."""
        row = self._custom(key)
        _check_order(order)

        def edit(config: BlockConfig) -> BlockConfig:
            if order is not None:
                config = edits.set_order_override(config, row.id, None)
            try:
                return edits.set_custom(
                    config, row.key, name=None if name is None else _name(name), role=role, type=type, order=order
                )
            except ConfigFault as fault:
                raise WrongInput(str(fault)) from None

        return self._apply(Phrase("changed {name}", name=row.name), edit)

    def pin_order(self, key: str, order: Number | None) -> Change | None:
        """Give a block a numeric order that wins over its place in the list; None takes it away."""
        row = self.row(key)
        _check_order(order)
        label = Phrase("changed the order of {name}", name=row.name)
        return self._apply(label, lambda config: edits.set_order_override(config, row.id, order))

    def delete(self, key: str) -> Change | None:
        """Delete a custom block; a built-in one can only be disabled."""
        row = self._custom(key)
        return self._apply(Phrase("deleted {name}", name=row.name), lambda config: edits.delete_block(config, row.key))

    def reset(self, key: str | None = None) -> Change | None:
        """Drop what is overridden about one block, or about the whole agent."""
        if key is None:
            return self._apply(Phrase("reset {name}", name=self.agent), edits.reset_agent)
        row = self.row(key)
        label = Phrase("reset {name}", name=row.name)
        return self._apply(label, lambda config: edits.reset_block(config, row.id))

    def replace(self, config: BlockConfig, label: str) -> Change | None:
        """Put another config in place of this one, as one step that undo takes back."""
        return self._apply(label, lambda _: config)

    # -- edits of several blocks, each one step that undo takes back; they raise as those of one do

    def toggle_all(self, keys: Iterable[str], enabled: bool | None = None) -> Change | None:
        """Enable or disable blocks; without `enabled` all are disabled when one of them is enabled."""
        rows = self._rows_of(keys)
        target = not any(row.enabled for row in rows) if enabled is None else enabled
        asked = sum(row.enabled != target for row in rows)
        ids = {row.id for row in rows}
        # Those that share an id with one of them are switched, too.
        rows = [row for row in self.rows if row.id in ids and row.enabled != target]
        name = _each_named(rows) if len(rows) > asked else _named(rows)

        def edit(config: BlockConfig) -> BlockConfig:
            for row in rows:
                config = edits.set_enabled(config, row.id, target)
            return config

        label = Phrase("enabled {name}" if target else "disabled {name}", name=name)
        return self._apply(label, edit)

    def shift(self, keys: Iterable[str], step: int, shown: Collection[str] | None = None) -> Change | None:
        """Move blocks by `step` rows, those of each role together, over the rows in `shown` (see `moves.shifted`)."""
        moved = {row.key for row in self._rows_of(keys)}
        return self.rearrange(shifted(self.rows, moved, step, shown), moved)

    def gather(self, keys: Iterable[str], key: str, index: int) -> Change | None:
        """Put a block at `index` of its role and the other blocks of that role beside it (see `moves.gathered`)."""
        role = self.row(key).role
        moved = {row.key for row in self._rows_of(keys) if row.role == role}
        return self.rearrange(gathered(self.rows, moved | {key}, key, index), moved | {key})

    def rearrange(self, order: Sequence[str], moved: Collection[str]) -> Change | None:
        """Show the blocks in this order of all their keys, `moved` being those whose places change."""
        rows = self.rows
        if [row.key for row in rows] == list(order):
            return None
        named = _named([row for row in rows if row.key in moved])
        label = Phrase("moved {name}", name=named)
        return self._order(label, lambda config: edits.rearrange(config, rows, order, moved), moved)

    def clear_modes(self, keys: Iterable[str]) -> Change | None:
        """Have built-in blocks say their default text again; texts that were written are kept. Others stay."""
        rows = [row for row in self._rows_of(keys) if not row.custom]

        def edit(config: BlockConfig) -> BlockConfig:
            for row in rows:
                config = edits.set_mode(config, row.id, None, row.default or "")
            return config

        return self._apply(Phrase(_MODE_LABELS[None], name=_named(rows)), edit) if rows else None

    def duplicate_all(self, keys: Iterable[str]) -> list[str]:
        """Add a copy behind each block, as `duplicate` does; returns their ids, in the order of the list."""
        rows = self._rows_of(keys)
        added: list[tuple[CustomBlock, str | None]] = []
        for row in rows:
            added.append((self._copy(row, [block for block, _ in added]), row.key))
        label = Phrase("duplicated {name}", name=_named(rows))
        off = [block.id for row, (block, _) in zip(rows, added, strict=True) if not row.enabled]

        def edit(config: BlockConfig) -> BlockConfig:
            config = edits.add_blocks(config, self.rows, added)
            for block_id in off:
                config = edits.set_enabled(config, block_id, False)
            return config

        self._order(label, edit)
        return [block.id for block, _ in added]

    def delete_all(self, keys: Iterable[str]) -> Change | None:
        """Delete the custom ones of some blocks; built-in ones can only be disabled, and stay."""
        rows = [row for row in self._rows_of(keys) if row.custom]
        if not rows:
            return None
        return self._apply(
            Phrase("deleted {name}", name=_named(rows)),
            lambda config: edits.delete_blocks(config, [row.key for row in rows]),
        )

    def reset_all(self, keys: Iterable[str]) -> Change | None:
        """Drop what is overridden about some blocks."""
        rows = self._rows_of(keys)
        label = Phrase("reset {name}", name=_named(rows))
        return self._apply(label, lambda config: edits.reset_blocks(config, {row.id for row in rows}))

    # -- what is left over in the config

    def drop_leftovers(self, ids: Iterable[str]) -> Change | None:
        """Remove the overrides and places of ids that no block has."""
        found = [self._leftover(block_id, "override", "order", "old").id for block_id in ids]
        what = found[0] if len(found) == 1 else Phrase("{count} ids", count=len(found))
        return self._apply(Phrase("removed what was left of {name}", name=what), lambda config: drop_ids(config, found))

    def rename_leftover(self, block_id: str) -> Change | None:
        """Give what is stored for a block of the older layout to the block it is now.

        Raises `WrongInput` when that has an override of its own.
        """
        left = self._leftover(block_id, "old")
        new = left.successor
        if new is None or not left.renamable:
            raise WrongInput(
                Phrase("{new} has an override too", new=new),
                repair=Phrase(
                    "take over by hand what is wanted of that of {block_id}, and remove it", block_id=block_id
                ),
            )
        label = Phrase("renamed {name} to {new}", name=block_id, new=new)
        return self._apply(label, lambda config: rename_id(config, block_id, new))

    def part_shared(self, block_id: str) -> Change | None:
        """Give all blocks but the first that share an id one of their own."""
        self._leftover(block_id, "shared")
        return self._apply(
            Phrase("gave the blocks with the id {name} ids of their own", name=block_id),
            lambda config: part_shared(config, block_id, new_block_id),
        )

    def set_tool(self, tool: str, enabled: bool, known: tuple[str, ...]) -> Change | None:
        """Switch a tool on or off. Raises `NotFound` for one the agent does not have."""
        if tool not in known:
            new = RENAMED_TOOLS.get(tool)
            now = "" if new is None else Phrase(", which is the old name of {new}", new=new)
            close = "" if new is not None else did_you_mean(tool, dict.fromkeys(known, ()))
            repair = Phrase("{close}tools: {known}", close=close, known=", ".join(known) or "none")
            raise NotFound(
                Phrase("{agent} has no tool {tool!r}{now}", agent=self.agent, tool=tool, now=now), repair=repair
            )
        label = Phrase("enabled the tool {name}" if enabled else "disabled the tool {name}", name=tool)
        return self._apply(label, lambda config: edits.set_tool(config, tool, enabled))

    def set_auto_analysis(self, enabled: bool) -> Change | None:
        """Let the analysis run by itself after a save, or not. Raises `WrongInput` for an agent that never does."""
        if self.agent != ANALYZE:
            raise WrongInput(
                Phrase("{agent} never runs by itself", agent=self.agent),
                repair=Phrase("this is for {analyze}", analyze=ANALYZE),
            )
        label = "enabled the analysis after a save" if enabled else "disabled the analysis after a save"
        return self._apply(label, lambda config: edits.set_auto_analysis(config, enabled))

    def undo(self) -> Change | None:
        """Take the last edit back."""
        return self.document.undo()

    def redo(self) -> Change | None:
        """Do the edit again that was taken back last."""
        return self.document.redo()

    # -- inside

    def _leftover(self, block_id: str, *kinds: str) -> Leftover:
        for left in self.leftovers:
            if left.id == block_id and left.kind in kinds:
                return left
        raise NotFound(
            Phrase("nothing of the kind is left over for {block_id!r}", block_id=block_id), file=self.document.file
        )

    def _order(
        self, label: str, edit: Callable[[BlockConfig], BlockConfig], moved: Collection[str] = ()
    ) -> Change | None:
        """An edit that may write the whole order: which gives up the numbers that other blocks are pinned to, so the
        label names those.
        """
        try:
            after = edit(self.document.config)
        except ValueError as error:
            raise WrongInput(str(error)) from None
        kept = {block_id for block_id, override in after.overrides.items() if override.order is not None}
        pinned = [row.name for row in self.rows if row.pinned and row.key not in moved and row.id not in kept]
        if pinned:
            label = Phrase(_GIVEN_UP, done=label, pinned=", ".join(pinned))
        return self._apply(label, lambda _: after)

    def _tools_differ(self, base: Base) -> bool:
        return base.disabled_tools != self.document.config.disabled_tools

    def _apply(self, label: str, edit: Callable[[BlockConfig], BlockConfig]) -> Change | None:
        try:
            return self.document.apply(label, edit)
        except ValueError as error:
            raise WrongInput(str(error)) from None

    def _custom(self, key: str) -> Row:
        row = self.row(key)
        if not row.custom:
            raise WrongInput(
                Phrase("{name} is a built-in block", name=row.name),
                repair="only custom blocks can be changed like this",
            )
        return row

    def _rows_of(self, keys: Iterable[str]) -> list[Row]:
        """The rows of these keys, in the order of the list. Raises `NotFound`."""
        wanted = set(keys)
        rows = [row for row in self.rows if row.key in wanted]
        for key in wanted - {row.key for row in rows}:
            self.row(key)
        return rows

    def _copy(self, row: Row, beside: Sequence[CustomBlock]) -> CustomBlock:
        """What a duplicate of a block is, made after those `beside` it."""
        custom = edits.custom_at(self.document.config, row.key)
        name = cut(row.name, LONGEST_NAME - len(" copy")) + " copy"
        if custom is not None:
            return self._new(
                name=name, role=custom.role, type=custom.type, content=custom.content, like=custom, beside=beside
            )
        text = row.default if row.content is None else row.content
        if text is None:
            raise WrongInput(
                Phrase("{name} is not there, so it has no text to copy: {reason}", name=row.name, reason=row.note),
                repair="add a block instead",
            )
        return self._new(name=name, role=row.role, type="simple", content=text, beside=beside)

    def _new(
        self,
        *,
        name: str,
        role: Role,
        type: BlockType,
        content: str,
        like: CustomBlock | None = None,
        beside: Sequence[CustomBlock] = (),
    ) -> CustomBlock:
        taken = {block.id for block in (*self.document.config.customBlocks, *beside)}
        values: dict[str, Any] = like.model_dump() if like is not None else {}
        values |= {
            "id": new_block_id(taken),
            "name": _name(name),
            "role": role,
            "order": edits.next_order(self.rows, role) + 100 * sum(block.role == role for block in beside),
            "enabled": True,
            "type": type,
            "content": content,
        }
        try:
            return checked(CustomBlock, values)
        except ConfigFault as fault:
            raise WrongInput(str(fault)) from None


def _name(name: str) -> str:
    """A block's name as it is stored: trimmed, on one line, without control characters.

    Raises `WrongInput` for one that no config may hold.

    The reference counts UTF-16 units, and drops a whole config for one name that is too long (spec, section 8.1).
    """
    name = _CONTROL.sub("", collapse_space(name))
    if not name:
        raise WrongInput(
            "a block needs a name",
            repair=Phrase("give it one of 1 to {longest_name} characters", longest_name=LONGEST_NAME),
        )
    if (length := utf16_length(name)) > LONGEST_NAME:
        raise WrongInput(
            Phrase("the name is {length} characters long", length=length),
            repair=Phrase("give it at most {longest_name}", longest_name=LONGEST_NAME),
        )
    return name


def _named(rows: Sequence[Row]) -> str:
    """What a label calls these blocks."""
    return rows[0].name if len(rows) == 1 else Phrase("{count} blocks", count=len(rows))


def _each_named(rows: Sequence[Row]) -> str:
    """What a label calls blocks of which each is to be known."""
    return listed([f"{row.name} ({row.key})" for row in rows])


def _check_order(order: Number | None) -> None:
    """Raises `WrongInput` for an order that no file can hold as it is."""
    if order is not None and ORDER_LIMIT < abs(order) != math.inf:
        raise WrongInput(
            "an order as large can't be stored exactly",
            repair=Phrase("give one up to {order_limit}", order_limit=ORDER_LIMIT),
        )


def _override_text(config: BlockConfig, block_id: str, text: str) -> BlockConfig:
    if config.custom(block_id) is None:
        return edits.set_text(config, block_id, text)
    override = config.override(block_id).model_copy(update={"customContent": text})
    return config.model_copy(update={"overrides": {**config.overrides, block_id: override}})
