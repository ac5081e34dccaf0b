"""`meta.json`: what belongs to a story as a whole, whatever the branch (spec, section 1.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeGuard

from engine.addresses import UNUSED, address_keys
from engine.disk import json_line, parse_json
from engine.errors import InvalidFile, NotFound, Problem
from engine.story.render import BUILTIN_TYPES
from engine.text import Phrase

CompactType = Literal["proseLimit", "maxTokens", "maxCharacters"]
_COMPACT_TYPES: Final[Mapping[str, CompactType]] = {
    "proseLimit": "proseLimit",
    "maxTokens": "maxTokens",
    "maxCharacters": "maxCharacters",
}


@dataclass(frozen=True, slots=True)
class ContextCompact:
    """How much recent prose is sent: the last `value` sections, or as many as fit in tokens or characters."""

    type: CompactType = "proseLimit"
    value: int = 10


@dataclass(frozen=True, slots=True)
class CustomType:
    """A fragment type the user made: what it is called in files, and its heading."""

    type: str
    name: str


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that shape a prompt or a run, defaults filled in (spec, section 1.4, for their meaning)."""

    generation_mode: Literal["standard", "prewriter"] = "standard"
    context_order_mode: Literal["simple", "advanced"] = "simple"
    fragment_order: tuple[str, ...] = ()
    custom_types: tuple[CustomType, ...] = ()
    context_compact: ContextCompact = ContextCompact()
    hierarchical_summary: bool = False
    output_format: str = "markdown"
    enabled_plugins: tuple[str, ...] = ()
    max_steps: int = 10
    max_output_tokens: int | None = None
    disable_thinking: bool = False
    prewriter_reasoning: Literal["short", "normal", "extensive"] = "normal"
    clarify_before_generate: bool = False
    disable_librarian_directions: bool = False
    disable_librarian_suggestions: bool = False
    disable_librarian_auto_analysis: bool = False
    auto_apply_librarian_suggestions: bool = False

    @property
    def type_names(self) -> dict[str, str]:
        """Custom type to its configured name."""
        return {custom.type: custom.name for custom in self.custom_types if custom.name}


@dataclass(frozen=True, slots=True, eq=False)
class StoryMeta:
    """A view of `meta.json`; `raw` is the whole document with its unknown keys, not to be changed."""

    name: str
    description: str
    summary: str
    settings: Settings
    raw: Mapping[str, Any]
    problems: tuple[Problem, ...] = ()


NO_META: Final = StoryMeta("", "", "", Settings(), {})
"""What stands for the meta of a story whose file can't be used: nothing but defaults."""


def parse_meta(file: Path, data: bytes | None) -> StoryMeta:
    """A story's meta. Malformed fields get their default and are reported in `problems`.

    Raises `NotFound` when there is no file, `InvalidFile` when it holds no JSON object.
    """
    if data is None:
        raise NotFound("no story here: there is no meta.json", file=file)
    raw = parse_json(data, file)
    if not isinstance(raw, dict):
        raise InvalidFile("is not a story: a JSON object was expected", file=file, line=1)
    return _Reader(file, data, raw).meta()


