"""The block config of one agent: what a user changed about its blocks, as it lies on disk.

Source: seed, "Block Configuration"; spec, sections 1.9 and 8.1. Unknown keys are kept at every level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from engine.blocks.block import Number, Role
from engine.json_text import dotted
from engine.text import Phrase

M = TypeVar("M", bound=BaseModel)

ContentMode = Literal["override", "prepend", "append"]
BlockType = Literal["simple", "script"]

LONGEST_NAME: Final = 100
"""Characters of a custom block's name."""


def _finite(value: Number) -> Number:
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer that JavaScript, which has only floats, takes for infinite
        finite = False
    if not finite:
        raise ValueError("must be a finite number")
    return value


Order = Annotated[int | float, AfterValidator(_finite)]


class _Model(BaseModel):
    # Strict: "true" is not a bool and 1 is not a string, as in the reference's own validation.
    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class CustomBlock(_Model):
    """A block the user made (seed, "Custom Block Definitions")."""

    id: Annotated[str, StringConstraints(pattern=r"^cb-[a-z0-9]{4,12}$")]
    name: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_NAME)]
    role: Role
    order: Order = 0
    enabled: bool = True
    type: BlockType
    content: str


def _not_null(value: Any) -> Any:
    if value is None:
        raise ValueError("null is not allowed here; leave the key out instead")
    return value


class BlockOverride(_Model):
    """What is changed about one block, built-in or custom. A key that is absent changes nothing."""

    enabled: Annotated[bool | None, AfterValidator(_not_null)] = None
    order: Annotated[Order | None, AfterValidator(_not_null)] = None
    contentMode: ContentMode | None = None
    customContent: Annotated[str | None, AfterValidator(_not_null)] = None


RENAMED_TOOLS: Final[Mapping[str, str]] = {
    "getFragment": "readFragments",
    "searchFragments": "findFragments",
    "getStorySummary": "readStorySummary",
    **dict.fromkeys(("updateStorySummary", "createFragment", "updateFragment", "editFragment"), "editFragments"),
    **dict.fromkeys(("deleteFragment", "suggestFragment", "suggestEdit", "applyProposedChanges"), "editFragments"),
    "proposeProseChanges": "editProse",
    **dict.fromkeys(("updateSummary", "reportMentions", "reportContradictions", "reportTimeline"), "reportAnalysis"),
    "suggestDirections": "proposeDirections",
    "askQuestions": "askClarifyingQuestions",
    **dict.fromkeys(("reanalyzeFragment", "optimizeCharacter"), "invokeAgent"),
    "inspectGeneration": "inspectRun",
}
"""Tools that older configs call by another name (spec, section 8.1)."""


def current_tools(names: Iterable[str]) -> tuple[str, ...]:
    """Tool names as they are called now, each once, in the order first named."""
    return tuple(dict.fromkeys(RENAMED_TOOLS.get(name, name) for name in names))


class BlockConfig(_Model):
    """Everything configured for one agent. The empty config changes nothing."""

    customBlocks: tuple[CustomBlock, ...] = Field(default=(), strict=False)
    overrides: dict[str, BlockOverride] = Field(default_factory=dict)
    blockOrder: tuple[str, ...] = Field(default=(), strict=False)
    disabledTools: tuple[str, ...] = Field(default=(), strict=False)
    disableAutoAnalysis: bool = False

    @property
    def disabled_tools(self) -> tuple[str, ...]:
        """The tools that are off, by the names they have now; the file keeps the old ones until tools are edited."""
        return current_tools(self.disabledTools)

    def custom(self, block_id: str) -> CustomBlock | None:
        """The first custom block with this id, or None."""
        return next((block for block in self.customBlocks if block.id == block_id), None)

    def override(self, block_id: str) -> BlockOverride:
        """The override of this block; an empty one when there is none."""
        return self.overrides.get(block_id, _NOTHING)


_NOTHING = BlockOverride()
EMPTY = BlockConfig()


