"""Stonehand's own themes, and the colours that every theme is given: one place for all of them.

The widgets name colours by what they mean (`$role-system`, `$text-muted`), never by their value. The tokens of ours
that a theme does not define itself are chosen by its kind: dark, light, or the sixteen colours of the terminal. Nothing
looks different under the mouse in any theme: a look that follows it would be sent to the terminal at every movement.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import App, ReturnType
from textual.theme import Theme

from engine.errors import WrongInput
from tui.language import t
from tui.terminal import DARK_THEME, LIGHT_THEME

_ROLES_DARK = {"role-system": "#b79cff", "role-user": "#6cb6ff"}
_ROLES_LIGHT = {"role-system": "#6a3fb5", "role-user": "#0550ae"}
_ROLES_ANSI_DARK = {"role-system": "ansi_bright_magenta", "role-user": "ansi_bright_blue"}
_ROLES_ANSI_LIGHT = {"role-system": "ansi_magenta", "role-user": "ansi_blue"}

THEMES = (
    Theme(
        name=DARK_THEME,
        dark=True,
        primary="#7d9bd6",
        secondary="#6fb3b8",
        accent="#d7a65f",
        warning="#e3b341",
        error="#e5707d",
        success="#7cc07a",
        foreground="#e4e4e0",
        background="#15171c",
        surface="#1b1e25",
        panel="#252932",
        variables={
            **_ROLES_DARK,
            "text-muted": "#a9adb8",
            "text-disabled": "#8f939e",
            "block-cursor-foreground": "#101216",
            "block-cursor-background": "#9db7ea",
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-foreground": "#e4e4e0",
            "block-cursor-blurred-background": "#323a4a",
            "button-color-foreground": "#101216",
            "input-selection-background": "#3d5a8a",
        },
    ),
    Theme(
        name=LIGHT_THEME,
        dark=False,
        primary="#2f5aa8",
        secondary="#1f6f78",
        accent="#8a5a00",
        warning="#8f5d00",
        error="#b3263a",
        success="#27682b",
        foreground="#1d1f24",
        background="#f6f4ef",
        surface="#fffdf8",
        panel="#e8e5dd",
        variables={
            **_ROLES_LIGHT,
            "text-muted": "#565a63",
            "text-disabled": "#666a73",
            "block-cursor-foreground": "#ffffff",
            "block-cursor-background": "#2f5aa8",
            "block-cursor-text-style": "bold",
            "block-cursor-blurred-foreground": "#1d1f24",
            "block-cursor-blurred-background": "#cfd8ea",
            "button-color-foreground": "#ffffff",
            "input-selection-background": "#b8cdf0",
        },
    ),
)

_SAME_UNDER_THE_MOUSE = {
    "scrollbar-hover": "scrollbar",
    "scrollbar-background-hover": "scrollbar-background",
    "link-background-hover": "link-background",
    "link-color-hover": "link-color",
    "link-style-hover": "link-style",
}


def tokens(theme: Theme) -> Mapping[str, str]:
    """The colours that are ours, for a theme that does not define them."""
    if theme.ansi:
        return _ROLES_ANSI_DARK if theme.dark else _ROLES_ANSI_LIGHT
    return _ROLES_DARK if theme.dark else _ROLES_LIGHT


class ThemedApp(App[ReturnType]):
    """An app with our themes and tokens. Put it before `App` in the bases."""

    def __init__(self) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)

    def choose_theme(self, name: str) -> None:
        """Use a theme. Raises WrongInput when there is none of that name."""
        if name not in self.available_themes:
            names = ", ".join(sorted(self.available_themes))
            raise WrongInput(t("settings.no-theme", place="", theme=name, names=names))
        self.theme = name

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {**super().get_theme_variable_defaults(), **tokens(self.current_theme)}

    def get_css_variables(self) -> dict[str, str]:
        """The variables of the theme in force, those for what is under the mouse set to those for what is not."""
        variables = super().get_css_variables()
        variables |= {hover: variables[rest] for hover, rest in _SAME_UNDER_THE_MOUSE.items()}
        variables["block-hover-background"] = "transparent"
        self.theme_variables = variables
        return variables
