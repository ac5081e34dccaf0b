"""Scripts: the JavaScript sandbox that block scripts run in. Importing it loads no engine."""

from engine.scripts.guest import Fields, Functions
from engine.scripts.outcome import PREVIEW_LIMITS, PROMPT_SECONDS, RUN_LIMITS, Kind, Limits, Outcome
from engine.scripts.sandbox import ScriptEngine, available

__all__ = [
    "PREVIEW_LIMITS",
    "PROMPT_SECONDS",
    "RUN_LIMITS",
    "Fields",
    "Functions",
    "Kind",
    "Limits",
    "Outcome",
    "ScriptEngine",
    "available",
]
