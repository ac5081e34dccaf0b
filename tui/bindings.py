"""Bindings for Textual, made from the action registry."""

from __future__ import annotations

from dataclasses import replace

from textual.binding import Binding, BindingType

from tui.actions import ACTIONS, Action, Place, actions_in, key_name

STOPPING = {action.id: action for action in ACTIONS if action.id in ("stop", "agent-stop", "stop-answer")}
"""The actions that stop what runs on their screen, by their ids: they work behind a dialog, too."""


def bindings_for(*places: Place) -> list[BindingType]:
    """One binding per action, with the action's id, so that a key map can give it other keys."""
    return [_binding(action) for action in actions_in(*places)]


def stopping_bindings() -> list[BindingType]:
    """The app's bindings for the keys of `STOPPING`, for `action_stop_behind`."""
    return [replace(_binding(action), action=f"stop_behind('{action.id}')") for action in STOPPING.values()]


def _binding(action: Action) -> Binding:
    return Binding(
        ",".join(action.keys),
        action.method,
        action.id,  # shown nowhere: the texts are those of the registry, in the language in use
        show=False,
        key_display=key_name(action.keys[0]),
        priority=action.priority,
        id=action.id,
    )