class _Reader:
    """Takes fields of the document with their defaults and notes what is malformed."""

    def __init__(self, file: Path, data: bytes, raw: Mapping[str, Any]) -> None:
        self._file = file
        self._data = data
        self._raw = raw
        self._problems: list[Problem] = []

    def meta(self) -> StoryMeta:
        raw = self._raw
        settings = raw.get("settings")
        if not isinstance(settings, dict):
            if settings is not None:
                self._report(("settings",), "is not an object; the defaults were used")
            settings = {}
        for path in address_keys(raw):
            self._report(path, UNUSED)
        return StoryMeta(
            name=self._text("name", self._file.parent.name),
            description=self._text("description", ""),
            summary=self._text("summary", ""),
            settings=self._settings(settings),
            raw=raw,
            problems=tuple(self._problems),
        )

    def _settings(self, raw: Mapping[str, Any]) -> Settings:
        def take(key: str, good: Callable[[Any], bool], default: Any, wanted: str) -> Any:
            value = raw.get(key)
            if value is None:
                return default
            if good(value):
                return value
            self._report(("settings", key), Phrase("is not {wanted}; the default was used", wanted=Phrase.of(wanted)))
            return default

        def texts(key: str) -> tuple[str, ...]:
            return tuple(take(key, _are_texts, (), "a list of texts"))

        limits = take("generationLimits", lambda value: isinstance(value, dict), {}, "an object")
        tokens = limits.get("maxOutputTokens")
        if tokens is not None and not _is_count(tokens):
            self._report(("settings", "generationLimits", "maxOutputTokens"), "is not a number above 0")
            tokens = None
        return Settings(
            generation_mode=take("generationMode", _one_of("standard", "prewriter"), "standard", "a known mode"),
            context_order_mode=take("contextOrderMode", _one_of("simple", "advanced"), "simple", "a known mode"),
            fragment_order=texts("fragmentOrder"),
            custom_types=self._custom_types(raw),
            context_compact=self._compact(raw),
            hierarchical_summary=take("enableHierarchicalSummary", _is_flag, False, "true or false"),
            output_format=take("outputFormat", lambda value: isinstance(value, str), "markdown", "a text"),
            enabled_plugins=texts("enabledPlugins"),
            max_steps=int(take("maxSteps", _is_count, 10, "a whole number above 0")),
            max_output_tokens=int(tokens) if tokens is not None else None,
            disable_thinking=take("disableThinking", _is_flag, False, "true or false"),
            prewriter_reasoning=take(
                "prewriterReasoning", _one_of("short", "normal", "extensive"), "normal", "a known length"
            ),
            clarify_before_generate=take("clarifyBeforeGenerate", _is_flag, False, "true or false"),
            disable_librarian_directions=take("disableLibrarianDirections", _is_flag, False, "true or false"),
            disable_librarian_suggestions=take("disableLibrarianSuggestions", _is_flag, False, "true or false"),
            disable_librarian_auto_analysis=take("disableLibrarianAutoAnalysis", _is_flag, False, "true or false"),
            auto_apply_librarian_suggestions=take("autoApplyLibrarianSuggestions", _is_flag, False, "true or false"),
        )

    def _custom_types(self, raw: Mapping[str, Any]) -> tuple[CustomType, ...]:
        given = raw.get("customFragmentTypes")
        if given is None:
            return ()
        if not isinstance(given, list):
            self._report(("settings", "customFragmentTypes"), "is not a list; no custom types were read")
            return ()
        types: dict[str, CustomType] = {}
        for index, item in enumerate(given):
            path = ("settings", "customFragmentTypes", index)
            kind = item.get("type") if isinstance(item, dict) else None
            if not isinstance(kind, str) or not kind:
                self._report(path, "has no type; it was left out")
            elif kind in BUILTIN_TYPES:
                self._report((*path, "type"), Phrase("{kind} is a built-in type; it was left out", kind=kind))
            else:
                name = item.get("name")
                types.setdefault(kind, CustomType(kind, name if isinstance(name, str) else ""))
        return tuple(types.values())

    def _compact(self, raw: Mapping[str, Any]) -> ContextCompact:
        given = raw.get("contextCompact")
        if given is None:
            return ContextCompact()
        kind = given.get("type") if isinstance(given, dict) else None
        value = given.get("value") if isinstance(given, dict) else None
        if isinstance(kind, str) and kind in _COMPACT_TYPES and _is_count(value):
            return ContextCompact(_COMPACT_TYPES[kind], int(value))
        self._report(
            ("settings", "contextCompact"),
            "needs a type (proseLimit, maxTokens, maxCharacters) and a value above 0; the last 10 sections were used",
        )
        return ContextCompact()

    def _text(self, key: str, default: str) -> str:
        value = self._raw.get(key)
        if isinstance(value, str):
            return value
        if value is not None or key == "name":
            shown = Phrase("{default!r} was used", default=default) if default else Phrase("it was left empty")
            self._report(
                (key,),
                Phrase(
                    "{value}; {shown}", value=Phrase("is missing" if value is None else "is not a text"), shown=shown
                ),
            )
        return default

    def _report(self, path: tuple[str | int, ...], message: str) -> None:
        field = re.sub(r"\.(\d+)", r"[\1]", ".".join(map(str, path)))
        line = json_line(self._data.decode("utf-8-sig", "replace"), path)
        self._problems.append(Problem(message, self._file, field, line))


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_count(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 1 and value == int(value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _one_of(*names: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in names
