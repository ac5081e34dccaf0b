"""Fragments read from files of any quality, and how they render."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.disk import dump_json
from engine.errors import InvalidFile
from engine.story import Fragment
from engine.story.fragment import json_text, parse_fragment
from engine.story.render import catalog_row, demote, full, group, identity_sheet, sheet, short, type_label

FILE = Path("fragments/ch-bafego.json")
INES: dict[str, Any] = {
    "id": "ch-bafego",
    "type": "character",
    "name": "Ines",
    "description": "the keeper",
    "content": "She is old.",
}


def fragment(**fields: Any) -> Fragment:
    return parse_fragment(FILE, dump_json({**INES, **fields}))[0]


def test_the_least_a_fragment_can_be() -> None:
    found, problems = parse_fragment(FILE, dump_json(INES))
    assert problems == ()
    assert (found.tags, found.sticky, found.placement, found.order, dict(found.meta), found.archived) == (
        (),
        False,
        "user",
        0,
        {},
        False,
    )


def test_unknown_keys_are_kept_and_scripts_see_three_more() -> None:
    found = fragment(custom={"a": [1]}, versions="broken", version=None)
    assert found.raw["custom"] == {"a": [1]}
    assert json.loads(json_text(found)) == {
        **INES,
        "custom": {"a": [1]},
        "archived": False,
        "version": 1,
        "versions": [],
    }


@pytest.mark.parametrize(
    ("fields", "field", "attribute", "value"),
    [
        ({"name": None}, "name", "name", "ch-bafego"),
        ({"description": 5}, "description", "description", ""),
        ({"tags": ["a", 1]}, "tags", "tags", ("a",)),
        ({"tags": "a"}, "tags", "tags", ()),
        ({"order": "first"}, "order", "order", 0),
        ({"order": True}, "order", "order", 0),
        ({"meta": []}, "meta", "meta", {}),
        ({"sticky": "yes"}, "sticky", "sticky", True),
        ({"archived": 0}, "archived", "archived", False),
        ({"placement": "margin"}, "placement", "placement", "margin"),
        ({"placement": 5}, "placement", "placement", "5"),
        ({"createdAt": 5}, "createdAt", "created_at", ""),
        ({"id": "ch-other"}, "id", "id", "ch-bafego"),
    ],
)
def test_a_malformed_field_gets_its_default_and_is_reported(
    fields: dict[str, Any], field: str, attribute: str, value: object
) -> None:
    data = dump_json({**INES, **fields})
    found, (problem,) = parse_fragment(FILE, data)
    assert getattr(found, attribute) == value
    assert problem.field == field
    assert problem.line is not None
    assert f'"{field}"' in data.decode().split("\n")[problem.line - 1]


@pytest.mark.parametrize(
    ("data", "field"),
    [
        (b"[]", ""),
        (b"{", ""),
        (dump_json({**INES, "type": None}), "type"),
        (dump_json({**INES, "type": ""}), "type"),
        (dump_json({**INES, "content": {"url": 1}}), "content"),
    ],
)
def test_one_without_type_or_content_is_given_up(data: bytes, field: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        parse_fragment(FILE, data)
    assert caught.value.problem.field == field
    assert caught.value.problem.line is not None
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("prose", "She is old."),
        ("summary", "She is old."),
        ("character", "### Ines\n\nShe is old."),
        ("guideline", "### Ines\n\nShe is old."),
        ("knowledge", "### Ines\n\nShe is old."),
        ("image", "[image:ch-bafego] Ines - the keeper"),
        ("icon", "[icon:ch-bafego] Ines - the keeper"),
        ("marker", ""),
        ("location", "### Ines\n\nthe keeper\n\nShe is old."),
    ],
)
def test_in_full(kind: str, text: str) -> None:
    assert full(fragment(type=kind)) == text


def test_a_custom_type_without_description() -> None:
    assert full(fragment(type="location", description="")) == "### Ines\n\nShe is old."


def test_a_sheet_has_one_blank_line_after_its_heading() -> None:
    found = fragment(content="\n\n### Inner\n\n\nbody\n\n")
    assert sheet(found) == "#### Ines\n\n### Inner\n\n\nbody"
    assert group("Characters", [sheet(found), sheet(fragment())]) == (
        "### Characters\n\n#### Ines\n\n### Inner\n\n\nbody\n\n#### Ines\n\nShe is old."
    )


def test_only_a_first_heading_of_level_three_is_demoted() -> None:
    assert demote("  ### a\n### b ") == "#### a\n### b"
    assert demote("## a") == "## a"
    assert demote("###a") == "###a"


def test_a_catalog_row_holds_no_line_ends_and_no_bars() -> None:
    found = fragment(name="A | B\n C", description=" two\u00a0\tspaces  |x ")
    assert catalog_row(found) == "`ch-bafego` | A / B C | two spaces /x"
    assert catalog_row(fragment(description=""), "pinned") == "`ch-bafego` | Ines (pinned) | "


def test_an_identity_sheet_and_the_short_form() -> None:
    assert identity_sheet(fragment()) == "### `ch-bafego` | Ines | the keeper\n\nShe is old."
    assert short(fragment()) == "Ines: the keeper"


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("guideline", "Guidelines"),
        ("knowledge", "Knowledge"),
        ("character", "Characters"),
        ("location", "Places"),
        ("house_rule-two", "House Rule Two"),
    ],
)
def test_labels(kind: str, label: str) -> None:
    assert type_label(kind, {"location": "Places"}) == label
