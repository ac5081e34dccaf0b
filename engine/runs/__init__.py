"""Generations: runs of agents, their tools and events, what is kept and recorded of them.

The modules are loaded when a name of theirs is first used: a run is not needed to open the editor.
"""

from typing import TYPE_CHECKING

from engine.lazy import names_of

if TYPE_CHECKING:
    from engine.runs.direction import Directions
    from engine.runs.events import (
        ClarifyEvent,
        DirectionsEvent,
        ErrorEvent,
        FinishEvent,
        PhaseEvent,
        PrewriterResetEvent,
        ProgressEvent,
        ReasoningEvent,
        RunEvent,
        TextEvent,
        ToolCallEvent,
        ToolResultEvent,
        WarningEvent,
    )
    from engine.runs.log import generation_log, read_log
    from engine.runs.progress import Progress
    from engine.runs.request import chat_messages, request_of
    from engine.runs.run import Edits, Mode, Prewriting, Run
    from engine.runs.save import Saved, record, save_passage
    from engine.runs.unfinished import Answer, Unfinished, UnfinishedPassages
    from engine.runs.unkept import UnkeptPassages
    from engine.runs.usage import TokenUsage
    from engine.runs.view import CallView, PlanView, RetryView, RunView

__all__ = [
    "Answer",
    "CallView",
    "ClarifyEvent",
    "Directions",
    "DirectionsEvent",
    "Edits",
    "ErrorEvent",
    "FinishEvent",
    "Mode",
    "PhaseEvent",
    "PlanView",
    "PrewriterResetEvent",
    "Prewriting",
    "Progress",
    "ProgressEvent",
    "ReasoningEvent",
    "RetryView",
    "Run",
    "RunEvent",
    "RunView",
    "Saved",
    "TextEvent",
    "TokenUsage",
    "ToolCallEvent",
    "ToolResultEvent",
    "Unfinished",
    "UnfinishedPassages",
    "UnkeptPassages",
    "WarningEvent",
    "chat_messages",
    "generation_log",
    "read_log",
    "record",
    "request_of",
    "save_passage",
]

__getattr__ = names_of(
    __name__,
    {
        "direction": ("Directions",),
        "events": (
            "ClarifyEvent",
            "DirectionsEvent",
            "ErrorEvent",
            "FinishEvent",
            "PhaseEvent",
            "PrewriterResetEvent",
            "ProgressEvent",
            "ReasoningEvent",
            "RunEvent",
            "TextEvent",
            "ToolCallEvent",
            "ToolResultEvent",
            "WarningEvent",
        ),
        "log": ("generation_log", "read_log"),
        "progress": ("Progress",),
        "request": ("chat_messages", "request_of"),
        "run": ("Edits", "Mode", "Prewriting", "Run"),
        "save": ("Saved", "record", "save_passage"),
        "unfinished": ("Answer", "Unfinished", "UnfinishedPassages"),
        "unkept": ("UnkeptPassages",),
        "usage": ("TokenUsage",),
        "view": ("CallView", "PlanView", "RetryView", "RunView"),
    },
)
