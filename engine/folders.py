"""The folders of the program itself, of its state and of the user's settings (design, "The command line")."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

APP = "stonehand"
STATE_VARIABLE = "STONEHAND_STATE"
CONFIG_VARIABLE = "STONEHAND_CONFIG"


def state_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where unsaved edits and logs of the program itself are kept."""
    given = environ.get(STATE_VARIABLE)
    return Path(given) if given else Path(platformdirs.user_state_dir(APP, appauthor=False))


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where the user's own settings are: providers and keys of the keyboard."""
    given = environ.get(CONFIG_VARIABLE)
    return Path(given) if given else Path(platformdirs.user_config_dir(APP, appauthor=False))
