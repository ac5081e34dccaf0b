"""Fragment tags (spec, section 6; bug 21)."""

from __future__ import annotations

from engine.blocks import expand_tags

FRAGMENTS = {
    "ch-bafego": ("### Ines\n\nThe keeper. $& \\1 <@kn-tezamo>", "Ines: the keeper"),
    "kn-tezamo": ("### Salt Law\n\n<@ch-bafego>", "Salt Law: the law"),
    "kn-selfie": ("<@kn-selfie>", "self"),
    "kn-abc123": ("digits", "digits"),
}


def resolve(fragment_id: str, short: bool) -> str | None:
    found = FRAGMENTS.get(fragment_id)
    return found[short] if found else None


def test_full_short_and_unknown() -> None:
    assert expand_tags("<@ch-bafego:short>!", resolve) == "Ines: the keeper!"
    assert expand_tags("<@ch-zzzzzz>", resolve) == "[unknown fragment: ch-zzzzzz]"
    assert expand_tags("<@kn-abc123>", resolve) == "digits"


def test_inserted_text_is_literal_and_its_tags_stay_at_depth_0() -> None:
    text = expand_tags("<@ch-bafego> then <@kn-tezamo:short>", resolve)
    assert text == "### Ines\n\nThe keeper. $& \\1 <@kn-tezamo> then Salt Law: the law"


def test_what_is_no_tag_stays() -> None:
    for text in (
        "<@CH-bafego>",
        "<@ch-bafego:long>",
        "<@ch bafego>",
        "<@chxxx-bafego>",
        "< @ch-bafego>",
        "plain",
    ):
        assert expand_tags(text, resolve) == text


def test_depth_expands_inserted_tags_and_stops_at_cycles() -> None:
    assert "[circular fragment: ch-bafego]" in expand_tags("<@ch-bafego>", resolve, depth=1)
    assert expand_tags("<@kn-selfie>", resolve, depth=1) == "[circular fragment: kn-selfie]"
    assert expand_tags("<@kn-selfie>", resolve, depth=5) == "[circular fragment: kn-selfie]"
    assert expand_tags("<@kn-selfie>", resolve) == "<@kn-selfie>"
