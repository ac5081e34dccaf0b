"""One story on disk, read as immutable snapshots.

Opening and reading write nothing. Files are read again only when they changed; while a watcher vouches for
the folder none is looked at (spec, bugs 9, 30 and 31, are what this avoids).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from engine.disk import FileCache, FolderCache, Stamp, child, lock, stamp_of
from engine.errors import InvalidFile, NotFound, Problem, StonehandError
from engine.story import branching, librarian, ordering, revising, saving
from engine.story.associations import NO_ASSOCIATIONS, Associations, parse_associations
from engine.story.branches import FOLDER as BRANCHES
from engine.story.branches import INDEX, Branch, Branches, adopt_branches, content_root, is_legacy, parse_branches
from engine.story.chain import NO_CHAIN, ProseChain, parse_chain
from engine.story.fragment import Fragment, parse_fragment
from engine.story.meta import NO_META, StoryMeta, parse_meta
from engine.text import Phrase

T = TypeVar("T")

_UNREAD_FOLDERS = frozenset(("agent-blocks", "generation-logs", "librarian", "character-chat"))


@dataclass(frozen=True, eq=False)
class StorySnapshot:
    """A story's branch as it was at one moment. The same object is handed out until something changes on
    disk.

    `fragments` holds every readable fragment by id, archived ones too, in the byte order of the file names;
    `problems` what is wrong with the files.
    """

    story_id: str
    path: Path
    branch: str
    meta: StoryMeta
    branches: Branches
    fragments: Mapping[str, Fragment]
    by_type: Mapping[str, tuple[Fragment, ...]]
    """Type to the fragments of it that are not archived, in the same order."""
    chain: ProseChain
    associations: Associations
    problems: tuple[Problem, ...]

    def get(self, fragment_id: str) -> Fragment | None:
        """The fragment of this id, archived or not, or None."""
        return self.fragments.get(fragment_id)

    def of_type(self, fragment_type: str, archived: bool = False) -> tuple[Fragment, ...]:
        """The fragments of a type in file order; with `archived`, those put away as well."""
        if archived:
            return tuple(item for item in self.fragments.values() if item.type == fragment_type)
        return self.by_type.get(fragment_type, ())


class StoryFolder:
    """A story's folder. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._meta = FileCache(path / "meta.json", parse_meta)
        self._index = FileCache(path / INDEX, lambda file, data: (file, data))
        self._branches: tuple[object, Stamp | None, Branches] | None = None
        self._contents: dict[Path, _Content] = {}
        self._guard = threading.Lock()
        self._watched = False
        self._generation = 0
        self._vouched: dict[str | None, tuple[int, StorySnapshot]] = {}
        self._vouched_branches: tuple[int, Branches] | None = None

    @property
    def id(self) -> str:
        """The folder's name, which is what addresses the story (spec, section 1.4)."""
        return self.path.name

    def meta(self) -> StoryMeta:
        """What `meta.json` says. Raises `NotFound` without one, `InvalidFile` when it can't be used."""
        with self._lock:
            return self._meta.load()

    def branches(self) -> Branches:
        """The branches, one named `main` where there is no index."""
        with self._lock:
            generation, known = self._generation, self._vouched_branches
            if self._watched and known is not None and known[0] == generation:
                return known[1]
            source = self._index.load()
            folder = stamp_of(self.path / BRANCHES)
            if self._branches is None or self._branches[0] is not source or self._branches[1] != folder:
                self._branches = (source, folder, parse_branches(*source))
            self._vouched_branches = (generation, self._branches[2])
            return self._branches[2]

    def branch(self, branch_id: str | None = None) -> Branch:
        """The branch of this id, or the active one. Raises `NotFound`."""
        return self.branches().get(branch_id)

    def branch_to_write(self, branch_id: str | None = None) -> Branch:
        """The branch to write to: of this id, or the active one. Writes nothing.

        Raises `InvalidFile` when it is in doubt which is the active one, `NotFound` for one that is not there or has no
        folder.
        """
        branches = self.branches()
        branch = branches.to_write(branch_id)
        root = content_root(self.path, branch.id)
        if not root.is_dir():
            raise NotFound(
                Phrase("the branch {id} has no folder, so nothing is written to it", id=branch.id),
                file=root,
                repair="restore it from a backup, or switch to another branch",
            )
        return branch

    def content_root(self, branch_id: str) -> Path:
        """The folder to read a branch's content from. Raises `WrongInput` for an id that is no plain name."""
        return content_root(self.path, branch_id)

    def writable_root(self, branch_id: str) -> Path:
        """The folder to write a branch's content to; a story of the old layout is given branches first.

        Raises `NotFound` for a branch that is not there, as one that was deleted meanwhile, or that has no folder: what
        is written would be all that is in it.
        """
        self.branch_to_write(branch_id)
        if self.branches().legacy:
            with lock(self.path / INDEX):
                if is_legacy(self.path):
                    adopt_branches(self.path)
            self.invalidate()
        return content_root(self.path, branch_id)

    def snapshot(self, branch_id: str | None = None) -> StorySnapshot:
        """A branch (the active one by default) as it is now.

        Raises `NotFound` for a story or branch that is not there and `InvalidFile` for a broken
        `meta.json`; every other fault is one of the snapshot's problems.
        """
        with self._lock:
            generation = self._generation
            vouched = self._vouched.get(branch_id)
            if self._watched and vouched is not None and vouched[0] == generation:
                return vouched[1]
            snapshot = self._snapshot(branch_id, self._meta.load)
            self._vouched[branch_id] = (generation, snapshot)
            return snapshot

    def snapshot_without_meta(self, branch_id: str | None = None) -> StorySnapshot:
        """A branch as it is now, whatever is in `meta.json`: its meta is `NO_META`. Only for examining what a story is
        made of. Raises `NotFound` for a branch that is not there.
        """
        with self._lock:
            return self._snapshot(branch_id, lambda: NO_META)

    def _snapshot(self, branch_id: str | None, meta: Callable[[], StoryMeta]) -> StorySnapshot:
        branches = self.branches()
        branch = branches.get(branch_id)
        root = self.content_root(branch.id)
        content = self._contents.get(root)
        if content is None:
            content = self._contents[root] = _Content(root, self.path)
        return content.snapshot(self.path, branch.id, meta(), branches)

    def create_branch(self, name: str, parent: str | None = None, fork_after: int | None = None) -> Branch:
        """Copy a branch (the active one by default) under a new name and make the copy the active one.

        `fork_after` is the index from 0 of the last section it keeps. Raises `NotFound`, `WrongInput` and
        `StonehandError`, with nothing changed.
        """
        if parent is None and (doubt := self.branches().doubt) is not None:
            raise InvalidFile.of(doubt, "repair it first")
        source = self.branch_to_write(parent).id
        self.writable_root(source)
        return self._branching(lambda: branching.create(self.path, name, source, fork_after))

    def switch_branch(self, branch_id: str) -> None:
        """Make a branch the active one, for every program that opens the story. Raises as `create_branch`."""
        self.writable_root(branch_id)
        self._branching(lambda: branching.switch(self.path, branch_id))

    def rename_branch(self, branch_id: str, name: str) -> None:
        """Give a branch another name. Raises as `create_branch`."""
        self.writable_root(branch_id)
        self._branching(lambda: branching.rename(self.path, branch_id, name))

    def delete_branch(self, branch_id: str) -> None:
        """Remove a branch and all that is in it; never `main`. Raises as `create_branch`."""
        self.branch(branch_id)
        self._branching(lambda: branching.delete(self.path, branch_id))

    def _branching(self, change: Callable[[], T]) -> T:
        self.invalidate()
        try:
            return change()
        finally:
            self.invalidate()

    def append_prose(
        self, branch_id: str, name: str, description: str, content: str, meta: Mapping[str, Any]
    ) -> Fragment:
        """Save a new section at the end of the story: a prose fragment and its chain entry, or neither.

        Raises `StonehandError`, `InvalidFile` when the chain can't be used, `Conflict` when it keeps changing.
        """
        root = self.writable_root(branch_id)
        self.invalidate()
        unchained = sorted(self.snapshot(branch_id).of_type("prose"), key=lambda prose: prose.sort_key)
        try:
            return saving.append_prose(root, unchained, name, description, content, meta)
        finally:
            self.invalidate()

    def write_log(self, branch_id: str, log: Mapping[str, Any], *, adopt: bool = True) -> str:
        """Save a generation log under a new id, which is returned. Raises `StonehandError`.

        Without `adopt` a story of the old layout stays one: a record alone is no reason to give it branches.
        """
        if adopt:
            return saving.write_log(self.writable_root(branch_id), log)
        self.branch_to_write(branch_id)
        return saving.write_log(self.content_root(branch_id), log)

    def update_log(self, branch_id: str, log_id: str, fields: Mapping[str, Any]) -> bool:
        """Set fields of a generation log; whether it is there. Raises as `saving.edit_document` does."""
        file = child(self.content_root(branch_id), "generation-logs", f"{log_id}.json")
        if not file.is_file():
            return False
        saving.edit_document(file, lambda document: {**document, **fields})
        return True

    def add_variant(
        self, branch_id: str, replaced_id: str, name: str, description: str, content: str, meta: Mapping[str, Any]
    ) -> Fragment:
        """Save another version of a passage, which is shown from then on; see `saving.add_variant`."""
        root = self.writable_root(branch_id)
        self.invalidate()
        snapshot = self.snapshot(branch_id)
        unchained = sorted(snapshot.of_type("prose"), key=lambda prose: prose.sort_key)
        try:
            return saving.add_variant(root, unchained, replaced_id, name, description, content, meta)
        finally:
            self.invalidate()

    def archive_prose(self, branch_id: str, fragment_id: str) -> str | None:
        """Take a passage out of the story, keeping it archived; see `saving.archive_prose`."""
        root = self.writable_root(branch_id)
        return self._edit(lambda: saving.archive_prose(root, fragment_id))

    def restore_prose(self, branch_id: str, fragment_id: str, beside: str | None) -> None:
        """Put an archived passage back into the story; see `saving.restore_prose`."""
        root = self.writable_root(branch_id)
        self.invalidate()
        unchained = sorted(self.snapshot(branch_id).of_type("prose"), key=lambda prose: prose.sort_key)
        self._edit(lambda: saving.restore_prose(root, unchained, fragment_id, beside))

    def edit_meta(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
        """Change `meta.json`, which all branches share; see `saving.edit_meta`."""
        try:
            return saving.edit_meta(self.path / "meta.json", change)
        finally:
            self.invalidate()

    def order_fragments(self, ids: Sequence[str], shown: Sequence[str]) -> saving.FileEdit | None:
        """Write the order of the pinned fragments; see `ordering.set_order`."""
        return self._edit(lambda: ordering.set_order(self.path / "meta.json", ids, shown))

    def use_context_order(self, mode: str) -> saving.FileEdit | None:
        """Choose how the context is ordered; see `ordering.set_mode`."""
        return self._edit(lambda: ordering.set_mode(self.path / "meta.json", mode))

    def place_fragment(self, branch_id: str, fragment_id: str, placement: str, shown: str) -> saving.FileEdit | None:
        """Choose the message a pinned fragment becomes part of; see `ordering.set_placement`."""
        file = child(self.writable_root(branch_id), "fragments", f"{fragment_id}.json")
        return self._edit(lambda: ordering.set_placement(file, placement, shown))

    def revise_fragment(
        self,
        branch_id: str,
        fragment_id: str,
        before: revising.FragmentState,
        after: revising.FragmentState,
        reason: str,
    ) -> saving.FileEdit | None:
        """Change a fragment and keep what it was as a version; see `revising.revise`."""
        file = child(self.writable_root(branch_id), "fragments", f"{fragment_id}.json")
        return self._edit(lambda: revising.revise(file, before, after, reason))

    def create_fragment(self, branch_id: str, document: Mapping[str, Any]) -> saving.FileEdit:
        """Write a new fragment; see `saving.create_fragment`."""
        fragments = child(self.writable_root(branch_id), "fragments")
        return self._edit(lambda: saving.create_fragment(fragments, document))

    def write_analysis(self, branch_id: str, analysis: Mapping[str, Any], passage: str) -> librarian.WrittenAnalysis:
        """Record what the librarian found in a passage; see `librarian.write_analysis`."""
        root = self.writable_root(branch_id)
        return self._edit(lambda: librarian.write_analysis(root, analysis, passage))

    def update_analysis(
        self, branch_id: str, analysis_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        """Rewrite an analysis; see `librarian.update_analysis`."""
        librarian.update_analysis(self.writable_root(branch_id), analysis_id, change)

    def take_back(self, edit: saving.FileEdit) -> saving.FileEdit:
        """Undo an edit of the meta or a fragment; see `saving.take_back`."""
        return self._edit(lambda: saving.take_back(edit))

    def _edit(self, write: Callable[[], T]) -> T:
        try:
            return write()
        finally:
            self.invalidate()

    def trust_watch(self, watched: bool) -> None:
        """Start or stop relying on `invalidate` being called for every change: then reading looks at no file.

        What was read before the watch began may have changed in between, so it is not relied on.
        """
        with self._guard:
            if watched != self._watched:
                self._watched = watched
                self._generation += 1

    def invalidate(self, paths: Iterable[Path] | None = None) -> None:
        """Something changed: `paths` if known, so that files no snapshot is made of cost nothing."""
        if paths is not None and all(self._is_unread(path) for path in paths):
            return
        with self._guard:
            self._generation += 1

    def _is_unread(self, path: Path) -> bool:
        return ".tmp-" in path.name or not _UNREAD_FOLDERS.isdisjoint(path.parts[len(self.path.parts) :])


class _Content:
    """The cached files of one content root and the snapshot last made of them."""

    def __init__(self, root: Path, story: Path) -> None:
        self._fragments = FolderCache(root / "fragments", parse_fragment, within=story)
        self._chain = FileCache(
            root / "prose-chain.json",
            _reported(parse_chain, NO_CHAIN, "until it is repaired, prose is shown in order of creation"),
        )
        self._associations = FileCache(
            root / "associations.json", _reported(parse_associations, NO_ASSOCIATIONS, "repair or delete it")
        )
        self._last: StorySnapshot | None = None
        self._sources: tuple[object, ...] = ()

    def snapshot(self, story: Path, branch_id: str, meta: StoryMeta, branches: Branches) -> StorySnapshot:
        chain, associations = self._chain.load(), self._associations.load()
        changed = self._fragments.scan()
        sources = (branch_id, meta, branches, chain, associations)
        same = len(sources) == len(self._sources) and all(map(_is, sources, self._sources))
        if self._last is not None and same and not changed:
            return self._last
        fragments = self._fragments.entries
        problems = (
            *meta.problems,
            *branches.problems,
            *chain[1],
            *associations[1],
            *self._fragments.problems,
        )
        self._last = StorySnapshot(
            story_id=story.name,
            path=story,
            branch=branch_id,
            meta=meta,
            branches=branches,
            fragments=fragments,
            by_type=_by_type(fragments.values()),
            chain=chain[0],
            associations=associations[0],
            problems=problems,
        )
        self._sources = sources
        return self._last


def _is(left: object, right: object) -> bool:
    return left is right


def _by_type(fragments: Iterable[Fragment]) -> Mapping[str, tuple[Fragment, ...]]:
    lists: dict[str, list[Fragment]] = {}
    for fragment in fragments:
        if not fragment.archived:
            lists.setdefault(fragment.type, []).append(fragment)
    return {kind: tuple(items) for kind, items in lists.items()}


def _reported(
    parse: Callable[[Path, bytes | None], tuple[T, tuple[Problem, ...]]], empty: T, repair: str
) -> Callable[[Path, bytes | None], tuple[T, tuple[Problem, ...]]]:
    """`parse`, with a file that can't be used as a problem beside the empty value."""

    def tolerant(file: Path, data: bytes | None) -> tuple[T, tuple[Problem, ...]]:
        try:
            return parse(file, data)
        except StonehandError as error:
            found = error.problem
            return empty, (Problem(found.message, found.file, found.field, found.line, repair),)

    return tolerant
