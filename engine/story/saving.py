"""Writing what a run produced, a section of prose and a generation log, and changes to a story's meta.

Source: spec, sections 1.2, 1.4, 1.10 and 10.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine.disk import child, dump_json, lock, parse_json, read_bytes, refuse_loss, remove_file, write_atomic
from engine.errors import Conflict, InvalidFile, NotFound, StonehandError
from engine.story.branches import now_iso
from engine.story.chain import ChainEntry, ProseChain, parse_chain
from engine.story.fragment import NO_META, Fragment, fragment_of, new_document
from engine.story.ids import new_fragment_id, new_log_id
from engine.text import Phrase

_ATTEMPTS: Final = 5

CARRIED: Final = ("tags", "refs", "sticky", "placement", "order")
"""What another version of a passage has of the one before."""
OF_THE_TEXT: Final = ("annotations", "_librarian", "writerContextIds", "generatedFrom")
"""What is in a passage's meta because of its text: stale on another version, so not carried over (spec, bug 29)."""


@dataclass(frozen=True, slots=True)
class FileEdit:
    """A file that was rewritten, with all its bytes before and after; None where there was, or is, no file."""

    file: Path
    before: bytes | None
    after: bytes | None


def append_prose(
    root: Path,
    unchained: Sequence[Fragment],
    name: str,
    description: str,
    content: str,
    meta: Mapping[str, Any],
) -> Fragment:
    """Write a new prose fragment below the content root and make it the last section of the chain.

    `unchained` is the prose, in order, that an empty chain is to begin with. Both files or neither: when the
    chain can't be written the fragment is deleted again. A chain that another program writes meanwhile is read
    again and appended to. Raises `StonehandError`; `InvalidFile` for a chain that can't be used (nothing is
    written then), `Conflict` when the chain does not come to rest.
    """
    chain_file = root / "prose-chain.json"
    with lock(chain_file):
        parse_chain(chain_file, read_bytes(chain_file))
        file, data, fragment = _write_fragment(root / "fragments", name, description, content, meta)
        try:
            _change_chain(chain_file, unchained, lambda chain: chain.append(ChainEntry((fragment.id,), fragment.id)))
        except BaseException:
            with suppress(StonehandError):
                remove_file(file, expected=data)
            raise
    return fragment


def add_variant(
    root: Path,
    unchained: Sequence[Fragment],
    replaced_id: str,
    name: str,
    description: str,
    content: str,
    meta: Mapping[str, Any],
) -> Fragment:
    """Write another version of a passage and make it the shown variant of its section (spec, section 10.6).

    It is given what the passage has around its text, as it lies on disk now: tags, references, pin, place and meta,
    with `meta` over it. A passage that is in no section, or is gone, leads to a new section at the end. Both files or
    neither, and raises, as `append_prose`.
    """
    chain_file = root / "prose-chain.json"
    with lock(chain_file):
        parse_chain(chain_file, read_bytes(chain_file))
        old_file = child(root / "fragments", f"{replaced_id}.json")
        found = read_bytes(old_file)
        old = parse_json(found, old_file) if found is not None else None
        old = old if isinstance(old, dict) else {}
        old_meta = old.get("meta")
        old_meta = old_meta if isinstance(old_meta, dict) else {}
        before = {key: value for key, value in old_meta.items() if key not in OF_THE_TEXT}
        first = old_meta.get("variationOf")
        links = {
            "previousFragmentId": replaced_id,
            "variationOf": first if isinstance(first, str) and first else replaced_id,
        }
        kept = {key: old[key] for key in CARRIED if key in old}
        file, data, fragment = _write_fragment(
            root / "fragments", name, description, content, {**before, **links, **meta}, kept
        )
        try:
            _change_chain(chain_file, unchained, lambda chain: chain.with_variant(replaced_id, fragment.id))
        except BaseException:
            with suppress(StonehandError):
                remove_file(file, expected=data)
            raise
    return fragment


