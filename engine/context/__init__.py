"""The context state: what of a story is prompted, at which depth, and what scripts see of it. Pure."""

from engine.context.build import build_context, newest_passage
from engine.context.reference import resolver
from engine.context.script import ScriptField, ScriptFunction, fragment_list, script_fields
from engine.context.state import ChapterSummary, ContextOptions, ContextState, FragmentGroup

__all__ = [
    "ChapterSummary",
    "ContextOptions",
    "ContextState",
    "FragmentGroup",
    "ScriptField",
    "ScriptFunction",
    "build_context",
    "fragment_list",
    "newest_passage",
    "resolver",
    "script_fields",
]
