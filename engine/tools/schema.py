"""The inputs of tools: the JSON schema a model is given, and what it sent, checked.

A schema is plain JSON Schema as both wires take it: no references, no titles, no null beside a type. A model's mistakes
come back to it as one line that names the field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

INPUT_LIMIT: Final = 1_000_000
"""Characters of JSON a call may have."""
_FAULTS_TOLD: Final = 3


class WrongCall(ValueError):
    """What a model sent is no input of the tool; the text says why, for the model."""


class ToolInput(BaseModel):
    """What a tool takes. A parameter it does not have is a mistake; null is the same as leaving one out."""

    model_config = ConfigDict(extra="forbid", frozen=True)


InputT = TypeVar("InputT", bound=ToolInput)


def _list(value: Any) -> Any:
    # Some models write a list as the JSON text of it.
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


FROM_TEXT: Final = BeforeValidator(_list)
"""For a list: it may also come as JSON text."""

Texts = Annotated[list[str], FROM_TEXT]


def schema_of(model: type[ToolInput]) -> dict[str, Any]:
    """The JSON schema of an input."""
    schema = model.model_json_schema()
    plain = _plain(schema, schema.get("$defs", {}))
    plain.pop("description", None)
    return {"type": "object", "properties": {}, **plain}


def _plain(value: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return [_plain(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        rest = {key: item for key, item in value.items() if key != "$ref"}
        return _plain({**definitions[value["$ref"].rpartition("/")[2]], **rest}, definitions)
    if "anyOf" in value:
        kinds = [item for item in value["anyOf"] if item != {"type": "null"}]
        if len(kinds) == 1:
            rest = {key: item for key, item in value.items() if key != "anyOf"}
            return _plain({**kinds[0], **rest}, definitions)
    plain: dict[str, Any] = {}
    for key, item in value.items():
        if key == "properties":
            plain[key] = {name: _plain(field, definitions) for name, field in item.items()}
        elif key == "const":
            plain["enum"] = [item]
        elif key not in ("title", "$defs", "additionalProperties") and not (key == "default" and item is None):
            plain[key] = _plain(item, definitions)
    return plain


def parsed_arguments(arguments: Mapping[str, Any] | str) -> dict[str, Any]:
    """The arguments of a call, the empty text being none. Raises `WrongCall` when they are no JSON object."""
    if isinstance(arguments, str):
        if len(arguments) > INPUT_LIMIT:
            raise WrongCall(f"the arguments are {len(arguments)} characters long; at most {INPUT_LIMIT} are taken")
        if not arguments.strip():
            return {}
        try:
            value = json.loads(arguments)
        except RecursionError:
            raise WrongCall("the arguments are nested too deeply") from None
        except json.JSONDecodeError as error:
            what = error.msg[:1].lower() + error.msg[1:]
            raise WrongCall(
                f"the arguments are not valid JSON: {what} at line {error.lineno}, column {error.colno}"
            ) from None
        except ValueError as error:
            raise WrongCall(f"the arguments are not valid JSON: {error}") from None
    else:
        value = arguments
    if not isinstance(value, Mapping):
        raise WrongCall("the arguments must be a JSON object")
    return dict(value)


def checked_input(model: type[InputT], arguments: Mapping[str, Any] | str) -> InputT:
    """The arguments of a call as the tool's input. Raises `WrongCall`."""
    try:
        return model.model_validate(_without_nulls(parsed_arguments(arguments)))
    except RecursionError:
        raise WrongCall("the arguments are nested too deeply") from None
    except ValidationError as error:
        raise WrongCall(fault_line(error, model)) from None


def _without_nulls(value: Any, path: str = "") -> Any:
    """`value` without what is null. Raises `WrongCall` for half a character, which JSON can have."""
    if isinstance(value, str):
        if not value.isascii() and _HALF.search(value):
            raise WrongCall(f"{path or 'the arguments'}: holds half a character")
        return value
    if isinstance(value, Mapping):
        return {
            key: _without_nulls(item, f"{path}.{key}" if path else str(key))
            for key, item in value.items()
            if item is not None
        }
    if isinstance(value, list):
        return [_without_nulls(item, f"{path}[{index}]") for index, item in enumerate(value)]
    return value


_HALF: Final = re.compile("[\ud800-\udfff]")
_WORDS: Final = {
    "missing": "is missing",
    "string_type": "must be a text",
    "list_type": "must be a list",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "literal_error": "must be one of {expected}",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_long": "has {actual_length} items; at most {max_length} are taken",
    "too_short": "has {actual_length} items; at least {min_length} are needed",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def fault_line(error: ValidationError, model: type[ToolInput]) -> str:
    """The first faults of an input in one line, each with the path of its field."""
    faults = error.errors(include_url=False, include_input=False)
    told = [_fault(fault, model) for fault in faults[:_FAULTS_TOLD]]
    if len(faults) > _FAULTS_TOLD:
        told.append(f"and {len(faults) - _FAULTS_TOLD} more")
    return " ".join("; ".join(told).split())


def _fault(fault: Any, model: type[ToolInput]) -> str:
    path = ""
    for part in fault["loc"]:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    kind = fault["type"]
    if kind == "extra_forbidden":
        said = "is no parameter of this tool"
        if len(fault["loc"]) == 1:
            said += f"; it takes {', '.join(model.model_fields) or 'none'}"
    elif kind == "value_error":
        said = str(fault["ctx"]["error"])
    elif kind in _WORDS:
        said = _WORDS[kind].format_map(fault.get("ctx", {}))
    else:
        said = " ".join(fault["msg"].split())
        said = said[:1].lower() + said[1:]
    return f"{path[:200]}: {said}" if path else said
