"""The prose chain: ids in it that no file has, and sections that share a fragment (spec, 1.7 and 15, bug 10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Final

from engine.doctor.finding import Finding, JsonSource, Kind, listed, mapped
from engine.story import StorySnapshot

_SECTIONS: Final = ("prose", "marker")
"""The types of fragments that sections are made of (spec, section 1.7)."""


def chain_findings(root: Path, snapshot: StorySnapshot, files: frozenset[str]) -> Iterator[Finding]:
    """Sections that show or hold what is not there. `files` are the names of all fragment files, readable or not."""
    source = JsonSource(root / "prose-chain.json")
    prose = frozenset(fragment.id for fragment in snapshot.fragments.values() if fragment.type in _SECTIONS)
    usable = files - (snapshot.fragments.keys() - prose)
    # As it lies in the file: sections that can't be read count here and are reported by the snapshot.
    entries = listed(snapshot.chain.raw.get("entries"))
    holders = Counter(item for entry in entries for item in _members(entry))
    shown: dict[str, int] = {}
    strays: set[str] = set()
    for index, entry in enumerate(entries):
        active = mapped(entry).get("active")
        if not isinstance(active, str) or not active:
            continue
        variants = listed(entry.get("proseFragments"))
        number = index + 1
        path = ("entries", index, "active")
        fragment = snapshot.get(active)
        if fragment is None:
            yield _lost_section(source, index, entry, holders, usable)
        elif fragment.type not in _SECTIONS:
            yield source.found(
                f"section {number} shows {active}, which is of the type {fragment.type} and no prose",
                path,
                "show a variant of the section that is prose, or take the section out",
            )
        elif active not in variants and holders[active] > 1:
            strays.add(active)
            yield _stray(source, index, entries, holders, prose)
        elif active not in variants:
            listed_as = "which is not among its variants" if variants else "and lists no variants"
            yield source.found(
                f"section {number} shows {active}, {listed_as}",
                path,
                "list it there as well",
                source.repair(Kind.CHAIN, f"list {active} among the variants of its section", _settle(active, prose)),
            )
        if active in shown and active not in strays:
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


def _members(entry: Any) -> set[str]:
    """The ids that belong to a section: its variants, and the one it shows."""
    held = (mapped(entry).get("active"), *listed(mapped(entry).get("proseFragments")))
    return {item for item in held if isinstance(item, str)}


def _own(entry: Any, holders: Counter[str], usable: Collection[str]) -> str | None:
    """The newest variant that can be shown and belongs to no other section; it stands last."""
    active = entry.get("active")
    variants = [item for item in listed(entry.get("proseFragments")) if isinstance(item, str) and item != active]
    return next((item for item in reversed(variants) if item in usable and holders[item] == 1), None)


def _lost_section(
    source: JsonSource, index: int, entry: Any, holders: Counter[str], usable: Collection[str]
) -> Finding:
    """A section whose shown fragment is not there. `usable` are the ids a section may be made of, readable or not."""
    path, active = ("entries", index, "active"), entry["active"]
    if active in usable:
        return source.found(f"section {index + 1} shows {active}, whose file can't be used", path, "repair that file")
    own = _own(entry, holders, usable)
    what = (
        f"take section {index + 1} out of the chain" if own is None else f"show its variant {own} instead of {active}"
    )
    return source.found(
        f"section {index + 1} shows {active}, which is not there",
        path,
        "restore the fragment, or show another variant of the section",
        source.repair(Kind.CHAIN, what, _drop_active(active, usable)),
    )


def _stray(
    source: JsonSource, index: int, entries: list[Any], holders: Counter[str], prose: Collection[str]
) -> Finding:
    """A section that shows what belongs to another one: listed here as well, it would be in both."""
    entry = entries[index]
    active = entry["active"]
    owner = next(number for number, other in enumerate(entries) if number != index and active in _members(other))
    own = _own(entry, holders, prose)
    message = f"section {index + 1} shows {active}, which belongs to section {owner + 1} and is not among its variants"
    path = ("entries", index, "active")
    if own is None:
        return source.found(message, path, "it has no other variant to show: take it out, or give it one of its own")
    what = f"show its own variant {own} in section {index + 1} instead of {active}"
    return source.found(
        message, path, "show a variant of its own", source.repair(Kind.CHAIN, what, _settle(active, prose))
    )


def _drop_active(active: str, usable: Collection[str]) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        entries = value["entries"]
        holders = Counter(item for entry in entries for item in _members(entry))
        kept = []
        for entry in entries:
            if mapped(entry).get("active") == active:
                own = _own(entry, holders, usable)
                if own is None:  # whatever it has is in other sections too
                    holders.subtract(_members(entry))
                    continue
                entry["active"] = own
                entry["proseFragments"] = [item for item in entry["proseFragments"] if item != active]
            kept.append(entry)
        value["entries"] = kept

    return change


def _settle(active: str, prose: Collection[str]) -> Callable[[Any], None]:
    """Where a section shows what is not among its variants: list it there, unless another section has it; then a
    variant of its own is shown, if it has one.
    """

    def change(value: Any) -> None:
        holders = Counter(item for entry in value["entries"] for item in _members(entry))
        for entry in value["entries"]:
            variants = mapped(entry).get("proseFragments")
            if mapped(entry).get("active") != active or active in listed(variants):
                continue
            if holders[active] == 1:
                entry["proseFragments"] = [*listed(variants), active]
            elif (own := _own(entry, holders, prose)) is not None:
                entry["active"] = own
                holders[active] -= 1

    return change


def _drop_variant(lost: str) -> Callable[[Any], None]:
    def change(value: Any) -> None:
        for entry in value["entries"]:
            variants = mapped(entry).get("proseFragments")
            if isinstance(variants, list) and lost in variants and entry.get("active") != lost:
                entry["proseFragments"] = [variant for variant in variants if variant != lost]

    return change
