"""Generations: a prompt sent over a wire, the text as it arrives, and saving it to the story."""

from engine.runs.direction import Directions
from engine.runs.log import generation_log, last_log, list_logs, read_log
from engine.runs.request import chat_messages, request_of
from engine.runs.run import Run, RunView
from engine.runs.save import Saved, save_passage
from engine.runs.unkept import UnkeptPassages

__all__ = [
    "Directions",
    "Run",
    "RunView",
    "Saved",
    "UnkeptPassages",
    "chat_messages",
    "generation_log",
    "last_log",
    "list_logs",
    "read_log",
    "request_of",
    "save_passage",
]