def archive_prose(root: Path, fragment_id: str) -> str | None:
    """Take a passage out of the story: of its section, the version it replaced is shown, or the last one left; without
    another the section is gone. The fragment stays, archived, as the reference removes any (spec, sections 1.7 and 2).

    Returns the id of the version that its section shows now, None when the section is gone. Both files or neither.
    Raises `NotFound` when the passage is gone, and otherwise as `append_prose`.
    """
    chain_file, file = root / "prose-chain.json", child(root / "fragments", f"{fragment_id}.json")
    with lock(chain_file):
        chain, _ = parse_chain(chain_file, read_bytes(chain_file))
        at = chain.find_section(fragment_id)
        former = _former(file)
        edit = None
        if at >= 0:
            edit = _change_chain(chain_file, (), lambda chain: chain.without(fragment_id, former))
        try:
            edit_document(file, lambda document: {**document, "archived": True})
        except BaseException:
            if edit is not None and edit.before is not None:
                with suppress(StonehandError):  # its lock is held
                    write_atomic(edit.file, edit.before, expected=edit.after)
            raise
        if at < 0 or not any(other != fragment_id for other in chain.entries[at].prose_fragments):
            return None
        return chain.without(fragment_id, former).entries[at].active


def restore_prose(root: Path, unchained: Sequence[Fragment], fragment_id: str, beside: str | None) -> None:
    """Put a passage that `archive_prose` took out back: as the shown version in the section that has `beside`, without
    one as the last section. Both files or neither, and raises, as `archive_prose`.
    """
    chain_file, file = root / "prose-chain.json", child(root / "fragments", f"{fragment_id}.json")
    with lock(chain_file):
        chain, _ = parse_chain(chain_file, read_bytes(chain_file))
        edit = edit_document(file, lambda document: {**document, "archived": False})
        if chain.find_section(fragment_id) >= 0:
            return
        entry = ChainEntry((fragment_id,), fragment_id)
        try:
            _change_chain(
                chain_file,
                unchained,
                lambda chain: chain.append(entry) if beside is None else chain.with_variant(beside, fragment_id),
            )
        except BaseException:
            if edit is not None:
                with suppress(StonehandError):
                    take_back(edit)
            raise


def _former(file: Path) -> str | None:
    """The passage that the one in a file replaced."""
    found = read_bytes(file)
    if found is None:
        raise NotFound(
            Phrase("the {kind} is gone: there is no {name}", kind=Phrase("fragment"), name=file.name), file=file
        )
    document = parse_json(found, file)
    meta = document.get("meta") if isinstance(document, dict) else None
    former = meta.get("previousFragmentId") if isinstance(meta, dict) else None
    return former if isinstance(former, str) else None


def write_log(root: Path, log: Mapping[str, Any]) -> str:
    """Write a generation log under a new id, which is set in it and returned. Raises `StonehandError`."""
    logs = root / "generation-logs"
    taken = {file.stem for file in logs.glob("gen-*.json")}
    for _ in range(_ATTEMPTS):
        log_id = new_log_id(taken)
        document = {"id": log_id, **{key: value for key, value in log.items() if key != "id"}}
        try:
            write_atomic(logs / f"{log_id}.json", dump_json(document), expected=None)
        except Conflict:
            taken.add(log_id)
        else:
            return log_id
    raise _names_taken(logs)


