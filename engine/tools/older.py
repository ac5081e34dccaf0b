"""What a call of a tool did, in a line: for logs, those of older versions too, whose tools had other names.

Source: spec, sections 8.1 and 10.7. Only text is made here; what stands in a log is data and may be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from engine.blocks.config import RENAMED_TOOLS
from engine.text import collapse_space, cut

_SHOWN: Final = 60

Args = Mapping[str, Any]


def describe_call(name: str, arguments: Any = None, result: Any = None) -> str:
    """One line for a logged call: what it did as far as its arguments say, and whether it failed.

    Logs of older versions often hold no arguments; then the line says only what kind of call it was.
    """
    args: Args = arguments if isinstance(arguments, Mapping) else {}
    line = _LINES[name](args) if name in _LINES else f"called {_short(name) or 'a tool'}"
    if isinstance(result, Mapping) and isinstance(result.get("error"), str):
        return f"{line}: failed, {_short(result['error'], 200)}"
    return line


def current_name(name: str) -> str:
    """What a tool of a log is called now; a name that never changed is given back."""
    return RENAMED_TOOLS.get(name, name)


def _short(value: Any, units: int = _SHOWN) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = collapse_space(str(value)[: 4 * units])
    return text if len(text) <= units else cut(text, units - 1) + "…"


def _quoted(value: Any) -> str:
    text = _short(value)
    return f"“{text}”" if text else ""


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _count(value: Any, one: str, many: str = "") -> str:
    number = len(_items(value))
    return f"{number} {one if number == 1 else many or one + 's'}" if number else many or one + "s"


def _line(verb: str, *keys: str) -> Callable[[Args], str]:
    def line(args: Args) -> str:
        named = [text for key in keys if (text := _short(args.get(key)))]
        return " ".join((verb, *named[:1]))

    return line


def _ids(args: Args) -> str:
    ids = [text for item in _items(args.get("fragmentIds")) if (text := _short(item))]
    more = f" and {len(ids) - 3} more" if len(ids) > 3 else ""
    return f"read {', '.join(ids[:3]) or 'fragments'}{more}"


def _searched(args: Args) -> str:
    return " ".join(filter(None, ("searched the fragments for", _quoted(args.get("query"))))).removesuffix(" for")


def _listed(args: Args) -> str:
    kind = _short(args.get("type"))
    return f"listed the fragments of type {kind}" if kind else "listed the fragments"


def _created(args: Args) -> str:
    kind = _short(args.get("type"))
    what = f"the {kind}" if kind else "a fragment"
    return " ".join(filter(None, ("created", what, _quoted(args.get("name")))))


_VERBS: Final = {
    "replace_text": "change",
    "append_paragraph": "extend",
    "set_fields": "set fields of",
    "create_fragment": "create",
    "archive_fragment": "archive",
}


def _operations(verb: str) -> Callable[[Args], str]:
    def line(args: Args) -> str:
        operations = [item for item in _items(args.get("operations")) if isinstance(item, Mapping)]
        if len(operations) != 1:
            return f"{verb} {_count(operations, 'change')} to fragments"
        only = operations[0]
        what = _VERBS.get(str(only.get("op")), "change")
        target = _short(only.get("fragmentId")) or _quoted(only.get("name")) or "a fragment"
        return f"{verb} a change to fragments: {what} {target}"

    return line


def _prose(args: Args) -> str:
    if "edits" in args:
        return f"made {_count(args['edits'], 'edit')} to the prose"
    old, new = _quoted(args.get("oldText")), _quoted(args.get("newText"))
    return f"replaced {old} by {new or 'nothing'} in the prose" if old else "edited the prose"


def _reported(args: Args) -> str:
    parts = [
        _count(args[key], one, many)
        for key, one, many in (
            ("mentions", "mention", "mentions"),
            ("contradictions", "contradiction", "contradictions"),
            ("timelineEvents", "event", "events"),
        )
        if _items(args.get(key))
    ]
    return f"reported on the passage: {', '.join(parts)}" if parts else "reported on the passage"


def _invoked(args: Args) -> str:
    target = _short(args.get("agent")) or "another agent"
    about = _short(args.get("fragmentId"))
    return f"had {target} work on {about}" if about else f"invoked {target}"


_LINES: Final[Mapping[str, Callable[[Args], str]]] = {
    "readFragments": _ids,
    "findFragments": _searched,
    "listFragments": _listed,
    "readProseChain": _line("looked through the story's sections"),
    "listFragmentTypes": _line("listed the types of fragments"),
    "readStorySummary": _line("read the story's summary"),
    "editFragments": _operations("made"),
    "editProse": _prose,
    "reportAnalysis": _reported,
    "proposeFragmentChanges": _operations("proposed"),
    "proposeDirections": lambda args: f"proposed {_count(args.get('directions'), 'direction')}",
    "finishAnalysis": _line("ended the analysis"),
    "askClarifyingQuestions": lambda args: f"asked the author {_count(args.get('questions'), 'question')}",
    "invokeAgent": _invoked,
    "inspectRun": _line("looked at an earlier run", "runId", "fragmentId"),
    # Older versions
    "getFragment": _line("read", "id", "fragmentId"),
    "searchFragments": _searched,
    "createFragment": _created,
    "updateFragment": _line("rewrote", "fragmentId"),
    "editFragment": _line("changed a passage of", "fragmentId"),
    "deleteFragment": _line("deleted", "fragmentId", "id"),
    "getStorySummary": _line("read the story's summary"),
    "updateStorySummary": _line("rewrote the story's summary"),
    "proposeProseChanges": _prose,
    "suggestEdit": _line("suggested a change to", "fragmentId"),
    "applyProposedChanges": _line("applied the changes it had proposed"),
    "updateSummary": _line("summed up the passage"),
    "reportMentions": lambda args: f"reported {_count(args.get('mentions'), 'mention')}",
    "reportContradictions": lambda args: f"reported {_count(args.get('contradictions'), 'contradiction')}",
    "reportTimeline": lambda args: f"reported {_count(args.get('events'), 'event')} of the timeline",
    "suggestFragment": lambda args: f"suggested {_count(args.get('suggestions'), 'change')} to fragments",
    "suggestDirections": lambda args: f"proposed {_count(args.get('directions'), 'direction')}",
    "askQuestions": lambda args: f"asked the author {_count(args.get('questions'), 'question')}",
    "reanalyzeFragment": _line("had the passage analyzed again:", "fragmentId"),
    "optimizeCharacter": _line("had a character deepened:", "fragmentId"),
    "inspectGeneration": _line("looked at how a passage was generated:", "fragmentId"),
}
