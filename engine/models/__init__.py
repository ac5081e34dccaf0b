"""Models: who answers for them, what a text costs them, and the wires they are reached over."""

from typing import Final

REHEARSAL: Final = "rehearsal"
"""The provider, and wire, that is always there. It is no model: it imitates the story's own prose."""