def edit_meta(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
    """Write what `change` makes of the document in `meta.json`, unknown keys included; False when it changed nothing.

    `change` must not touch the document it is given. Raises `NotFound` without a file, `InvalidFile` for one that holds
    no object, or one in which a key stands twice (see `disk.refuse_loss`), `Conflict` when another program writes it
    meanwhile, and whatever `change` raises.
    """
    return edit_document(file, change) is not None


def edit_document(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> FileEdit | None:
    """`edit_meta` for a story's meta or one of its fragments; returns what was written, None when nothing changed."""
    with lock(file):
        found = read_bytes(file)
        if found is None:
            raise NotFound(
                Phrase("the {kind} is gone: there is no {name}", kind=Phrase(_kind(file)), name=file.name), file=file
            )
        document = parse_json(found, file)
        if not isinstance(document, dict):
            raise InvalidFile(
                Phrase("is not a {kind}: a JSON object was expected", kind=Phrase(_kind(file))), file=file, line=1
            )
        changed = change(document)
        if changed == document:
            return None
        refuse_loss(file, found)
        if "updatedAt" in document:
            changed = {**changed, "updatedAt": now_iso()}
        data = dump_json(changed)
        write_atomic(file, data, expected=found)
        return FileEdit(file, found, data)


def create_fragment(fragments: Path, document: Mapping[str, Any]) -> FileEdit:
    """Write a new fragment under the id in its document.

    When that name is taken meanwhile it gets another id of its type, which the name of the file then says. Raises
    `StonehandError`.
    """
    taken: set[str] = set()
    for _ in range(_ATTEMPTS):
        file = child(fragments, f"{document['id']}.json")
        data = dump_json(document)
        try:
            with lock(file):
                write_atomic(file, data, expected=None)
        except Conflict:
            taken = taken or {found.stem for found in fragments.glob("*.json")}
            document = {**document, "id": new_fragment_id(document["type"], taken)}
        else:
            return FileEdit(file, None, data)
    raise _names_taken(fragments)


def take_back(edit: FileEdit) -> FileEdit:
    """Give a file the bytes it had before an edit, or remove it if there was none; returns what does the edit again.

    Raises `Conflict` when it is not as the edit left it, `NotFound` when its folder is gone, as with a branch that was
    deleted.
    """
    if not edit.file.parent.is_dir():
        raise NotFound("can't be changed back: its folder is gone", file=edit.file)
    with lock(edit.file):
        if edit.before is not None:
            write_atomic(edit.file, edit.before, expected=edit.after)
        elif edit.after is not None:
            remove_file(edit.file, expected=edit.after)
    return FileEdit(edit.file, edit.after, edit.before)


def _kind(file: Path) -> str:
    return "story" if file.name == "meta.json" else "fragment"


def _write_fragment(
    fragments: Path,
    name: str,
    description: str,
    content: str,
    meta: Mapping[str, Any],
    carried: Mapping[str, Any] = NO_META,
) -> tuple[Path, bytes, Fragment]:
    taken = {file.stem for file in fragments.glob("pr-*.json")}
    for _ in range(_ATTEMPTS):
        fragment_id = new_fragment_id("prose", taken)
        document = new_document(fragment_id, "prose", name, description, content, now_iso(), meta=meta) | dict(carried)
        file = fragments / f"{fragment_id}.json"
        data = dump_json(document)
        try:
            write_atomic(file, data, expected=None)
        except Conflict:
            taken.add(fragment_id)
        else:
            return file, data, fragment_of(document, file)
    raise _names_taken(fragments)


def _names_taken(folder: Path) -> StonehandError:
    return StonehandError("can't be written: its names are taken as fast as they are chosen", file=folder)


def _change_chain(
    chain_file: Path, unchained: Sequence[Fragment], change: Callable[[ProseChain], ProseChain]
) -> FileEdit:
    for attempt in range(1, _ATTEMPTS + 1):
        found = read_bytes(chain_file)
        chain, _ = parse_chain(chain_file, found)
        if not chain.entries:
            chain = _chain_of(chain, unchained)
        chain = change(chain)
        refuse_loss(chain_file, found)
        data = dump_json(chain.raw)
        try:
            write_atomic(chain_file, data, expected=found)
        except Conflict:
            if attempt == _ATTEMPTS:
                raise
        else:
            return FileEdit(chain_file, found, data)
    raise AssertionError("the last attempt returns or raises")


def _chain_of(chain: ProseChain, prose: Sequence[Fragment]) -> ProseChain:
    # Without a chain all prose is shown; a chain of the new section alone would drop the rest from the story.
    for fragment in prose:
        chain = chain.append(ChainEntry((fragment.id,), fragment.id))
    return chain
