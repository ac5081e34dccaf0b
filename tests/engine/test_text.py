"""Texts for people: what a misspelt name was meant to be."""

from __future__ import annotations

import pytest

from engine.agents import agent
from engine.errors import NotFound
from engine.text import did_you_mean

KNOWN = {"the-vault": ("The Vault",), "foot-passengers-mu1klx2d": ("Foot Passengers",), "quay": ()}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("the-valt", "the-vault"),
        ("foot passenger", "foot-passengers-mu1klx2d"),
        ("THE VAULT", "the-vault"),
        ("quai", "quay"),
        ("something else", ""),
        ("", ""),
    ],
)
def test_the_closest_id_or_name(written: str, meant: str) -> None:
    assert did_you_mean(written, KNOWN) == (f"did you mean {meant!r}? " if meant else "")


@pytest.mark.parametrize("written", ["writr", "Wrtier", "generation.writre"])
def test_agents_by_their_short_names(written: str) -> None:
    with pytest.raises(NotFound, match=r"did you mean 'generation.writer'\? agents: "):
        agent(written)
