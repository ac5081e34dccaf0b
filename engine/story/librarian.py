"""The librarian's files: what it found in each passage, and what it remembers of the story (spec, section 1.12).

Every file is compared before it is replaced and keeps what we do not know of it; one that can't be used is left as it
is and reported. Recording a passage again takes the place of what was recorded of it before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engine import disk
from engine.errors import Conflict, InvalidFile, NotFound, Problem, StonehandError
from engine.story.branches import now_iso
from engine.story.ids import new_analysis_id
from engine.story.saving import edit_document
from engine.text import Phrase

FOLDER: Final = "librarian"
MENTIONS_KEPT: Final = 100
"""Passages remembered for each fragment as mentioning it, the newest ones; the reference keeps them all (bug 13)."""

_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class WrittenAnalysis:
    """The id of an analysis that is on disk, and why one of the other files could not be brought up to it."""

    id: str
    problems: tuple[Problem, ...] = ()


def write_analysis(root: Path, analysis: Mapping[str, Any], passage: str) -> WrittenAnalysis:
    """Write an analysis below the content root under a new id, then the index, the state and the passage's own notes.

    `analysis` has the fields of the reference's files but `id` and `createdAt`; `passage` is the text that was
    analyzed. One without a summary, of an agent that only proposes, says nothing of the passage: the state and the
    notes stay as they are. The analysis is the record: once it is written, whatever else fails is one of the problems.
    Raises `StonehandError` when the analysis itself can't be written.
    """
    document = _write_new(root / FOLDER / "analyses", analysis)
    writes: list[Callable[[], None]] = [
        lambda: _rewrite(root / FOLDER / "index.json", lambda raw: _indexed(raw, document, root))
    ]
    if document["summaryUpdate"]:
        writes += [
            lambda: _rewrite(root / FOLDER / "state.json", lambda raw: _remembered(raw, document)),
            lambda: _annotate(root, document, passage),
        ]
    problems = []
    for write in writes:
        try:
            write()
        except StonehandError as error:
            problems.append(error.problem)
    return WrittenAnalysis(document["id"], tuple(problems))


def read_analysis(root: Path, analysis_id: str) -> Mapping[str, Any]:
    """One analysis, whole. Raises `NotFound` and `InvalidFile`."""
    file = disk.child(root, FOLDER, "analyses", f"{analysis_id}.json")
    found = disk.read_json(file)
    if found is None:
        raise NotFound(Phrase("there is no analysis {analysis_id}", analysis_id=analysis_id), file=file)
    if not isinstance(found, Mapping):
        raise InvalidFile("an analysis must be an object", file=file, line=1)
    return found


def latest_analysis(root: Path, fragment_id: str | None = None) -> Mapping[str, Any] | None:
    """The newest analysis of a passage, or of any; None when there is none that can be read."""
    wanted = (item for item in _analyses(root) if fragment_id is None or item.get("fragmentId") == fragment_id)
    return max(wanted, key=_age, default=None)


def update_analysis(root: Path, analysis_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Rewrite an analysis, as when a proposal in it was accepted. Raises as `read_analysis` and as writing does."""
    file = disk.child(root, FOLDER, "analyses", f"{analysis_id}.json")
    read_analysis(root, analysis_id)
    _rewrite(file, change)


def _write_new(folder: Path, analysis: Mapping[str, Any]) -> dict[str, Any]:
    taken = {file.stem for file in folder.glob("la-*.json")}
    for _ in range(_ATTEMPTS):
        analysis_id = new_analysis_id(taken)
        given = {key: value for key, value in analysis.items() if key not in ("id", "createdAt")}
        document = {"id": analysis_id, "createdAt": now_iso(), **given}
        try:
            disk.write_atomic(folder / f"{analysis_id}.json", disk.dump_json(document), expected=None)
        except Conflict:
            taken.add(analysis_id)
        else:
            return document
    raise StonehandError("can't be written: its names are taken as fast as they are chosen", file=folder)