def dump_config(config: BlockConfig) -> dict[str, Any]:
    """The config as a JSON value: the five keys always, absent override keys absent, unknown keys kept."""
    value = config.model_dump(mode="json", exclude_unset=True)
    for name, field in BlockConfig.model_fields.items():
        value.setdefault(name, field.get_default(call_default_factory=True))
    for block, model in zip(value["customBlocks"], config.customBlocks, strict=True):
        block.setdefault("order", model.order)
        block.setdefault("enabled", model.enabled)
    known = list(BlockConfig.model_fields)
    ordered = {key: value[key] for key in [*known, *(key for key in value if key not in known)]}
    return _plain(ordered)  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """JSON as JavaScript prints it: lists for tuples, 1 for 1.0."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def unknown_keys(config: BlockConfig) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """What a config has that is not used here: the place of each object with such keys, and these."""
    if config.model_extra:
        yield (), config.model_extra
    for index, block in enumerate(config.customBlocks):
        if block.model_extra:
            yield ("customBlocks", index), block.model_extra
    for block_id, override in config.overrides.items():
        if override.model_extra:
            yield ("overrides", block_id), override.model_extra


class ConfigFault(ValueError):
    """A config that does not validate: `path` leads to the first fault, `reason` says what is wrong there."""

    def __init__(self, path: tuple[str | int, ...], reason: str) -> None:
        super().__init__(f"{dotted(path)}: {reason}" if path else reason)
        self.path = path
        self.reason = reason


def parse_config(value: Any) -> BlockConfig:
    """Validate a JSON value as a block config.

    Raises `ConfigFault` with the path and reason of the first fault; one rejects the whole file (spec, section 8.1).
    """
    if not isinstance(value, Mapping):
        raise ConfigFault((), "must be an object with customBlocks, overrides and blockOrder")
    return checked(BlockConfig, value)


def checked(model: type[M], values: Mapping[str, Any]) -> M:
    """One part of a config, validated. Raises `ConfigFault` with the field and reason of the first fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ConfigFault(_clean(first["loc"], values), _reason(first)) from None


def config_faults(value: Any) -> tuple[ConfigFault, ...]:
    """Every fault of a JSON value as a block config, in the order they stand in it; none when it is valid."""
    try:
        parse_config(value)
    except ConfigFault as fault:
        if not isinstance(value, Mapping):
            return (fault,)
    else:
        return ()
    try:
        BlockConfig.model_validate(value)
    except ValidationError as error:
        found: dict[tuple[str | int, ...], ConfigFault] = {}
        for item in error.errors(include_url=False):
            # Of a value that may be one of several types each type is reported: one is enough.
            path = _clean(item["loc"], value)
            found.setdefault(path, ConfigFault(path, _reason(item)))
        return tuple(found.values())
    return ()


_NUMBERS: Final = ("int", "float")


def _clean(loc: tuple[str | int, ...], value: Any) -> tuple[str | int, ...]:
    # pydantic adds path elements of its own (union branches, validators): keep what leads through the file.
    path: list[str | int] = []
    for part in loc:
        if isinstance(value, Mapping) and isinstance(part, str) and (part in value or part not in _NUMBERS):
            path.append(part)
            value = value.get(part)
        elif isinstance(value, list | tuple) and isinstance(part, int):
            path.append(part)
            value = value[part] if part < len(value) else None
    return tuple(path)


def _reason(error: Any) -> str:
    kind, given = error["type"], error.get("input")
    context = error.get("ctx", {})
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        most, _, last = context["expected"].rpartition(" or ")
        if not most:
            return Phrase("must be {expected}, not {given}", expected=last, given=_short(given))
        return Phrase("must be {most} or {last}, not {given}", most=most, last=last, given=_short(given))
    if kind == "string_pattern_mismatch":
        looks = "must look like cb-a1b2c3 (cb- and 4 to 12 lower-case letters or digits), not {given}"
        return Phrase(looks, given=_short(given))
    if kind == "string_too_short":
        return "must not be empty"
    if kind == "string_too_long":
        return Phrase("must be at most {most} characters long", most=context["max_length"])
    expected = {
        "string_type": "must be a string",
        "bool_type": "must be true or false",
        "int_type": "must be a number",
        "float_type": "must be a number",
        "dict_type": "must be an object",
        "tuple_type": "must be a list",
        "list_type": "must be a list",
        "model_type": "must be an object",
        "model_attributes_type": "must be an object",
    }.get(kind)
    if expected:
        return Phrase("{expected}, not {given}", expected=Phrase(expected), given=_short(given))
    return str(error["msg"]).removeprefix("Value error, ")


def _short(value: Any) -> str:
    import json

    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 40 else text[:39] + "…"
