"""The fixed texts of the agents, one Markdown file a key (spec, section 11, for the keys)."""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def instruction(key: str) -> str:
    """The text of a key such as `generation.system`, without a final line end. Raises `KeyError` for
    another one.
    """
    file = resources.files("engine.agents").joinpath("instructions", f"{key}.md")
    if not file.is_file():
        raise KeyError(f"there is no instruction {key}")
    return file.read_text(encoding="utf-8").rstrip("\n")
