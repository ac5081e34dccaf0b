"""Small stories for tests, written in the exact format of a data folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CREATED = "2026-01-05T08:00:00.000Z"
DEFAULT_PROSE = (
    "The lamp on the quay had burned all night, and nobody came to put it out.",
    "Ines counted the boats. There were nine of them, and there should have been ten.",
)
DEFAULT_FRAGMENTS = (
    {"id": "ch-bafego", "type": "character", "name": "Ines", "content": "Harbour clerk. Counts everything twice."},
    {"id": "gl-tonare", "type": "guideline", "name": "Tense", "content": "Past tense.", "sticky": True},
    {"id": "kn-mirafa", "type": "knowledge", "name": "The quay", "content": "Nine berths, built in 1911."},
)


def fragment(
    id: str, type: str, content: str = "", *, name: str | None = None, index: int = 0, **values: Any
) -> dict[str, Any]:
    """A whole fragment document; `index` sets its creation apart, `values` replaces or adds keys."""
    stamp = CREATED.replace("08:00", f"{8 + index // 60:02}:{index % 60:02}")
    return {
        "id": id,
        "type": type,
        "name": name if name is not None else id,
        "description": "",
        "content": content,
        "tags": [],
        "refs": [],
        "sticky": False,
        "placement": "user",
        "createdAt": stamp,
        "updatedAt": stamp,
        "order": index,
        "meta": {},
        "archived": False,
        "version": 1,
        "versions": [],
        **values,
    }


def make_story(
    root: Path,
    id: str = "the-quay",
    *,
    name: str = "The Quay",
    prose: Sequence[str] = DEFAULT_PROSE,
    fragments: Sequence[Mapping[str, Any]] = DEFAULT_FRAGMENTS,
    configs: Mapping[str, Any] | None = None,
    branches: Sequence[str] = ("main",),
    active: str | None = None,
    settings: Mapping[str, Any] | None = None,
    legacy: bool = False,
    **meta: Any,
) -> Path:
    """Write a story into the data folder `root` and return its folder.

    `prose` becomes the sections of the chain, with the ids `pr-aaaa00`, `pr-aaaa01` …; `fragments` are documents that
    need only `id`, `type` and what differs from the default; `configs` are block configs by agent. Every branch gets
    the same content. `legacy` writes the old layout, without branches. `meta` sets further keys of `meta.json`.
    """
    story = root / "stories" / id
    _write(
        story / "meta.json",
        {
            "id": id,
            "name": name,
            "description": "A harbour that is one boat short.",
            "coverImage": None,
            "summary": "",
            "createdAt": CREATED,
            "updatedAt": CREATED,
            "settings": {"outputFormat": "markdown", "enabledPlugins": [], **(settings or {})},
            **meta,
        },
    )
    if legacy:
        _write_content(story, prose, fragments, configs or {})
        return story
    index = [
        {"id": branch, "name": branch.title(), "order": n, "createdAt": CREATED} for n, branch in enumerate(branches)
    ]
    _write(story / "branches.json", {"branches": index, "activeBranchId": active or branches[0]})
    for branch in branches:
        _write_content(story / "branches" / branch, prose, fragments, configs or {})
    return story


def config_file(story: Path, agent: str = "generation.writer", branch: str = "main") -> Path:
    """Where the block config of an agent lies."""
    return story / "branches" / branch / "agent-blocks" / f"{agent}.json"


def custom_block(id: str, content: str, *, role: str = "user", type: str = "simple", **values: Any) -> dict[str, Any]:
    """A custom block of a block config."""
    block = {"id": id, "name": id, "role": role, "order": 700, "enabled": True, "type": type, "content": content}
    return {**block, **values}


def _write_content(
    root: Path, prose: Sequence[str], fragments: Sequence[Mapping[str, Any]], configs: Mapping[str, Any]
) -> None:
    (root / "fragments").mkdir(parents=True)
    sections = [
        fragment(f"pr-aaaa{n:02}", "prose", text, name=f"Section {n + 1}", index=n) for n, text in enumerate(prose)
    ]
    others = [fragment(**{"index": len(sections) + n, **given}) for n, given in enumerate(fragments)]
    for document in (*sections, *others):
        _write(root / "fragments" / f"{document['id']}.json", document)
    if sections:
        entries = [{"proseFragments": [section["id"]], "active": section["id"]} for section in sections]
        _write(root / "prose-chain.json", {"entries": entries})
    _write(root / "associations.json", {"tagIndex": {}, "refIndex": {}})
    for agent, config in configs.items():
        _write(root / "agent-blocks" / f"{agent}.json", config)


def _write(file: Path, document: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=2, ensure_ascii=False), encoding="utf-8", newline="\n")
