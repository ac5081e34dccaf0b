"""What is left of a block config when the parts of it that are not valid are taken out or given a safe value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from engine.blocks.config import LONGEST_NAME, config_faults
from engine.doctor.finding import mapped
from engine.story.ids import new_block_id
from engine.text import collapse_space, cut

Path = tuple[str | int, ...]


def mend_form(value: Any) -> None:
    """Make a config that is an object valid, in place; what is valid of it, and every unknown key, stays as it is.

    A custom block keeps its place: what it has to have and is not valid becomes the safest value there is (a block of
    an unknown type is a text, and off; so is one whose switch is neither), and content that is no text becomes the text
    of its JSON. All else that is not valid is taken out, the smallest part that can be.
    """
    while faults := config_faults(value):
        # From the end, so that the indices before stay right.
        for fault in sorted(
            faults, key=lambda fault: [part for part in fault.path if isinstance(part, int)], reverse=True
        ):
            _mend(value, fault.path)


def _mend(value: dict[str, Any], path: Path) -> None:
    match path:
        case ("customBlocks", int(index), str(field)) if field in _SAFE:
            _SAFE[field](value["customBlocks"][index], value)
        case (*parents, last):
            holder: Any = value
            for part in parents:
                holder = holder[part]
            del holder[last]


def _name(block: dict[str, Any], config: dict[str, Any]) -> None:
    name = str(block.get("name") or "").strip() or str(block.get("id", ""))
    block["name"] = cut(collapse_space(name), LONGEST_NAME).strip() or "block"


def _id(block: dict[str, Any], config: dict[str, Any]) -> None:
    others = {str(mapped(item).get("id")) for item in config["customBlocks"]}
    block["id"] = new_block_id(others | set(mapped(config.get("overrides"))))


def _type(block: dict[str, Any], config: dict[str, Any]) -> None:
    block["type"] = "simple"
    block["enabled"] = False


def _off(block: dict[str, Any], config: dict[str, Any]) -> None:
    block["enabled"] = False


def _role(block: dict[str, Any], config: dict[str, Any]) -> None:
    block["role"] = "user"


def _content(block: dict[str, Any], config: dict[str, Any]) -> None:
    content = block.get("content")
    block["content"] = "" if content is None else json.dumps(content, ensure_ascii=False)


_SAFE: Final[dict[str, Callable[[dict[str, Any], dict[str, Any]], None]]] = {
    "id": _id,
    "name": _name,
    "role": _role,
    "type": _type,
    "content": _content,
    "enabled": _off,
}
"""What a custom block has to have, and its switch; a wrong order is taken out, as there is a default."""
