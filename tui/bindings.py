"""Bindings for Textual, made from the action registry."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tui.actions import Action, Place, actions_in, key_name


def bindings_for(*places: Place) -> list[BindingType]:
    """One binding per action, with the action's id, so that a key map can give it other keys."""
    return [_binding(action) for action in actions_in(*places)]


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
