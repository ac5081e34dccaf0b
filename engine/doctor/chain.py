"""The prose chain and the tag index: ids in them that no file has (spec, sections 1.7, 1.8 and 15, bug 10)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from engine.disk import parse_json
from engine.doctor.finding import Finding, JsonSource, Kind, Repair, listed, mapped
from engine.errors import StonehandError
from engine.story import StorySnapshot

_BACK: Final = "__backref:"
_SECTIONS: Final = ("prose", "marker")
"""The types of fragments that sections are made of (spec, section 1.7)."""


def chain_findings(root: Path, snapshot: StorySnapshot, files: frozenset[str]) -> Iterator[Finding]:
    """Sections that show or hold what is not there. `files` are the names of all fragment files, readable or not."""
    source = JsonSource(root / "prose-chain.json")
    others = frozenset(fragment.id for fragment in snapshot.fragments.values() if fragment.type not in _SECTIONS)
    shown: dict[str, int] = {}
    # As it lies in the file: sections that can't be read count here and are reported by the snapshot.
    for index, entry in enumerate(listed(snapshot.chain.raw.get("entries"))):
        active = mapped(entry).get("active")
        if not isinstance(active, str) or not active:
            continue
        variants = listed(entry.get("proseFragments"))
        number = index + 1
        path = ("entries", index, "active")
        fragment = snapshot.get(active)
        if fragment is None:
            yield _lost_section(source, index, active, variants, files - others)
        elif fragment.type not in _SECTIONS:
            yield source.found(
                f"section {number} shows {active}, which is of the type {fragment.type} and no prose",
                path,
                "show a variant of the section that is prose, or take the section out",
            )
        elif active not in variants:
            listed_as = "which is not among its variants" if variants else "and lists no variants"
            yield source.found(
                f"section {number} shows {active}, {listed_as}",
                path,
                "list it there as well",
                source.repair(Kind.CHAIN, f"list {active} among the variants of its section", _list_active(active)),
            )
        if active in shown:
            yield source.found(
                f"section {number} shows {active}, as section {shown[active]} does",
                path,
                "take one of the two out, or show another variant",
            )
        shown.setdefault(active, number)
        for place, variant in enumerate(variants):
            if not isinstance(variant, str) or variant == active or snapshot.get(variant) is not None:
                continue
            listed_at = ("entries", index, "proseFragments", place)
            if variant in files:
                yield source.found(
                    f"section {number} has a variant {variant}, whose file can't be used", listed_at, "repair that file"
                )
            else:
                yield source.found(
                    f"section {number} has a variant {variant}, which is not there",
                    listed_at,
                    "restore the fragment, or take the variant out",
                    source.repair(Kind.CHAIN, f"take the variant {variant} out", _drop_variant(variant)),
                )


def _lost_section(source: JsonSource, index: int, active: str, variants: list[Any], files: frozenset[str]) -> Finding:
    path = ("entries", index, "active")
    if active in files:
        return source.found(f"section {index + 1} shows {active}, whose file can't be used", path, "repair that file")
    left = [variant for variant in variants if isinstance(variant, str) and variant in files]
    # The newest variant stands last.
    what = f"show its variant {left[-1]} instead" if left else f"take section {index + 1} out of the chain"
    repair = source.repair(Kind.CHAIN, f"{what} of {active}" if left else what, _drop_active(active, files))
    return source.found(
        f"section {index + 1} shows {active}, which is not there",
        path,
        "restore the fragment, or show another variant of the section",
        repair,
    )


def _drop_active(active: str, files: frozenset[str]) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        kept = []
        for entry in value["entries"]:
            if isinstance(entry, dict) and entry.get("active") == active:
                variants = listed(entry.get("proseFragments"))
                left = [variant for variant in variants if isinstance(variant, str) and variant in files]
                if not left:
                    continue
                entry["active"] = left[-1]
                entry["proseFragments"] = [variant for variant in variants if variant != active]
            kept.append(entry)
        value["entries"] = kept

    return change


def _drop_variant(lost: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for entry in value["entries"]:
            variants = mapped(entry).get("proseFragments")
            if isinstance(variants, list) and lost in variants and entry.get("active") != lost:
                entry["proseFragments"] = [variant for variant in variants if variant != lost]

    return change


def _list_active(active: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for entry in value["entries"]:
            variants = mapped(entry).get("proseFragments")
            if mapped(entry).get("active") != active:
                continue
            if not isinstance(variants, list):
                entry["proseFragments"] = [active]
            elif active not in variants:
                variants.append(active)

    return change


def association_findings(root: Path, files: frozenset[str]) -> Iterator[Finding]:
    """Ids in the tag index that no fragment has. What can't be read of the file, the snapshot reports."""
    source = JsonSource(root / "associations.json")
    try:
        value = parse_json(source.data, source.file) if source.data is not None else None
    except StonehandError:
        return
    for key in ("tagIndex", "refIndex"):
        for name, ids in mapped(mapped(value).get(key)).items():
            owner = name.removeprefix(_BACK)
            if key == "refIndex" and owner not in files:
                yield source.found(
                    f"the references of {owner} are listed, which is not there",
                    (key, name),
                    "take them out",
                    source.repair(Kind.ASSOCIATIONS, f"take the references of {owner} out", _drop_list(key, name)),
                )
                continue
            for place, item in enumerate(listed(ids)):
                if isinstance(item, str) and item not in files:
                    label = f"the tag {name}" if key == "tagIndex" else f"the references of {owner}"
                    yield source.found(
                        f"{label} names {item}, which is not there", (key, name, place), "take it out",
                        _forget(source, key, name, item),
                    )  # fmt: skip


def _forget(source: JsonSource, key: str, name: str, lost: str) -> Repair:
    def change(value: Any) -> None:
        kept = [item for item in value[key].get(name, ()) if item != lost]
        # The reference removes lists that have become empty (spec, section 1.8).
        if kept:
            value[key][name] = kept
        else:
            value[key].pop(name, None)

    return source.repair(Kind.ASSOCIATIONS, f"take {lost} out of {name}", change)


def _drop_list(key: str, name: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        value[key].pop(name, None)

    return change