def _rewrite(file: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Write what `change` makes of a file's document, an empty one where there is none."""
    for attempt in range(1, _ATTEMPTS + 1):
        with disk.lock(file):
            found = disk.read_bytes(file)
            document = {} if found is None else disk.parse_json(found, file)
            if not isinstance(document, dict):
                raise InvalidFile("a JSON object was expected", file=file, line=1, repair="repair or delete it")
            disk.refuse_loss(file, found)
            try:
                disk.write_atomic(file, disk.dump_json(change(document)), expected=found)
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return


def _indexed(raw: Mapping[str, Any], analysis: Mapping[str, Any], root: Path) -> dict[str, Any]:
    latest = raw.get("latestByFragmentId")
    if not isinstance(latest, dict):
        newest: dict[str, Mapping[str, Any]] = {}
        for item in _analyses(root):
            key = str(item.get("fragmentId"))
            if key not in newest or _age(item) > _age(newest[key]):
                newest[key] = item
        latest = {key: _entry(item) for key, item in newest.items()}
    latest = {**latest, analysis["fragmentId"]: _entry(analysis)}
    return {"version": 1, **raw, "updatedAt": now_iso(), "latestByFragmentId": latest}


def _entry(analysis: Mapping[str, Any]) -> dict[str, Any]:
    return {"analysisId": analysis["id"], "createdAt": analysis["createdAt"]}


def _age(analysis: Mapping[str, Any]) -> tuple[str, str]:
    return str(analysis.get("createdAt")), str(analysis.get("id"))


def _analyses(root: Path) -> Iterator[Mapping[str, Any]]:
    folder = root / FOLDER / "analyses"
    for file in sorted(folder.glob("la-*.json")):
        try:
            found = disk.read_json(file)
        except StonehandError:
            continue
        if isinstance(found, Mapping) and "id" in found and "createdAt" in found:
            yield found


def _remembered(raw: Mapping[str, Any], analysis: Mapping[str, Any]) -> dict[str, Any]:
    passage = analysis["fragmentId"]
    mentions = raw.get("recentMentions")
    recent: dict[str, Any] = {}
    for key, ids in (mentions if isinstance(mentions, dict) else {}).items():
        kept = [item for item in ids if item != passage] if isinstance(ids, list) else ids
        if kept or not isinstance(ids, list):
            recent[key] = kept
    for key in analysis["mentionedCharacters"]:
        before = recent.get(key, [])
        recent[key] = [*(before if isinstance(before, list) else ()), passage][-MENTIONS_KEPT:]
    timeline = raw.get("timeline")
    events = [
        item
        for item in (timeline if isinstance(timeline, list) else ())
        if not (isinstance(item, dict) and item.get("fragmentId") == passage)
    ]
    events += [{"event": item["event"], "fragmentId": passage} for item in analysis["timelineEvents"]]
    known = {"lastAnalyzedFragmentId": passage, "recentMentions": recent, "timeline": events}
    return {"lastAnalyzedFragmentId": None, "summarizedUpTo": None, **raw, **known}


def _annotate(root: Path, analysis: Mapping[str, Any], passage: str) -> None:
    """Note in the passage itself what it mentions and what happens in it, which later prompts look at."""
    file = disk.child(root, "fragments", f"{analysis['fragmentId']}.json")

    def change(document: dict[str, Any]) -> dict[str, Any]:
        if document.get("content") != passage:
            raise Conflict(
                "the passage was changed while it was analyzed, so its mentions were not noted in it",
                file=file,
                field="content",
                repair="analyze it again",
            )
        meta = document.get("meta")
        meta = meta if isinstance(meta, dict) else {}
        noted = meta.get("annotations")
        others = [item for item in noted if not _is_mention(item)] if isinstance(noted, list) else []
        mentions = [
            {"type": "mention", "fragmentId": item["fragmentId"], "text": item["text"]} for item in analysis["mentions"]
        ]
        summary = {"summary": analysis["summaryUpdate"], "analysisId": analysis["id"]}
        before = meta.get("_librarian")
        own = {**before, **summary} if isinstance(before, dict) else summary
        return {**document, "meta": {**meta, "annotations": [*others, *mentions], "_librarian": own}}

    edit_document(file, change)


def _is_mention(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") == "mention"
