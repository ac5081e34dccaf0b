"""Providers for a data folder or a user, to choose from in the editor."""

from __future__ import annotations

from pathlib import Path

TEXT = """\
default = "far"

[providers.far]
base_url = "https://api.example.com/v1"
default_model = "gpt-4"
models = ["gpt-4", "gpt-4o", "mystery-9b"]

[providers.near]
base_url = "http://localhost:1/v1"
default_model = "small"
api_key_env = "NEAR_KEY_THAT_IS_NOT_SET"
context = 4096

[providers.gone]
base_url = "https://gone.example.com/v1"
default_model = "x"
enabled = false
"""


def write_providers(config: Path, text: str = TEXT) -> Path:
    """The user's own providers in the config folder `config`; returns the file."""
    config.mkdir(parents=True, exist_ok=True)
    file = config / "providers.toml"
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return file
